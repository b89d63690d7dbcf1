"""`dehusk model canary|shadow|promote|rollback|status`: the versions that label, and their changes."""

import click

from dehusk.schemas.rollout import Part
from dehusk.streams.cli.model.options import (
    RolloutOptions,
    change_options,
    rollout_options,
    share_option,
    version_options,
)
from dehusk.streams.rollout.transitions import ask_rollback, promote, roll_back, with_canary, with_shadow


@click.command(
    name="canary",
    short_help="Have a version label a share of the sites.",
    epilog="""\b
Examples:
  dehusk model canary dehusk/8 --share 0.05 --wait
  dehusk model canary dehusk/8 --share 0.25       grows; earlier sites stay
  dehusk model canary dehusk/8 --share 0.05 --limit most-errors=0.1""",
)
@version_options(share_option("sites"))
def canary_command(*, options: RolloutOptions, share: float) -> None:
    """Have a version label the pages of a share of the sites.

    A site is never split, and which sites they are is decided by their names, so a larger share keeps those
    of a smaller one. What the version does not label, the serving one does. Both are first served by Triton,
    from --model-repository if that holds them.
    """
    from dehusk.streams.cli.model.model_actions import change

    change(options, lambda state, by: with_canary(state, Part(options.version, share), by))


@click.command(
    name="shadow",
    short_help="Have a version label beside the others, to compare them.",
    epilog="""\b
Examples:
  dehusk model shadow dehusk/8 --share 0.1
  dehusk model show dehusk/8 --control-topic dehusk-control""",
)
@version_options(share_option("micro-batches"))
def shadow_command(*, options: RolloutOptions, share: float) -> None:
    """Have a version label a share of the micro-batches beside the version that labels them.

    Nothing of it is published, and no page waits for it. `dehusk model show MODEL/VERSION --control-topic
    NAME` shows what it would change. Both are first served by Triton, from --model-repository if that holds
    them.
    """
    from dehusk.streams.cli.model.model_actions import change

    change(options, lambda state, by: with_shadow(state, Part(options.version, share), by))


@click.command(
    name="promote",
    short_help="Have a version label all pages.",
    epilog="""\b
Examples:
  dehusk model promote dehusk/8 --wait
  dehusk model promote dehusk/8 --model-repository /srv/models --triton triton:8001
  dehusk model promote dehusk/8 --without-triton  for workers with --labeler onnx""",
)
@version_options()
def promote_command(*, options: RolloutOptions) -> None:
    """Have a version label all pages from the next micro-batch on.

    The version that served before is remembered. For ten minutes it labels what the new one does not, and
    workers go back to it by themselves if the new one exceeds a limit. Both are first served by Triton, from
    --model-repository if that holds them.
    """
    from dehusk.streams.cli.model.model_actions import change

    change(options, lambda state, by: promote(state, options.version, by), serving=options.version)


@click.command(
    name="rollback",
    short_help="Go back to the version before.",
    epilog="""\b
Examples:
  dehusk model rollback dehusk --yes --wait
  dehusk model rollback dehusk --reason 'forums lose their posts'""",
)
@change_options(click.option("--reason", default="rolled back", help="Reason, for those who ask later."))
def rollback_command(*, options: RolloutOptions, reason: str) -> None:
    """Go back to the version of MODEL that served before.

    Where a canary or a shadow is tried, it ends, and the version that serves stays; a second rollback goes
    back to the one before that. Where workers have just taken a version back, it is refused, as the version
    that serves then is not the one to leave.
    """
    from dehusk.streams.cli.model.model_actions import change

    change(options, lambda state, by: roll_back(state, by, reason), question=ask_rollback)


@click.command(
    name="status",
    short_help="Show which versions label, and what is seen of them.",
    epilog="""\b
Examples:
  dehusk model status dehusk
  dehusk model status dehusk --json | jq .state.serving""",
)
@rollout_options
def status_command(*, options: RolloutOptions) -> None:
    """Show which versions of MODEL label, who does with what, and what workers have seen of them.

    Figures are added up over the workers that have reported within half a minute, each since the roll-out
    was last changed.
    """
    from dehusk.streams.cli.model.model_actions import show_status

    show_status(options)


COMMANDS = (canary_command, shadow_command, promote_command, rollback_command, status_command)
"""Commands of roll-outs in the group `dehusk model`."""
