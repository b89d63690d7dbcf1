"""The environment variables of options: one for a command, one for all commands that have the option."""

import click

from streams.cli.tree import DIFFERENT, Words, options

PREFIX = "DEHUSK"


class Variables(tuple[str, ...]):
    """The names of variables, of which the first that is set counts."""

    __slots__ = ()

    def __str__(self) -> str:
        """As click's errors quote it: `A' or 'B`."""
        return "' or '".join(self)


def name_variables(command: click.Command, words: Words) -> None:
    """Give each option its variables; that of the command wins."""
    for name, option in options(command).items():
        places = [words] if name in DIFFERENT else [words, ()]
        option.envvar = Variables(_variable(PREFIX, *place, name) for place in places)
        option.show_envvar = True


def _variable(*words: str) -> str:
    return "_".join(words).replace("-", "_").upper()
