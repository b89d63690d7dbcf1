"""Building blocks of options: value types that click lacks, and several options that become one value."""

import os
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import reduce, wraps
from inspect import signature
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from dehusk.streams.settings import MOST_COUNT, MOST_SECONDS
from dehusk.streams.stores.stored import InputPath, StoredPath, stored_path
from dehusk.streams.wording import without_password

Command = Callable[..., None]
Option = Callable[[Command], Command]
FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_HOST = r"(\[[0-9a-fA-F:.]+\]|[^\s:/,@\[\]]+)"
_ADDRESS = re.compile(rf"{_HOST}:(\d{{1,5}})")
_BROKER = re.compile(rf"{_HOST}(?::(\d{{1,5}}))?")
_LAST_PORT = 65535


def _is_address(value: str, pattern: re.Pattern[str]) -> bool:
    """Return True for a host with a port that there can be, or without one where the pattern allows that."""
    matched = pattern.fullmatch(value)
    return matched is not None and int(matched[2] or 0) <= _LAST_PORT


class Address(click.ParamType):
    """`HOST:PORT`; an IPv6 address stands in brackets."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the address as it is."""
        if not _is_address(value, _ADDRESS):
            self.fail(f"{value!r} is not HOST:PORT, e.g. 127.0.0.1:8080", param, ctx)
        return value


def host_and_port(address: str) -> tuple[str, int]:
    """Return the parts of an `Address`, the host without brackets."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


class Folder(click.Path):
    """A folder of this machine, which need not be there."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 click's
        """Return the path; a URL is refused, as it would name a folder such as `s3:`."""
        if "://" in str(value):
            self.fail(f"{without_password(str(value))} is a URL, and no folder of this machine", param, ctx)
        return super().convert(value, param, ctx)


FOLDER = Folder()


class Brokers(click.ParamType):
    """`HOST:PORT,…`; a port may be missing."""

    name = "brokers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the brokers as they are."""
        for broker in value.split(","):
            if not _is_address(broker.strip(), _BROKER):
                shown = without_password(value if "@" in value else broker)  # passwords may hold a comma
                self.fail(f"{shown!r} is not HOST:PORT, e.g. kafka:9092", param, ctx)
        return value


class Name(click.ParamType):
    """A name that is not empty."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as it is."""
        if not value.strip():
            self.fail("it is empty", param, ctx)
        return value


class NumberRange(click.FloatRange):
    """A finite number within bounds; click lets NaN pass, as no bound is above or below it."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


class _WholeNumber(click.IntRange):
    """A number from 1 on, of 32 bits at most; help shows the lower bound alone."""

    def __init__(self, most: int) -> None:
        super().__init__(min=1)
        self._most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        number = int(super().convert(value, param, ctx))
        if number > self._most:
            self.fail(f"{number} is more than {self._most}", param, ctx)
        return number


class OptionalFile(click.Path):
    """A file that exists; an empty text for none, which overrides the environment."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(  # type: ignore[override]  # other paths are never None
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path | None:
        """Return its path, or None."""
        return Path(os.fsdecode(super().convert(value, param, ctx))) if os.fspath(value) else None


class PathOrUrl(click.Path):
    """Path of a file or folder, as click takes it, or the URL of an object or folder in a store."""

    envvar_list_splitter = None  # type: ignore[assignment]  # several stand between spaces: URLs hold colons

    def __init__(self, *, exists: bool = False, file_okay: bool = True, allow_dash: bool = False) -> None:
        super().__init__(exists=exists, file_okay=file_okay, allow_dash=allow_dash, path_type=Path)

    def convert(  # type: ignore[override]  # paths are never None
        self,
        value: str | os.PathLike[str] | StoredPath,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> InputPath:
        """Return the path; one of a store, which click casts again as a default, as it is.

        Raises:
            ConfigurationError: the URL, or the settings of its store, do not fit.
        """
        if isinstance(value, StoredPath):
            return value
        return stored_path(os.fsdecode(value)) or Path(os.fsdecode(super().convert(value, param, ctx)))


class Url(click.ParamType):
    """A URL with one of some schemes, or one of some words."""

    name = "url"

    def __init__(self, *schemes: str, words: tuple[str, ...] = ()) -> None:
        self._schemes = tuple(f"{scheme}://" for scheme in schemes)
        self._words = words

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the URL or word as it is."""
        if value in self._words:
            return value
        if not value.startswith(self._schemes):
            words = "".join(f"{word}, or " for word in self._words)
            self.fail(f"it must be {words}a URL that begins with {' or '.join(self._schemes)}", param, ctx)
        if not _has_address(value):
            self.fail("the URL has no host, or a port that is not one of 1 to 65535", param, ctx)
        return value


def _has_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname or parts.path) and parts.port != 0
    except ValueError:
        return False


def with_options(*options: Option) -> Option:
    """Return a decorator that adds options to a command, in this order."""

    def decorate(command: Command) -> Command:
        return reduce(lambda decorated, option: option(decorated), reversed(options), command)

    return decorate


def gathered_options(name: str, make: Callable[..., object], *options: Option) -> Option:
    """Return a decorator that adds options, whose values reach the command as the one that `make` returns.

    `make` is called with those values that are named as its parameters, or as the fields of a dataclass. The
    command, and what gathers below this decorator, get such a value only if they name it, too.
    """
    taken = signature(make).parameters.keys()

    def decorate(command: Command) -> Command:
        wanted = vars(command).get("wanted", signature(command).parameters.keys())

        @wraps(command)
        def call(**values: object) -> None:
            others = {key: value for key, value in values.items() if key in wanted or key not in taken}
            others[name] = make(**{key: values[key] for key in taken & values.keys()})
            command(**others)

        vars(call)["wanted"] = taken | (wanted - {name})
        return with_options(*options)(call)

    return decorate


def choice_option(*names: str, values: Iterable[str], default: str, help: str) -> Option:  # noqa: A002 click's
    """Return an option that takes one of some words."""
    return click.option(
        *names, type=click.Choice(list(values)), default=default, show_default=True, help=help
    )


def enum_option(name: str, *, default: StrEnum, help: str) -> Option:  # noqa: A002 click's
    """Return an option that takes the value of a member of an enumeration, and gives the member."""
    kind = type(default)
    return click.option(
        name,
        type=click.Choice([each.value for each in kind]),
        default=default.value,
        show_default=True,
        callback=lambda _context, _option, value: kind(value),
        help=help,
    )


def seconds_option(name: str, *, least: float, default: float, help: str) -> Option:  # noqa: A002 click's
    """Return an option that takes a number of seconds."""
    seconds = NumberRange(min=least, max=MOST_SECONDS)
    return click.option(name, type=seconds, default=default, show_default=True, help=help)


def number_option(
    name: str,
    *,
    default: int | Callable[[], int],
    help: str,  # noqa: A002 click's
    shown: bool | str = True,
    most: int = MOST_COUNT,
) -> Option:
    """Return an option that takes a whole number above 0; help shows the default, or `shown` instead."""
    return click.option(name, type=_WholeNumber(most), default=default, show_default=shown, help=help)


def json_option(help: str = "Everything as one JSON object.") -> Option:  # noqa: A002 click's
    """Return `--json`, which reaches the command as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=help)


yes_option = click.option("--yes", is_flag=True, help="Do not ask before.")


def local_page_options(help: str) -> Option:  # noqa: A002 click's
    """Return the options of a page that a command serves: its address as `listen`, and `opens`."""
    return with_options(
        click.option(
            "--listen",
            type=Address(),
            metavar="HOST:PORT",
            default="127.0.0.1:0",
            show_default=True,
            help=help,
        ),
        click.option("--open", "opens", is_flag=True, help="Open a browser."),
    )


def was_typed(parameter: str) -> bool:
    """Return True if an option comes from the command line.

    Values that the environment or a file sets for all commands need not suit each of them.
    """
    source = click.get_current_context().get_parameter_source(parameter)
    return source is ParameterSource.COMMANDLINE


def refuse_typed(purpose: str, *parameters: str) -> None:
    """Refuse options on the command line that are for another purpose.

    Raises:
        click.UsageError: one of them comes from the command line.
    """
    names = {each.name: each.opts[0] for each in click.get_current_context().command.params}
    for parameter in filter(was_typed, parameters):
        raise click.UsageError(f"{names[parameter]} is for {purpose}")


def require_both(prefix: str, certificate: Path | None, key: Path | None) -> None:
    """Check that a certificate has a key, and a key a certificate.

    Raises:
        click.UsageError: one of them is missing; the options' names begin with `prefix`.
    """
    if (certificate is None) != (key is None):
        raise click.UsageError(
            f"--{prefix}-certificate-file and --{prefix}-key-file belong together: give both"
        )
