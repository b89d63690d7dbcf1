"""The commands of a group and their options, whatever they are."""

from collections.abc import Iterator

import click

Words = tuple[str, ...]
"""What calls a command: `("dead-letters", "list")`."""
DIFFERENT = frozenset({"all", "format", "limit", "topic", "version"})
"""Options that mean something else in each command that has them, so that no value holds for all commands."""


def subcommands(command: click.Command) -> dict[str, click.Command]:
    """The commands of a group by name; none of what is no group."""
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return {name: below for name, below in found if below is not None}


def leaves(command: click.Command, words: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    """Each command that can be run, the command itself or those below it, with the words that call it."""
    if not isinstance(command, click.Group):
        yield words, command
    for name, below in subcommands(command).items():
        yield from leaves(below, (*words, name))


def options(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their long name without its dashes: `security-protocol`."""
    found = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    return {_long_name(option): option for option in found}


def _long_name(option: click.Option) -> str:
    return next(name for name in option.opts if name.startswith("--")).removeprefix("--")
