"""The question before what cannot be undone."""

import sys

import click

from dehusk.schemas.errors import ConfigurationError


def ask(question: str, otherwise: str, *, yes: bool) -> None:
    """See whether that is meant; `otherwise` says what is as it was if not.

    Raises:
        ConfigurationError: it is not, or nobody says so.
    """
    if yes:
        return
    click.echo(f"{question} [y/N] ", nl=False, err=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise ConfigurationError(f"{otherwise}; --yes does not ask")
