"""`dehusk model`: the versions of models, on disk, on Triton, and in roll-outs."""

import click

from dehusk.streams.cli.model_adding import add_command, verify_command
from dehusk.streams.cli.model_listing import list_command, show_command
from dehusk.streams.cli.model_removing import remove_command
from dehusk.streams.cli.rollout import COMMANDS


@click.group(name="model")
def command() -> None:
    """Versions of a model: verified, added, tried on a part of the crawl, promoted, taken back, removed.

    A version is a numbered directory in the model repository, and never changed. Workers with --control-topic
    label with those that shadow, canary and promote name, which have Triton serve them first. Workers without
    it take the newest that Triton serves or, in process (--labeler onnx), that `version_policy` in the
    model's config.pbtxt serves at their start.

    Ends with status 0, with 1 if something does not fit or is unavailable, and with 3 if a version is not to
    be served.
    """


for each in (list_command, show_command, verify_command, add_command, remove_command, *COMMANDS):
    command.add_command(each)
