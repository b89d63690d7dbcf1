"""Values of options from the environment and from a configuration file, for all commands or for one.

click reads both: variables by `envvar`, the file by `default_map`. Its `auto_envvar_prefix` is not used: it
names variables by parameters instead of options, and a variable of all commands would win over that of one.
"""

import logging
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from dehusk.streams.logs import are_json

Words = tuple[str, ...]
"""Words that call a command: `("dead-letters", "list")`."""
Table = Mapping[str, Any]
Read = Callable[[click.Context, click.Parameter, Path | None], None]
PREFIX = "DEHUSK"
DIFFERENT = frozenset({"all", "format", "hold", "limit", "topic", "version"})
"""Options with another meaning in each command, so that no value can hold for all commands."""
_CONFIG = "config"
_MOST_HINTS = 3
_SIMILAR = 0.7
"""Share of a name that one which is suggested has in common with it."""
_KINDS = {bool: "boolean", int: "whole number", float: "number", str: "string"}
"""Types of TOML in words."""
_log = logging.getLogger(__name__)


def subcommands(command: click.Command) -> dict[str, click.Command]:
    """Return the commands of a group by name; none for a command that is no group."""
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    commands = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return {name: below for name, below in commands if below is not None}


def leaves(command: click.Command, words: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Yield each command that can be run, at or below this one, with the words that call it."""
    if not isinstance(command, click.Group):
        yield words, command
    for name, below in subcommands(command).items():
        yield from leaves(below, (*words, name))


def options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their long names without dashes: `security-protocol`."""
    return {
        next(name for name in option.opts if name.startswith("--")).removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
    }


class Variables(tuple[str, ...]):
    """Names of variables, of which the first that is set counts."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the names as click's errors quote them: `A' or 'B`."""
        return "' or '".join(self)


def name_variables(command: click.Command, words: Words) -> None:
    """Give each option its variables: that of the command, then that of all commands."""
    for name, option in options(command).items():
        places = [words] if name in DIFFERENT else [words, ()]
        option.envvar = Variables(_variable(*place, name) for place in places)
        option.show_envvar = True


def _variable(*words: str) -> str:
    return "_".join((PREFIX, *words)).replace("-", "_").upper()


def warn_of_unknown_variables(root: click.Command, command: click.Command) -> None:
    """Warn of variables of the environment that look like those of options, but are none.

    All commands, which know their variables, are loaded only if there are others than those of the command.
    """
    unknown = {name for name in os.environ if name.startswith(f"{PREFIX}_")} - _variables_of(command)
    if not unknown:
        return
    known = {name for _, leaf in leaves(root) for name in _variables_of(leaf)}
    for name in sorted(unknown - known):
        _warn(f"{name} is ignored: no option has this variable{_hint(name, known)}")


def _variables_of(command: click.Command) -> set[str]:
    return {name for option in options(command).values() for name in _names(option)}


def _names(option: click.Option) -> Iterable[str]:
    return [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()


def _warn(text: str) -> None:
    """Warn on standard error, or in the log if that is JSON."""
    if are_json():
        _log.warning(text)
    else:
        click.echo(f"dehusk: {text}", err=True)


def _hint(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name, which suggests known ones."""
    known = sorted(set(known))
    of_commands = [each for each in known if each.endswith(name.removeprefix("DEHUSK"))]
    near = of_commands[:_MOST_HINTS] or get_close_matches(name, known, 1, _SIMILAR)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def config_option(read: Read | None = None) -> click.Option:
    """Return `--config FILE`; without `read`, it reaches the command."""
    return click.Option(
        [f"--{_CONFIG}"],
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        envvar=_variable(_CONFIG),
        show_envvar=True,
        is_eager=True,
        expose_value=read is None,
        callback=read,
        help="A TOML file with values of options; `dehusk --help` shows one.",
    )


def configure(command: click.Command, words: Words) -> None:
    """Let a command take defaults of its options from the file that is named behind it, or before it."""

    def read(context: click.Context, _option: click.Parameter, file: Path | None) -> None:
        root = context.find_root()
        if context.get_parameter_source(_CONFIG) is not ParameterSource.COMMANDLINE:
            file = root.params.get(_CONFIG) or file
        if file is not None:
            configuration = Configuration(file)
            configuration.check(root.command)
            context.default_map = configuration.values(words, context)

    command.params.insert(0, config_option(read))


class Configuration:
    """Values of options in a file.

    All methods raise:
        click.UsageError: the file is no TOML, has an unknown name, or a value that does not fit its option.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._table = self._dashed(tomllib.loads(file.read_text(encoding="utf-8")), ())
        except RecursionError as error:
            raise self._error("it is nested too deeply") from error
        except ValueError as error:  # of TOML, of UTF-8, or of an integer that is too long
            raise self._error(f"it is no TOML: {error}") from error

    def check(self, root: click.Command) -> None:
        """Check that all tables and keys name commands and options, and that all values fit.

        The existence of a path is checked by its command alone, which may run on another machine.
        """
        self._check(self._table, root, ())

    def values(self, words: Words, context: click.Context) -> dict[str, object]:
        """Return the values for a command by its parameters; those of a table win over those above it.

        Those of paths are functions that return them, as a path that is overridden need not exist.
        """
        values_by_parameter: dict[str, object] = {}
        table = self._table
        for depth in range(len(words) + 1):
            for key, option in options(context.command).items():
                if key in table and not isinstance(table[key], dict):
                    place = (*words[:depth], key)
                    value = self._value_later(table[key], option, place, context)
                    is_path = isinstance(option.type, click.Path)
                    values_by_parameter[option.name or ""] = value if is_path else value()
            below = table.get(words[depth]) if depth < len(words) else None
            table = below if isinstance(below, dict) else {}
        return values_by_parameter

    def _check(self, table: Table, command: click.Command, place: Words) -> None:
        commands = subcommands(command)
        known = _options_below(command)
        for key, value in table.items():
            named = ".".join((*place, key))
            if isinstance(value, dict) and key in commands:
                self._check(value, commands[key], (*place, key))
            elif isinstance(value, dict):
                raise self._error(f"[{named}] is no command{_hint(key, commands)}")
            elif key not in known:
                hint = f"; it is a command: write [{named}]" if key in commands else _hint(key, known)
                raise self._error(f"{named} is no option{hint}")
            elif key in DIFFERENT and not place:
                raise self._error(f"{named} means something else in each command: put it into a table of one")
            else:
                for leaf, option in known[key]:
                    if isinstance(option.type, click.Path):
                        self._check_kind(value, option, (*place, key))
                    else:
                        self._value(value, option, (*place, key), click.Context(leaf))

    def _value(self, value: object, option: click.Option, place: Words, context: click.Context) -> object:
        self._check_kind(value, option, place)
        try:
            return option.type_cast_value(context, value)
        except click.BadParameter as error:
            raise self._error(f"{'.'.join(place)}: {error.message}") from error

    def _value_later(
        self, value: object, option: click.Option, place: Words, context: click.Context
    ) -> Callable[[], object]:
        def get() -> object:  # click's help calls a function, and no other callable, `(dynamic)`
            return self._value(value, option, place, context)

        return get

    def _check_kind(self, value: object, option: click.Option, place: Words) -> None:
        kind = _kind(option)
        try:
            msgspec.convert(value, list[kind] if option.multiple else kind)  # type: ignore[valid-type]
        except msgspec.ValidationError as error:
            expected = f"a list of {_KINDS[kind]}s" if option.multiple else f"a {_KINDS[kind]}"
            raise self._error(f"{'.'.join(place)} must be {expected}") from error

    def _dashed(self, table: Table, place: Words) -> Table:
        """Return the table with keys as options are named: `max_page_mib` becomes `max-page-mib`."""
        dashed: dict[str, object] = {}
        for key, value in table.items():
            named = (*place, key.replace("_", "-"))
            if named[-1] in dashed:
                raise self._error(f"{'.'.join(named)} is there twice, with - and with _")
            dashed[named[-1]] = self._dashed(value, named) if isinstance(value, dict) else value
        return dashed

    def _error(self, problem: str) -> click.UsageError:
        return click.UsageError(f"{self._file}: {problem}")


def _options_below(command: click.Command) -> dict[str, list[tuple[click.Command, click.Option]]]:
    options_by_name: dict[str, list[tuple[click.Command, click.Option]]] = {}
    for _, leaf in leaves(command):
        for name, option in options(leaf).items():
            if name != _CONFIG:
                options_by_name.setdefault(name, []).append((leaf, option))
    return options_by_name


def _kind(option: click.Option) -> type:
    if option.is_flag:
        return bool
    match option.type:
        case click.types.IntParamType():
            return int
        case click.types.FloatParamType():
            return float
        case click.Choice(choices=(first, *_)):
            return type(first)
    return str
