"""The options that several commands of `dehusk model` have."""

from collections.abc import Callable
from pathlib import Path

import click

from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.streams.cli.values import Address
from dehusk.streams.settings import TopicSettings, TritonSettings

Command = Callable[..., None]
Option = Callable[[Command], Command]
NOT_TO_BE_SERVED = 3
"""The exit status where a version is not to be served; 1 is for other errors."""

triton_option = click.option(
    "--triton",
    type=Address(),
    metavar="HOST:PORT",
    default=TritonSettings().address,
    show_default=True,
    help="gRPC address of the Triton server.",
)
repository_option = click.option(
    "--model-repository",
    "--repository",
    "repository",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    default=DEFAULT_REPOSITORY,
    show_default="the one that comes with dehusk",
    help="The model repository: the directory that Triton serves.",
)
group_option = click.option(
    "--group",
    metavar="NAME",
    default=TopicSettings().group,
    show_default=True,
    help="The consumer group of the workers; each group is moved alone.",
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask before.")
json_option = click.option("--json", "as_json", is_flag=True, help="Everything as one JSON object.")


def control_topic_option(default: str | None, help: str = "The topic that the workers follow.") -> Option:  # noqa: A002 click's
    """The control topic; None by default where a command can do without it."""
    return click.option("--control-topic", metavar="TOPIC", default=default, show_default=True, help=help)


def without_triton_option(help: str) -> Option:  # noqa: A002 click's
    """That no Triton is asked, as `without_triton`."""
    return click.option("--without-triton", is_flag=True, help=help)
