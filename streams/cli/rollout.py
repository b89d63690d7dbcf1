"""`dehusk model canary|shadow|promote|rollback|status`: which versions label which part of the crawl."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Limits, Part, Rollout, Scope
from dehusk.streams.cli.asking import ask
from dehusk.streams.cli.model_options import (
    control_topic_option,
    group_option,
    json_option,
    repository_option,
    triton_option,
    without_triton_option,
    yes_option,
)
from dehusk.streams.cli.options import kafka_options, seconds_option
from dehusk.streams.cli.rollout_views import print_moved, print_status, say_move
from dehusk.streams.cli.values import NumberRange
from dehusk.streams.models.names import check_model, split_name
from dehusk.streams.rollout.steps import promoted, rolled_back, with_canary, with_shadow
from dehusk.streams.settings import CONTROL_TOPIC, KafkaSettings

if TYPE_CHECKING:
    from dehusk.streams.rollout.moving import Situation

Command = Callable[..., None]
Step = Callable[["Situation", str], Rollout]
"""The state that a command makes of a situation, and who makes it."""
_LIMITS = {each.name.replace("_", "-"): each.name for each in fields(Limits)}


def _model_name(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    """The name of a model."""
    try:
        return check_model(name)
    except ConfigurationError as error:
        raise click.BadParameter(f"{error}; the model alone, such as dehusk") from error


def _version_name(_context: click.Context, _parameter: click.Parameter, name: str) -> tuple[str, str]:
    """A model and one of its versions."""
    try:
        model, version = split_name(name)
    except ConfigurationError as error:
        raise click.BadParameter(str(error)) from error
    if not version:
        raise click.BadParameter(f"name the version, such as {name}/8")
    return model, version


_MODEL = click.argument("model", metavar="MODEL", callback=_model_name)
_VERSION = click.argument("name", metavar="MODEL/VERSION", callback=_version_name)
_WHERE = (
    kafka_options,
    control_topic_option(CONTROL_TOPIC),
    group_option,
    json_option,
)
_PLACE = (
    triton_option,
    without_triton_option(
        "Ask no Triton: the workers of the group run the model themselves (--labeler onnx)."
    ),
    repository_option,
)
_MOVING = (
    yes_option,
    click.option("--wait", is_flag=True, help="Wait until all workers follow, and say how long that took."),
    seconds_option(
        "--wait-seconds", least=1.0, default=60.0, help="How long workers may take to follow a state."
    ),
)


@dataclass(frozen=True, slots=True)
class Where:
    """Which roll-out a command is about, and how it goes about it."""

    kafka: KafkaSettings
    topic: str
    scope: Scope
    as_json: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where the versions are served that a change names."""

    triton: str
    repository: Path


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
        least = 1 if kind is int else 0
        if not least <= found[_LIMITS[name]] < inf:
            raise click.BadParameter(f"{value} is no finite number from {least} on, as {name} has to be")
    return found


def _where(command: Command) -> Command:
    """MODEL and the options that say which roll-out is meant, which reach the command as `where`."""

    @wraps(command)
    def with_where(
        *, kafka: KafkaSettings, control_topic: str, model: str, group: str, as_json: bool, **others: object
    ) -> None:
        command(where=Where(kafka, control_topic, Scope(model, group), as_json), **others)

    return _with(with_where, (_MODEL, *_WHERE))


def _of_version(command: Command) -> Command:
    """MODEL/VERSION and the options of a move, which reach the command as `where`, `version` and `place`."""

    @wraps(command)
    def with_version(
        *,
        kafka: KafkaSettings,
        control_topic: str,
        name: tuple[str, str],
        group: str,
        as_json: bool,
        triton: str,
        without_triton: bool,
        repository: Path,
        **others: object,
    ) -> None:
        model, version = name
        where = Where(kafka, control_topic, Scope(model, group), as_json)
        place = None if without_triton else Place(triton, repository)
        command(where=where, version=version, place=place, **others)

    return _with(with_version, (_VERSION, *_WHERE, *_PLACE))


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
        type=NumberRange(min=0, min_open=True, max=1),
        required=True,
        help=f"Of the {what}, e.g. 0.05.",
    )


@click.command(
    name="canary",
    short_help="Have a version label a share of the sites.",
    epilog="""\b
Examples:
  dehusk model canary dehusk/8 --share 0.05 --wait
  dehusk model canary dehusk/8 --share 0.25       grows; earlier sites stay
  dehusk model canary dehusk/8 --share 0.05 --limit most-errors=0.1""",
)
@_of_version
@_share_option("sites")
@_limit_option
@_moving
def canary_command(
    *,
    where: Where,
    place: Place | None,
    version: str,
    share: float,
    limits: dict[str, Any],
    yes: bool,
    wait: bool,
    wait_seconds: float,
) -> None:
    """Have a version label the pages of a share of the sites.

    A site is never split, and which sites they are is decided by their names, so a larger share keeps those
    of a smaller one. What the version does not label, the serving one does. Both are first served by Triton,
    from --repository if that holds them.
    """

    def step(situation: Situation, by: str) -> Rollout:
        state = situation.current(by, Limits())
        return with_canary(state, Part(version, share), by, replace(state.limits, **limits))

    asyncio.run(_move(where, step, place, yes=yes, wait=wait, seconds=wait_seconds))


@click.command(
    name="shadow",
    short_help="Have a version label beside the others, to compare them.",
    epilog="""\b
Examples:
  dehusk model shadow dehusk/8 --share 0.1
  dehusk model show dehusk/8 --control-topic dehusk-control""",
)
@_of_version
@_share_option("micro-batches")
@_limit_option
@_moving
def shadow_command(
    *,
    where: Where,
    place: Place | None,
    version: str,
    share: float,
    limits: dict[str, Any],
    yes: bool,
    wait: bool,
    wait_seconds: float,
) -> None:
    """Have a version label a share of the micro-batches beside the version that labels them.

    Nothing of it is published, and no page waits for it. `dehusk model show MODEL/VERSION --control-topic
    NAME` shows what it would change. Both are first served by Triton, from --repository if that holds them.
    """

    def step(situation: Situation, by: str) -> Rollout:
        state = situation.current(by, Limits())
        return with_shadow(state, Part(version, share), by, replace(state.limits, **limits))

    asyncio.run(_move(where, step, place, yes=yes, wait=wait, seconds=wait_seconds))


@click.command(
    name="promote",
    short_help="Have a version label all pages.",
    epilog="""\b
Examples:
  dehusk model promote dehusk/8 --wait
  dehusk model promote dehusk/8 --repository /srv/models --triton triton:8001
  dehusk model promote dehusk/8 --without-triton  for workers with --labeler onnx""",
)
@_of_version
@_limit_option
@_moving
def promote_command(
    *,
    where: Where,
    place: Place | None,
    version: str,
    limits: dict[str, Any],
    yes: bool,
    wait: bool,
    wait_seconds: float,
) -> None:
    """Have a version label all pages from the next micro-batch on.

    The version that served before is remembered. For ten minutes it labels what the new one does not, and
    workers go back to it by themselves if the new one exceeds a limit. Both are first served by Triton, from
    --repository if that holds them.
    """

    def step(situation: Situation, by: str) -> Rollout:
        state = situation.current(by, Limits(), serving=version)
        return promoted(state, version, by, replace(state.limits, **limits))

    asyncio.run(_move(where, step, place, yes=yes, wait=wait, seconds=wait_seconds))


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

    asyncio.run(_move(where, step, None, yes=yes, wait=wait, seconds=wait_seconds))


@click.command(
    name="status",
    short_help="Show which versions label, and what is seen of them.",
    epilog="""\b
Examples:
  dehusk model status dehusk
  dehusk model status dehusk --json | jq .state.serving""",
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


async def _move(
    where: Where, step: Step, place: Place | None, *, yes: bool, wait: bool, seconds: float
) -> None:
    """Make the step, after it is said and agreed to, and wait for the workers where that is wanted."""
    from dehusk.streams.rollout.moving import look
    from dehusk.streams.rollout.waiting import wait_for_workers
    from dehusk.streams.rollout.writing import change_state

    by = f"{os.environ.get('USER') or os.getuid()}@{socket.gethostname()}"
    situation = await look(where.kafka, where.topic, where.scope)
    state = step(situation, by)
    say_move(situation, state)
    ask("Change that?", "nothing was changed", yes=yes)
    begun = time.perf_counter()
    if place is not None:
        served = await _serve(where, place, situation, state, seconds)
        state = step(served, by)
    await change_state(where.kafka, where.topic, where.scope, state)
    workers = None
    if wait and situation.workers:
        workers = await wait_for_workers(where.kafka, where.topic, where.scope, state, seconds)
    print_moved(situation, state, workers, time.perf_counter() - begun, as_json=where.as_json)


async def _serve(
    where: Where, place: Place, situation: Situation, state: Rollout, seconds: float
) -> Situation:
    """The situation once Triton serves what a state names."""
    from dehusk.streams.models.server import ModelServer
    from dehusk.streams.rollout.serving import ControlTopic, serve_named

    topic = ControlTopic(where.kafka, where.topic)
    async with ModelServer(place.triton) as server:
        return await serve_named(topic, situation, state, server, place.repository, seconds=seconds)
