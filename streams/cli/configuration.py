"""The configuration file: values of options, for all commands and, in tables, for one."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dehusk.streams.cli.environment import PREFIX
from dehusk.streams.cli.tree import DIFFERENT, Words, leaves, options, subcommands

Table = Mapping[str, Any]
Read = Callable[[click.Context, click.Parameter, Path | None], None]
_NAME = "config"
_KINDS = {bool: "boolean", int: "whole number", float: "number", str: "string"}
"""What people call the types of TOML."""


def config_option(read: Read | None = None) -> click.Option:
    """`--config FILE`; it reaches the command where nothing else reads it."""
    return click.Option(
        [f"--{_NAME}"],
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        envvar=f"{PREFIX}_{_NAME.upper()}",
        show_envvar=True,
        is_eager=True,
        expose_value=read is None,
        callback=read,
        help="A TOML file with values of options; `dehusk --help` shows one.",
    )


def configure(command: click.Command, words: Words) -> None:
    """Let a command take values of its options from the file that is named behind it, or before it."""

    def read(context: click.Context, _option: click.Parameter, file: Path | None) -> None:
        root = context.find_root()
        if context.get_parameter_source(_NAME) is not ParameterSource.COMMANDLINE:
            file = root.params.get(_NAME) or file
        if file is not None:
            configuration = Configuration(file)
            configuration.check(root.command)
            context.default_map = configuration.values(words, context)

    command.params.insert(0, config_option(read))


class Configuration:
    """What a file says of options.

    Raises:
        click.UsageError: it is no TOML, or names what there is not.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._table = _dashed(tomllib.loads(file.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise self._error(f"it is no TOML: {error}") from error

    def check(self, root: click.Command) -> None:
        """See whether all of its keys and tables name options and commands, and all values suit them.

        Whether a file or folder exists is left to its command, which may run on another machine.
        """
        self._check(self._table, root, ())

    def values(self, words: Words, context: click.Context) -> dict[str, object]:
        """The values for a command by the names of its parameters; those of a table win over those above."""
        command_options = options(context.command)
        found: dict[str, object] = {}
        for place, table in self._tables(words):
            for key in table.keys() & command_options.keys():
                option = command_options[key]
                found[option.name or ""] = self._value(table[key], option, (*place, key), context)
        return found

    def _tables(self, words: Words) -> Iterator[tuple[Words, Table]]:
        """The tables that hold for a command, from that of all commands to its own."""
        table = self._table
        for depth in range(len(words) + 1):
            yield words[:depth], {key: value for key, value in table.items() if not isinstance(value, dict)}
            below = table.get(words[depth]) if depth < len(words) else None
            table = below if isinstance(below, dict) else {}

    def _check(self, table: Table, command: click.Command, place: Words) -> None:
        commands = subcommands(command)
        known = _options_below(command)
        for key, value in table.items():
            named = ".".join((*place, key))
            if isinstance(value, dict) and key in commands:
                self._check(value, commands[key], (*place, key))
            elif isinstance(value, dict):
                raise self._error(f"[{named}] is no command{_nearest(key, commands)}")
            elif key not in known:
                near = f"; it is a command: write [{named}]" if key in commands else _nearest(key, known)
                raise self._error(f"{named} is no option{near}")
            elif key in DIFFERENT and not place:
                raise self._error(f"{named} means something else in each command: put it into a table of one")
            else:
                for leaf, option in known[key].items():
                    self._check_value(value, option, (*place, key), click.Context(leaf))

    def _check_value(self, value: object, option: click.Option, place: Words, context: click.Context) -> None:
        if isinstance(option.type, click.Path):
            self._check_kind(value, option, place)
        else:
            self._value(value, option, place, context)

    def _value(self, value: object, option: click.Option, place: Words, context: click.Context) -> object:
        self._check_kind(value, option, place)
        try:
            return option.type_cast_value(context, value)
        except click.BadParameter as error:
            raise self._error(f"{'.'.join(place)}: {error.message}") from error

    def _check_kind(self, value: object, option: click.Option, place: Words) -> None:
        kind = _kind(option)
        items = value if option.multiple and isinstance(value, list) else [value]
        if isinstance(value, list) is not option.multiple or not all(_is(item, kind) for item in items):
            wanted = f"a list of {_KINDS[kind]}s" if option.multiple else f"a {_KINDS[kind]}"
            raise self._error(f"{'.'.join(place)} must be {wanted}")

    def _error(self, problem: str) -> click.UsageError:
        return click.UsageError(f"{self._file}: {problem}")


def _options_below(command: click.Command) -> dict[str, dict[click.Command, click.Option]]:
    """The options that a file can set of a command and those below it, by name and command."""
    found: dict[str, dict[click.Command, click.Option]] = {}
    for _, leaf in leaves(command):
        for name, option in options(leaf).items():
            if name != _NAME:
                found.setdefault(name, {})[leaf] = option
    return found


def _dashed(table: Table) -> Table:
    """The table with its keys as options are named: `max_page_mib` is `max-page-mib`."""
    return {
        key.replace("_", "-"): _dashed(value) if isinstance(value, dict) else value
        for key, value in table.items()
    }


def _kind(option: click.Option) -> type:
    """The type that TOML has for the values of an option."""
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


def _is(value: object, kind: type) -> bool:
    return type(value) is kind or (kind is float and type(value) is int)


def _nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a name that is not known."""
    return "".join(f"; did you mean {near}?" for near in get_close_matches(name, known, 1))
