"""`dehusk model canary|shadow|promote|rollback|status`: the versions that label, and their changes."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from dehusk.inference.labelers.repository import CONFIG_FILE
from dehusk.schemas.rollout import Part, Rollout
from dehusk.streams.cli.model.options import (
    RolloutOptions,
    change_options,
    rollout_options,
    share_option,
    version_options,
)
from dehusk.streams.cli.model.views import print_change, print_changed, print_status
from dehusk.streams.cli.shared.terminal import ask
from dehusk.streams.rollout.transitions import promote, roll_back, with_canary, with_shadow

if TYPE_CHECKING:
    from dehusk.streams.rollout.control import ControlTopic
    from dehusk.streams.rollout.situation import Situation

Step = Callable[[Rollout, str], Rollout]
"""Makes the next state of the current one and the name of who changes it."""


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
    _change(options, lambda state, by: with_canary(state, Part(options.version, share), by))


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
    _change(options, lambda state, by: with_shadow(state, Part(options.version, share), by))


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
    _change(options, lambda state, by: promote(state, options.version, by), serving=options.version)


@click.command(
    name="rollback",
    short_help="Go back to the version before.",
    epilog="""\b
Examples:
  dehusk model rollback dehusk --yes --wait
  dehusk model rollback dehusk --reason 'forums lose their posts'""",
)
@change_options(click.option("--reason", default="rolled back", help="Why, for those who ask later."))
def rollback_command(*, options: RolloutOptions, reason: str) -> None:
    """Go back to the version of MODEL that served before.

    Where a canary or a shadow is tried, it ends, and the version that serves stays; a second rollback goes
    back to the one before that.
    """
    _change(options, lambda state, by: roll_back(state, by, reason))


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
    from dehusk.streams.rollout.control import ControlTopic
    from dehusk.streams.rollout.situation import read_situation

    topic = ControlTopic(options.kafka, options.control_topic)
    situation = asyncio.run(read_situation(topic, options.scope))
    print_status(situation, as_json=options.as_json)


COMMANDS = (canary_command, shadow_command, promote_command, rollback_command, status_command)
"""Commands of roll-outs in the group `dehusk model`."""


def _change(options: RolloutOptions, step: Step, *, serving: str | None = None) -> None:
    """Change a roll-out by a step.

    Where there is no state yet, and no worker reports its version, `serving` is taken to serve.
    """
    by = f"{os.environ.get('USER') or os.getuid()}@{socket.gethostname()}"

    def next_state(situation: Situation) -> Rollout:
        current = situation.current(by, serving=serving)
        return step(replace(current, limits=replace(current.limits, **options.limits)), by)

    asyncio.run(_change_to(options, next_state))


async def _change_to(options: RolloutOptions, next_state: Callable[[Situation], Rollout]) -> None:
    """Show the change, ask, have Triton serve the versions, write the state, and wait if that is wanted."""
    from dehusk.streams.rollout.control import ControlTopic, change_state, wait_for_workers
    from dehusk.streams.rollout.situation import read_situation

    topic, scope = ControlTopic(options.kafka, options.control_topic), options.scope
    situation = await read_situation(topic, scope)
    state = next_state(situation)
    print_change(situation, state)
    if not options.without_triton:
        await _print_served(options, state)
    ask("Change that?", "nothing was changed", yes=options.yes)
    began = time.perf_counter()
    if not options.without_triton:
        state = next_state(await _serve(options, topic, situation, state))
    await change_state(topic, scope, state)
    workers = None
    if options.wait and situation.workers:
        workers = await wait_for_workers(topic, scope, state, options.wait_seconds)
    print_changed(situation, state, workers, time.perf_counter() - began, as_json=options.as_json)


async def _print_served(options: RolloutOptions, state: Rollout) -> None:
    """Print what Triton is to load for a state; raises what `to_serve` does."""
    from dehusk.streams.models.server import ModelServer
    from dehusk.streams.models.serving import to_serve

    model = options.scope.model
    async with ModelServer(options.triton) as server:
        wanted = await to_serve(server, options.repository, model, state)
    if wanted:
        config = options.repository / model / CONFIG_FILE
        named = ", ".join(wanted)
        click.echo(f"  Triton at {options.triton} loads versions {named}, named in {config}", err=True)


async def _serve(
    options: RolloutOptions, topic: ControlTopic, situation: Situation, state: Rollout
) -> Situation:
    """Have Triton serve what a state names, and return the situation to go on from."""
    from dehusk.streams.models.server import ModelServer
    from dehusk.streams.rollout.situation import serve_named

    async with ModelServer(options.triton) as server:
        return await serve_named(
            topic, situation, state, server, options.repository, seconds=options.wait_seconds
        )
