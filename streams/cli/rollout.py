"""`dehusk model canary|shadow|promote|rollback|status`: which versions label which part of the crawl."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dehusk.inference.repository import CONFIG_FILE
from dehusk.schemas.rollout import Limits, Part, Rollout
from dehusk.streams.cli.asking import ask
from dehusk.streams.cli.rollout_options import (
    Place,
    Where,
    limit_option,
    moving_options,
    of_rollout,
    of_version,
    share_option,
)
from dehusk.streams.cli.rollout_views import print_moved, print_status, say_move
from dehusk.streams.rollout.steps import promoted, rolled_back, with_canary, with_shadow

if TYPE_CHECKING:
    from dehusk.streams.rollout.moving import Situation

Step = Callable[["Situation", str], Rollout]
"""The state that a command makes of a situation, and who makes it."""


@click.command(
    name="canary",
    short_help="Have a version label a share of the sites.",
    epilog="""\b
Examples:
  dehusk model canary dehusk/8 --share 0.05 --wait
  dehusk model canary dehusk/8 --share 0.25       grows; earlier sites stay
  dehusk model canary dehusk/8 --share 0.05 --limit most-errors=0.1""",
)
@of_version
@share_option("sites")
@limit_option
@moving_options
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
    from --model-repository if that holds them.
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
@of_version
@share_option("micro-batches")
@limit_option
@moving_options
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
    NAME` shows what it would change. Both are first served by Triton, from --model-repository if that holds
    them.
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
  dehusk model promote dehusk/8 --model-repository /srv/models --triton triton:8001
  dehusk model promote dehusk/8 --without-triton  for workers with --labeler onnx""",
)
@of_version
@limit_option
@moving_options
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
    --model-repository if that holds them.
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
@of_rollout
@click.option("--reason", default="rolled back", help="Why, for those who ask later.")
@moving_options
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
@of_rollout
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
    if place is not None:
        await _say_served(place, where.scope.model, state)
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


async def _say_served(place: Place, model: str, state: Rollout) -> None:
    """Say what Triton is to serve for a state, beside what it does; raises what `to_serve` does."""
    from dehusk.streams.models.provision import to_serve
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(place.triton) as server:
        wanted = await to_serve(server, place.repository, model, state)
    if wanted:
        config = place.repository / model / CONFIG_FILE
        click.echo(
            f"  Triton at {place.triton} loads versions {', '.join(wanted)}, named in {config}", err=True
        )


async def _serve(
    where: Where, place: Place, situation: Situation, state: Rollout, seconds: float
) -> Situation:
    """The situation once Triton serves what a state names."""
    from dehusk.streams.models.server import ModelServer
    from dehusk.streams.rollout.serving import ControlTopic, serve_named

    topic = ControlTopic(where.kafka, where.topic)
    async with ModelServer(place.triton) as server:
        return await serve_named(topic, situation, state, server, place.repository, seconds=seconds)
