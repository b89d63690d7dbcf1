"""Actions of `dehusk model` on roll-outs: changes, status and history.

The commands load them when they run: their help needs no client of Triton or Kafka.
"""

import asyncio
import getpass
import os
import socket
import time
from collections.abc import Callable
from dataclasses import replace

import click

from dehusk.inference.labelers.repository import CONFIG_FILE
from dehusk.schemas.errors import ConfigurationError, ConflictError, DehuskError, UnavailableError
from dehusk.schemas.rollout import Rollout
from dehusk.streams.cli.model.options import RolloutOptions
from dehusk.streams.cli.model.rollout_views import (
    print_change,
    print_changed,
    print_history,
    print_planned,
    print_stale,
    print_status,
    print_written,
    repair_command,
    warn_ignored,
)
from dehusk.streams.cli.shared.terminal import ask, warn
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import (
    Moved,
    ready_versions,
    serve,
    stale_versions,
    to_serve,
    unload,
    withdraw,
)
from dehusk.streams.models.store import Guard
from dehusk.streams.rollout.claims import claimed
from dehusk.streams.rollout.control import change_state
from dehusk.streams.rollout.situation import (
    Situation,
    pinned_versions,
    read_existing,
    read_situation,
    serve_named,
    taken_back_versions,
    trust_serving,
)
from dehusk.streams.rollout.waiting import ignored_by, wait_for_workers

Step = Callable[[Rollout, str], Rollout]
"""Function from the current state and the name of who changes it to the next state."""
Question = Callable[[Rollout, Rollout], str]
"""Function from the current and the next state to the question before the change."""
SERVE_SECONDS = 180.0
"""Time limit of a change beside its wait for workers, which is what Triton takes to load versions."""


def _ask_change(_state: Rollout, _changed: Rollout) -> str:
    return "Change that?"


def show_status(options: RolloutOptions) -> None:
    """Print the state of a roll-out, its workers, and their figures."""
    situation = asyncio.run(read_situation(options.control, options.scope))
    stale = stale_versions(options.repository, options.scope.model, situation.taken_back)
    print_status(situation, stale, as_json=options.as_json)
    print_stale(options.repository, options.scope.model, stale, _repairing(options))
    warn_ignored(situation)


def _repairing(options: RolloutOptions) -> str:
    return repair_command(options.scope.model, options.control.name, options.group)


def show_history(options: RolloutOptions, limit: int) -> None:
    """Print the latest changes of a roll-out."""
    history = asyncio.run(read_existing(options.control)).history(options.scope)
    print_history(options.scope, [*history.values()][-limit:], as_json=options.as_json)


def user_name() -> str:
    """Return the user and host that change something."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # containers have users without names
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"


def change(
    options: RolloutOptions,
    step: Step,
    *,
    serving: str | None = None,
    question: Question = _ask_change,
    is_back: bool = False,
) -> None:
    """Change a roll-out by a step, or say what would be changed.

    Where there is no state yet, and no worker reports its version, `serving` is taken to serve. One that goes
    back needs no Triton before it is written.
    """
    asyncio.run(_change(options, step, serving, question, is_back=is_back))


async def _change(
    options: RolloutOptions, step: Step, serving: str | None, question: Question, *, is_back: bool
) -> None:
    """Show the change, ask, have Triton serve the versions, write the state, and wait if that is wanted."""
    topic, scope, by = options.control, options.scope, user_name()
    situation = await read_situation(topic, scope)
    current = situation.current(by, serving=serving)
    state = step(replace(current, limits=replace(current.limits, **options.limits)), by)
    print_change(situation, state)
    is_served_first = not (options.without_triton or is_back)
    loaded = await _print_served(options, situation, state) if is_served_first else []
    if options.dry_run:
        print_planned(situation, state, loaded, as_json=options.as_json)
        return
    ask(question(situation.state or state, state), "nothing was changed", yes=options.yes)
    began = time.perf_counter()
    if is_served_first:
        await _serve_and_change(options, situation, state)
    else:
        await change_state(topic, scope, state)
    print_written(state, as_json=options.as_json)
    if is_back and situation.state and not options.without_triton:
        await _withdraw(options, situation.state, state, is_used=bool(situation.workers))
    workers = None
    if options.wait and situation.workers:
        if ignored := ignored_by(situation.state, situation.workers):
            raise ConfigurationError(ignored)
        workers = await wait_for_workers(topic, scope, state, options.wait_seconds)
    print_changed(situation, state, workers, time.perf_counter() - began, as_json=options.as_json)


async def _withdraw(options: RolloutOptions, before: Rollout, state: Rollout, *, is_used: bool) -> None:
    """Take what a rollback has left out of the policy and, where no worker does, of Triton."""
    scope, revision = options.scope, state.revision
    try:
        async with (
            claimed(options.control, scope, revision, state.change, SERVE_SECONDS) as claim,
            ModelServer(options.triton) as server,
        ):
            control = await read_existing(options.control)
            gone = before.kept - pinned_versions(control, scope.model)
            gone |= taken_back_versions(control, scope.model)
            moved = Moved(before.serving, state.serving)
            if (options.repository / scope.model / CONFIG_FILE).exists():
                withdraw(options.repository, scope.model, gone, moved, claim.check)
            await unload(server, scope.model, gone, moved, is_used=is_used, guard=claim.check)
    except DehuskError as error:
        warn(f"{error}; {_repairing(options)} takes out what was left")


async def _serve_and_change(options: RolloutOptions, situation: Situation, state: Rollout) -> None:
    """Have Triton serve the versions of the next state, write it, and have the one that serves trusted.

    Nobody else has versions of the model served meanwhile. If a rollback comes first, Triton serves what it
    served before.
    """
    topic, scope = options.control, situation.scope
    revision = situation.state.revision if situation.state else 0
    seconds = options.wait_seconds + SERVE_SECONDS
    async with (
        claimed(topic, scope, revision, state.change, seconds) as claim,
        ModelServer(options.triton) as server,
    ):
        before = await ready_versions(server, scope.model)
        await serve_named(topic, situation, state, server, options.repository, guard=claim.check)
        try:
            await change_state(topic, scope, state, guard=claim.check)
        except ConflictError:
            await _serve_again(options, situation, server, before, claim.check)
            raise
        await _trust(options, situation, state, server, claim.check)


async def _serve_again(
    options: RolloutOptions, situation: Situation, server: ModelServer, before: list[str], guard: Guard
) -> None:
    model, taken_back = options.scope.model, situation.taken_back
    try:
        if await server.ready(model) != before:
            named = [version for version in before if version not in taken_back] or before
            await serve(server, options.repository, model, named, beside=taken_back, guard=guard)
    except DehuskError as error:
        warn(f"{error}; Triton may serve more versions than before")


async def _trust(
    options: RolloutOptions, situation: Situation, state: Rollout, server: ModelServer, guard: Guard
) -> None:
    """Have Triton and its policy trust the version that serves by a state that is written."""
    notice = (
        f"revision {state.revision} is written, and version {state.serving} is not the trusted one on Triton"
    )
    repair = f"{_repairing(options)} sees to it"
    try:
        is_trusted = await trust_serving(situation, state, server, options.repository, guard=guard)
    except (UnavailableError, ConflictError) as error:
        raise UnavailableError(f"{notice}: {error}; {repair}") from error
    if not is_trusted:
        where = "where its repository is, as it is not the one named here"
        warn(f"{notice}: {repair} {where}")


async def _print_served(options: RolloutOptions, situation: Situation, state: Rollout) -> list[str]:
    """Print and return what Triton is to load for a state; raises what `to_serve` does."""
    model = options.scope.model
    async with ModelServer(options.triton) as server:
        wanted = await to_serve(server, options.repository, model, state, situation.taken_back)
    if wanted:
        config = options.repository / model / CONFIG_FILE
        named = ", ".join(wanted)
        click.echo(f"  Triton at {options.triton} loads versions {named}, named in {config}", err=True)
    return wanted
