"""`dehusk model`: which versions of a model label which part of the crawl."""

import click

from dehusk.streams.cli.rollout import COMMANDS


@click.group(name="model")
def command() -> None:
    """Try a version of a model on a part of the crawl, and go back at once."""


for each in COMMANDS:
    command.add_command(each)
