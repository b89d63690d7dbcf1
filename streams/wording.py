"""Texts for people: counts in words, printable texts, and commands as they can be typed."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType


def pluralize(count: int, noun: str) -> str:
    """Return `1 page` or `2,000 pages`, for a noun whose plural ends with an s."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time of one or two units, as `40 s`, `3 min`, `5 h 20 min` or `2 d 4 h`."""
    if seconds < 60:
        return f"{int(seconds)} s"
    for unit, below, name, name_below in ((86400, 3600, "d", "h"), (3600, 60, "h", "min")):
        if seconds >= unit:
            rest = int(seconds % unit // below)
            return f"{int(seconds // unit):,} {name}" + (f" {rest} {name_below}" if rest else "")
    return f"{int(seconds // 60)} min"


_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)
_PARAMETER = re.compile(r"(?<=[?&])(?!db=)([^=&#]*=)?[^&#]+")
"""Parameter of a URL's query, whose value may be a secret; the database of a Redis is none."""


def printable(text: str) -> str:
    """Return the text with escapes for characters that are not printable."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def encodable(text: str) -> str:
    """Return a text without surrogates, which stand for bytes that are no UTF-8; JSON cannot hold them."""
    return text.encode("utf-8", "replace").decode()


def without_password(url: str) -> str:
    """Return a URL, even a malformed one, with `***` for user, password and the values of its query."""
    return _PARAMETER.sub(r"\1***", _CREDENTIALS.sub(r"\1***@", url))


_NAME = "dehusk"


def program() -> str:
    """Return `dehusk` if the shell finds this one, else the path that started it, relative if shorter."""
    started = Path(sys.argv[0])
    found = shutil.which(_NAME)
    if started.name != _NAME or (found and Path(found).resolve() == started.resolve()):
        return _NAME
    relative = os.path.relpath(started)
    if os.sep not in relative:
        relative = os.path.join(os.curdir, relative)  # noqa: PTH118 a Path would drop the dot that shells need
    return shlex.quote(min(relative, sys.argv[0], key=len))


def how_to_install(extra: str) -> str:
    """Return the commands that install an extra of dehusk."""
    return f"`pip install 'dehusk[{extra}]'`, or `make setup` in its checkout"


EXTRAS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cli": ("brotli", "click", "fastavro", "msgpack", "msgspec", "publicsuffixlist", "rich", "warcio"),
        "parquet": ("pyarrow",),
        "stores": ("obstore",),
        "kafka": ("aiohttp", "aiokafka", "cramjam", "faust", "prometheus_client", "redis", "tritonclient"),
    }
)
"""Modules that commands import, by the extra that brings them."""


def missing(error: ModuleNotFoundError) -> str | None:
    """Return how to install a module that an extra brings, in a sentence; None for any other module."""
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra, modules in EXTRAS.items() if module in modules), None)
    return None if extra is None else f"{module} is not installed: {how_to_install(extra)}"
