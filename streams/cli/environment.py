"""The environment variables of options: one for a command, one for all commands that have the option."""

import logging
import os
from difflib import get_close_matches

import click

from dehusk.streams.cli.tree import DIFFERENT, Words, leaves, options
from dehusk.streams.worker.logs import are_json

PREFIX = "DEHUSK"
_log = logging.getLogger(__name__)


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


def warn_of_unknown_variables(root: click.Command) -> None:
    """Say which variables of the environment look like those of options, and are none."""
    set_here = {name for name in os.environ if name.startswith(f"{PREFIX}_")}
    if not set_here:
        return  # the commands, which know their variables, need not be loaded
    for name in sorted(set_here - (known := _variables(root))):
        near = "".join(f"; did you mean {match}?" for match in get_close_matches(name, known, 1))
        _warn(f"{name} is ignored: no option has this variable{near}")


def _variables(root: click.Command) -> set[str]:
    """The variables of all options below a command."""
    found = (option.envvar for _, leaf in leaves(root) for option in options(leaf).values())
    return {name for names in found if names for name in ([names] if isinstance(names, str) else names)}


def _warn(text: str) -> None:
    """Warn on standard error, in the log where that is JSON."""
    if are_json():
        _log.warning(text)
    else:
        click.echo(f"dehusk: {text}", err=True)


def _variable(*words: str) -> str:
    return "_".join(words).replace("-", "_").upper()
