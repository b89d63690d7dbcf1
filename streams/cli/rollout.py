"""`dehusk model canary|shadow|promote|rollback|status`: which versions label which part of the crawl."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from dehusk.schemas.rollout import Limits, Part, Rollout, Scope, is_version
from dehusk.streams.cli.asking import ask
from dehusk.streams.cli.options import kafka_options, seconds_option, topic_option
from dehusk.streams.cli.rollout_views import print_moved, print_status, say_move
from dehusk.streams.rollout.steps import promoted, rolled_back, with_canary, with_shadow
from dehusk.streams.settings import CONTROL_TOPIC, KafkaSettings, TopicSettings

if TYPE_CHECKING:
    from dehusk.streams.rollout.moving import Situation

Command = Callable[..., None]
Step = Callable[["Situation", str], Rollout]
"""The state that a command makes of a situation, and who makes it."""
_LIMITS = {each.name.replace("_", "-"): each.name for each in fields(Limits)}


_WHERE = (
    click.argument("model"),
    kafka_options,
    topic_option("--control-topic", default=CONTROL_TOPIC, help="The topic that the workers follow."),
    click.option(
        "--group",
        metavar="NAME",
        default=TopicSettings().group,
        show_default=True,
        help="The consumer group of the workers; each group is moved alone.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Everything as one JSON object."),
)
_MOVING = (
    click.option("--yes", is_flag=True, help="Do not ask before."),
    click.option("--wait", is_flag=True, help="Wait until all workers follow, and say how long that took."),
    seconds_option("--wait-seconds", least=1.0, default=60.0, help="How long --wait may take."),
)


@dataclass(frozen=True, slots=True)
class Where:
    """Which roll-out a command is about, and how it goes about it."""

    kafka: KafkaSettings
    topic: str
    scope: Scope
    as_json: bool


def _version(_context: click.Context, _parameter: click.Parameter, version: str) -> str:
    if not is_version(version):
        raise click.BadParameter(f"{version!r} is no version, such as 8")
    return version


def _limits(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, Any]:
    """The limits that are named, by their fields."""
    found: dict[str, Any] = {}
    for each in given:
        name, _, value = each.partition("=")
        if name not in _LIMITS:
            raise click.BadParameter(f"{name!r} is none of: {', '.join(_LIMITS)}")
        kind = type(getattr(Limits(), _LIMITS[name]))
        try:
            found[_LIMITS[name]] = kind(value)
        except ValueError as error:
            raise click.BadParameter(f"{value!r} is no number for {name}") from error
        if found[_LIMITS[name]] < 0:
            raise click.BadParameter(f"{name} is not below 0")
    return found


def _where(command: Command) -> Command:
    """The options that say which roll-out is meant, which reach the command as `where`."""

    @wraps(command)
    def with_where(
        *, kafka: KafkaSettings, control_topic: str, model: str, group: str, as_json: bool, **others: object
    ) -> None:
        command(where=Where(kafka, control_topic, Scope(model, group), as_json), **others)

    return _with(with_where, _WHERE)


def _moving(command: Command) -> Command:
    """The options of a change."""
    return _with(command, _MOVING)


def _with(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def _limit_option(command: Command) -> Command:
    option = click.option(
        "--limit",
        "limits",
        metavar="NAME=VALUE",
        multiple=True,
        callback=_limits,
        help="Beyond which workers go back by themselves, e.g. --limit most-errors=0.05; others stay as they "
        f"are. Names: {', '.join(_LIMITS)}.",
    )
    return option(command)


def _share_option(what: str) -> Callable[[Command], Command]:
    return click.option(
        "--share",
        type=click.FloatRange(min=0, min_open=True, max=1),
        required=True,
        help=f"Of the {what}, e.g. 0.05.",
    )


_version_argument = click.argument("version", callback=_version)


@click.command(
    name="canary",
    short_help="Have a version label a share of the sites.",
    epilog="""\b
Examples:
  dehusk model canary dehusk 8 --share 0.05 --wait
  dehusk model canary dehusk 8 --share 0.25       grows; earlier sites stay
  dehusk model canary dehusk 8 --share 0.05 --limit most-errors=0.1""",
)
@_where
@_version_argument
@_share_option("sites")
@_limit_option
@_moving
def canary_command(
    *,
    where: Where,
    version: str,
    share: float,
    limits: dict[str, Any],
    yes: bool,
    wait: bool,
    wait_seconds: float,
) -> None:
    """Have VERSION of MODEL label the pages of a share of the sites.

    A site is never split, and which sites they are is decided by their names, so a larger share keeps those
    of a smaller one. What the version does not label, the serving one does.
    """

    def step(situation: Situation, by: str) -> Rollout:
        state = situation.current(by, Limits())
        return with_canary(state, Part(version, share), by, replace(state.limits, **limits))

    asyncio.run(_move(where, step, yes=yes, wait=wait_seconds if wait else None))


@click.command(
    name="shadow",
    short_help="Have a version label beside the others, to compare them.",
    epilog="""\b
Examples:
  dehusk model shadow dehusk 8 --share 0.1
  dehusk model status dehusk                      what it would change""",
)
@_where
@_version_argument
@_share_option("micro-batches")
@_limit_option
@_moving
def shadow_command(
    *,
    where: Where,
    version: str,
    share: float,
    limits: dict[str, Any],
    yes: bool,
    wait: bool,
    wait_seconds: float,
) -> None:
    """Have VERSION of MODEL label a share of the micro-batches beside the version that labels them.

    Nothing of it is published, and no page waits for it. `dehusk model status` shows what it would change.
    """

    def step(situation: Situation, by: str) -> Rollout:
        state = situation.current(by, Limits())
        return with_shadow(state, Part(version, share), by, replace(state.limits, **limits))

    asyncio.run(_move(where, step, yes=yes, wait=wait_seconds if wait else None))


@click.command(
    name="promote",
    short_help="Have a version label all pages.",
    epilog="""\b
Examples:
  dehusk model promote dehusk 8 --wait
  dehusk model promote dehusk 7                   the first time: the version that serves anyway""",
)
@_where
@_version_argument
@_limit_option
@_moving
def promote_command(
    *, where: Where, version: str, limits: dict[str, Any], yes: bool, wait: bool, wait_seconds: float
) -> None:
    """Have VERSION of MODEL label all pages from the next micro-batch on.

    The version that served before is remembered. For ten minutes it labels what the new one does not, and
    workers go back to it by themselves if the new one exceeds a limit.
    """

    def step(situation: Situation, by: str) -> Rollout:
        state = situation.current(by, Limits(), serving=version)
        return promoted(state, version, by, replace(state.limits, **limits))

    asyncio.run(_move(where, step, yes=yes, wait=wait_seconds if wait else None))


@click.command(
    name="rollback",
    short_help="Go back to the version before.",
    epilog="""\b
Examples:
  dehusk model rollback dehusk --yes --wait
  dehusk model rollback dehusk --reason 'forums lose their posts'""",
)
@_where
@click.option("--reason", default="rolled back", help="Why, for those who ask later.")
@_moving
def rollback_command(*, where: Where, reason: str, yes: bool, wait: bool, wait_seconds: float) -> None:
    """Go back to the version of MODEL that served before.

    Where a canary or a shadow is tried, it ends, and the version that serves stays; a second rollback goes
    back to the one before that.
    """

    def step(situation: Situation, by: str) -> Rollout:
        return rolled_back(situation.current(by, Limits()), by, reason)

    asyncio.run(_move(where, step, yes=yes, wait=wait_seconds if wait else None))


@click.command(
    name="status",
    short_help="Show which versions label, and what is seen of them.",
    epilog="""\b
Examples:
  dehusk model status dehusk
  dehusk model status dehusk --json | jq .comparison.examples""",
)
@_where
def status_command(*, where: Where) -> None:
    """Show which versions of MODEL label, who does with what, and what workers have seen of them.

    Figures are added up over the workers that have reported within half a minute, each since the roll-out
    was last changed.
    """
    from dehusk.streams.rollout.moving import look

    situation = asyncio.run(look(where.kafka, where.topic, where.scope))
    print_status(situation, as_json=where.as_json)


COMMANDS = (canary_command, shadow_command, promote_command, rollback_command, status_command)
"""Those of the group `dehusk model`."""


async def _move(where: Where, step: Step, *, yes: bool, wait: float | None) -> None:
    """Make the step, after it is said and agreed to, and wait for the workers where that is wanted."""
    from dehusk.streams.rollout.moving import look
    from dehusk.streams.rollout.waiting import wait_for_workers
    from dehusk.streams.rollout.writing import change_state

    situation = await look(where.kafka, where.topic, where.scope)
    state = step(situation, f"{os.environ.get('USER') or os.getuid()}@{socket.gethostname()}")
    say_move(situation, state)
    ask("Change that?", "nothing was changed", yes=yes)
    begun = time.perf_counter()
    await change_state(where.kafka, where.topic, where.scope, state)
    workers = None
    if wait is not None and situation.workers:
        workers = await wait_for_workers(where.kafka, where.topic, where.scope, state, wait)
    seconds = time.perf_counter() - begun
    print_moved(situation, state, workers, seconds, as_json=where.as_json)
