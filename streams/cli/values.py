"""What options take that click has no type for: addresses and URLs, checked before anything starts."""

import os
import re
from math import isfinite
from pathlib import Path
from urllib.parse import urlsplit

import click

_HOST = r"(\[[0-9a-fA-F:.]+\]|[^\s:/,@\[\]]+)"
_ADDRESS = re.compile(rf"{_HOST}:(\d{{1,5}})")
_BROKER = re.compile(rf"{_HOST}(:\d{{1,5}})?")


class Address(click.ParamType):
    """`HOST:PORT`; an IPv6 address stands in brackets."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The address as it is."""
        matched = _ADDRESS.fullmatch(value)
        if matched is None or int(matched[2]) > 65535:
            self.fail(f"{value!r} is not HOST:PORT, e.g. 127.0.0.1:8080", param, ctx)
        return value


class Brokers(click.ParamType):
    """`HOST:PORT,…`; a port may be missing."""

    name = "brokers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The brokers as they are."""
        for broker in value.split(","):
            if not _BROKER.fullmatch(broker.strip()):
                self.fail(f"{broker!r} is not HOST:PORT, e.g. kafka:9092", param, ctx)
        return value


class NumberRange(click.FloatRange):
    """A number within bounds, which NaN is not, though nothing is greater or less than it."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


class OptionalFile(click.Path):
    """A file that is there; empty for none, whatever the environment says."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(  # type: ignore[override]  # other paths are never None
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | None:
        """Its path, or None."""
        return Path(os.fsdecode(super().convert(value, param, ctx))) if os.fspath(value) else None


class Url(click.ParamType):
    """A URL of one of some schemes, or one of some words."""

    name = "url"

    def __init__(self, *schemes: str, words: tuple[str, ...] = ()) -> None:
        self._schemes = schemes
        self._words = words

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The URL or word as it is."""
        if value in self._words:
            return value
        if not self._has_scheme(value):
            words = "".join(f"{word}, or " for word in self._words)
            schemes = " or ".join(f"{scheme}://" for scheme in self._schemes)
            self.fail(f"it must be {words}a URL that begins with {schemes}", param, ctx)
        if not _has_address(value):
            self.fail("the URL has no host, or a port that is not one of 1 to 65535", param, ctx)
        return value

    def _has_scheme(self, value: str) -> bool:
        return value.startswith(tuple(f"{scheme}://" for scheme in self._schemes))


def _has_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname or parts.path) and parts.port != 0
    except ValueError:
        return False
