"""`dehusk model remove`: a version that nobody needs is deleted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.streams.cli.asking import ask
from dehusk.streams.cli.model_options import (
    control_topic_option,
    json_option,
    repository_option,
    triton_option,
    without_triton_option,
    yes_option,
)
from dehusk.streams.cli.model_views import print_removed
from dehusk.streams.cli.options import kafka_options
from dehusk.streams.models.names import split_name
from dehusk.streams.models.removal import Removal
from dehusk.streams.settings import KafkaSettings

if TYPE_CHECKING:
    from dehusk.streams.models.server import ModelServer

_without_triton = without_triton_option("Ask no Triton: look at the disk alone.")
_named = control_topic_option(
    None,
    "Refuse a version that a state on this topic names or goes back to; have Triton serve the others first.",
)


@click.command(
    name="remove",
    short_help="Delete a version that is not served.",
    epilog="""\b
Examples:
  dehusk model remove dehusk/6
  dehusk model remove dehusk/6 --without-triton --yes
  dehusk model remove dehusk/8 --control-topic dehusk-control""",
)
@click.argument("name", metavar="MODEL/VERSION")
@triton_option
@_without_triton
@repository_option
@_named
@kafka_options
@yes_option
@json_option
def remove_command(
    *,
    name: str,
    triton: str,
    without_triton: bool,
    repository: Path,
    control_topic: str | None,
    kafka: KafkaSettings,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete a version from the repository; refuses the default one and the only one.

    If Triton serves it beside another version, Triton loads the model, which unloads it: workers that name
    it with --model-version stop then. With --control-topic, a version that roll-outs are done with is taken
    out of version_policy first, also if it is the newest one, and one that they need is refused.
    """
    model, version = split_name(name)
    if not version:
        raise click.UsageError("name the version, as MODEL/VERSION")
    removal = Removal(repository, model, version)
    topic = (kafka, control_topic) if control_topic else None
    asyncio.run(_remove(removal, None if without_triton else triton, topic, yes=yes))
    print_removed(name, as_json=as_json)


async def _remove(
    removal: Removal, triton: str | None, topic: tuple[KafkaSettings, str] | None, *, yes: bool
) -> None:
    from dehusk.streams.models.server import ModelServer

    if topic:
        removal = await _unused(removal, *topic)
    if triton is None:
        await _ask_and_remove(removal, None, is_unused=topic is not None, yes=yes)
        return
    async with ModelServer(triton) as server:
        await _ask_and_remove(removal, server, is_unused=topic is not None, yes=yes)


async def _unused(removal: Removal, kafka: KafkaSettings, topic: str) -> Removal:
    """The removal with the versions that roll-outs need, if this one is none of them."""
    from dehusk.streams.rollout.moving import read_existing
    from dehusk.streams.rollout.usage import check_unused, pinned_versions

    control = await read_existing(kafka, topic)
    check_unused(control, removal.model, removal.version)
    return replace(removal, needed=frozenset(pinned_versions(control, removal.model)))


async def _ask_and_remove(
    removal: Removal, server: ModelServer | None, *, is_unused: bool, yes: bool
) -> None:
    from dehusk.streams.models.removing import check_removable, remove_version

    await check_removable(removal, server)
    is_served = server is not None and removal.version in await server.ready(removal.model)
    served = ", which Triton serves to those that name it" if is_served else ""
    unasked = "" if is_unused else ", whether or not a roll-out needs it (--control-topic)"
    ask(f"Delete {removal.directory}{served}{unasked}?", "nothing is deleted", yes=yes)
    await remove_version(removal, server)
