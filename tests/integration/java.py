"""Servers of the tests that run on Java."""

from urllib.request import urlopen

from dehusk.streams.local.kafka import find_java


def java(*arguments: str) -> list[str]:
    """Return the command that runs a small server."""
    return [str(find_java()), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", *arguments]


def answers(url: str) -> bool:
    """Return True once a server answers at a URL."""
    try:
        with urlopen(url, timeout=2):
            return True
    except OSError:
        return False
