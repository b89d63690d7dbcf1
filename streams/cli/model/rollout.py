"""`dehusk model` and its commands for roll-outs: the versions that label, and their changes."""

import click

from dehusk.schemas.rollout import GIVE_UP_SECONDS, Part
from dehusk.streams.cli.model.options import (
    Duration,
    RolloutOptions,
    Shares,
    change_options,
    place_options,
    reason_option,
    rollout_options,
    share_option,
    status_options,
    version_options,
)
from dehusk.streams.cli.shared.options import number_option
from dehusk.streams.rollout.transitions import (
    ask_rollback,
    pause,
    promote,
    resume,
    roll_back,
    with_canary,
    with_shadow,
    with_steps,
)

_HOLD_SECONDS = 600.0
"""Time at each step by default."""


@click.group(name="model")
def command() -> None:
    """Versions of a model: verified, added, tried on a part of the crawl, promoted, taken back, removed.

    A version is a numbered directory in the model repository, and never changed. Workers with --control-topic
    label with those that shadow, canary and promote name, which have Triton serve them first. Workers without
    it take the trusted one that Triton names or, in process (--labeler onnx), that the model's config.pbtxt
    names at their start; where none is named, it is the newest that is served.

    Ends with status 0, with 1 if something does not fit or is unavailable, and with 3 if a version is not to
    be served, or cannot be loaded or read.
    """


@command.command(
    name="canary",
    short_help="Have a version label a share of the sites.",
    epilog="""\b
Examples:
  dehusk model canary dehusk/13 --share 0.05 --wait
  dehusk model canary dehusk/13 --share 0.25       grows; earlier sites stay
  dehusk model canary dehusk/13 --share 0.05 --limit most-errors=0.1""",
)
@version_options(share_option("sites"))
def canary_command(*, options: RolloutOptions, share: float) -> None:
    """Have a version label the pages of a share of the sites.

    A site is never split, and which sites they are is decided by their names, so a larger share keeps those
    of a smaller one. What the version does not label, the serving one does. Both are first served by Triton,
    from --model-repository if that holds them.
    """
    from dehusk.streams.cli.model.rollout_actions import change

    change(options, lambda state, by: with_canary(state, Part(options.version, share), by))


@command.command(
    name="shadow",
    short_help="Have a version label beside the others, to compare them.",
    epilog="""\b
Examples:
  dehusk model shadow dehusk/13 --share 0.1
  dehusk model show dehusk/13 --control-topic dehusk-control""",
)
@version_options(share_option("micro-batches"))
def shadow_command(*, options: RolloutOptions, share: float) -> None:
    """Have a version label a share of the micro-batches beside the version that labels them.

    Nothing of it is published, and no page waits for it. `dehusk model show MODEL/VERSION --control-topic
    NAME` shows what it would change. Both are first served by Triton, from --model-repository if that holds
    them.
    """
    from dehusk.streams.cli.model.rollout_actions import change

    change(options, lambda state, by: with_shadow(state, Part(options.version, share), by))


@command.command(
    name="promote",
    short_help="Have a version label all pages, at once or in steps.",
    epilog="""\b
Examples:
  dehusk model promote dehusk/13 --wait
  dehusk model promote dehusk/13 --steps 1%,10%,50% --hold 10m
  dehusk model promote dehusk/13 --model-repository /srv/models --triton triton:8001
  dehusk model promote dehusk/13 --without-triton  for workers with --labeler onnx""",
)
@version_options(
    click.option(
        "--steps",
        type=Shares(),
        metavar="SHARE,…",
        help="First have it label these shares of the sites, one after the other, e.g. 1%,10%,50%.",
    ),
    click.option(
        "--hold",
        type=Duration(),
        metavar="TIME",
        help="Least time at each step, e.g. 10m or 2h; 10m by default.",
    ),
    click.option(
        "--give-up-after",
        type=Duration(),
        metavar="TIME",
        help="Time after --hold from which the steps are paused if the next one cannot be taken, as too few "
        "pages are compared; 1d by default.",
    ),
)
def promote_command(
    *,
    options: RolloutOptions,
    steps: tuple[float, ...] | None,
    hold: float | None,
    give_up_after: float | None,
) -> None:
    """Have a version label all pages from the next micro-batch on.

    The version that served before is remembered. For ten minutes it labels what the new one does not, and
    workers go back to it by themselves if the new one exceeds a limit. Both are first served by Triton, from
    --model-repository if that holds them.

    With --steps, it labels a share of the sites first, and workers take each next step by themselves, without
    this command: after --hold, and once they have compared least-pages pages and least-calls calls since the
    step began. If it exceeds a limit at any step, it is taken back. If so many pages do not come within
    --give-up-after, the steps are paused. `dehusk model status` says what the next step waits for; pause and
    resume stop the steps and go on.
    """
    from dehusk.streams.cli.model.rollout_actions import change

    if steps is None:
        if hold is not None or give_up_after is not None:
            raise click.UsageError("--hold and --give-up-after are times of each step: give --steps, too")
        change(options, lambda state, by: promote(state, options.version, by), serving=options.version)
        return
    seconds = _HOLD_SECONDS if hold is None else hold
    give_up = GIVE_UP_SECONDS if give_up_after is None else give_up_after
    change(options, lambda state, by: with_steps(state, options.version, steps, seconds, by, give_up=give_up))


@command.command(
    name="pause",
    short_help="Stop the steps of a promotion where they are.",
    epilog="""\b
Examples:
  dehusk model pause dehusk --reason 'forums lose their posts?'""",
)
@change_options(reason_option)
def pause_command(*, options: RolloutOptions, reason: str | None) -> None:
    """Have the version that is promoted in steps stay at its share of the sites.

    It is judged further on, and taken back if it exceeds a limit.
    """
    from dehusk.streams.cli.model.rollout_actions import change

    change(options, lambda state, by: pause(state, by, reason or "steps paused"))


@command.command(
    name="resume",
    short_help="Go on with the steps of a promotion.",
    epilog="""\b
Examples:
  dehusk model resume dehusk --yes""",
)
@change_options(reason_option)
def resume_command(*, options: RolloutOptions, reason: str | None) -> None:
    """Go on with the steps that were paused; the present share is first held once more."""
    from dehusk.streams.cli.model.rollout_actions import change

    change(options, lambda state, by: resume(state, by, reason or "steps resumed"))


@command.command(
    name="rollback",
    short_help="Go back to the version before.",
    epilog="""\b
Examples:
  dehusk model rollback dehusk --yes --wait
  dehusk model rollback dehusk --reason 'forums lose their posts'""",
)
@change_options(*place_options, reason_option)
def rollback_command(*, options: RolloutOptions, reason: str | None) -> None:
    """Go back to the version of MODEL that served before.

    Where a canary or a shadow is tried, it ends, and the version that serves stays; a second rollback goes
    back to the one before that. The version that is left goes out of the version policy and, once workers
    follow, out of Triton; if that fails, it is said, and the rollback holds. Where workers have just
    taken a version back, it is refused, as the version that serves then is not the one to leave.
    """
    from dehusk.streams.cli.model.rollout_actions import change

    change(
        options,
        lambda state, by: roll_back(state, by, reason or "rolled back"),
        question=ask_rollback,
        is_back=True,
    )


@command.command(
    name="status",
    short_help="Show which versions label, and what is seen of them.",
    epilog="""\b
Examples:
  dehusk model status dehusk
  dehusk model status dehusk --json | jq .state.serving""",
)
@status_options
def status_command(*, options: RolloutOptions) -> None:
    """Show which versions of MODEL label, who does with what, and what workers have seen of them.

    Figures are added up over all workers, those that have stopped among them, since the versions last
    changed. A notice says so if the policy in --model-repository names a version that workers have taken
    back, which a restart of Triton loads again.
    """
    from dehusk.streams.cli.model.rollout_actions import show_status

    show_status(options)


@command.command(
    name="history",
    short_help="List who changed which versions label, when and why.",
    epilog="""\b
Examples:
  dehusk model history dehusk
  dehusk model history dehusk --json | jq '.changes[-1]'""",
)
@rollout_options
@number_option("--limit", default=50, help="Number of changes, the latest ones.")
def history_command(*, options: RolloutOptions, limit: int) -> None:
    """List the changes of the roll-out of MODEL, the latest one last: who made each, when and why.

    Those that workers made are among them. The control topic keeps the latest 500, also when it is compacted.
    """
    from dehusk.streams.cli.model.rollout_actions import show_history

    show_history(options, limit)
