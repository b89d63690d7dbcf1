"""`dehusk model list|show`: the versions of models, on disk and on Triton."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.rollout import Scope
from dehusk.streams.cli.model_options import (
    NOT_TO_BE_SERVED,
    control_topic_option,
    group_option,
    json_option,
    repository_option,
    triton_option,
    without_triton_option,
)
from dehusk.streams.cli.model_views import print_shown, print_versions
from dehusk.streams.cli.options import kafka_options
from dehusk.streams.models.names import split_name
from dehusk.streams.settings import KafkaSettings

if TYPE_CHECKING:
    from dehusk.streams.models.overview import KnownVersion, StoredVersion
    from dehusk.streams.models.server import ServedVersion, Statistics
    from dehusk.streams.rollout.moving import Situation
    from dehusk.streams.rollout.usage import Role

_without_triton = without_triton_option("Ask no Triton: look at the disk alone.")
_rolled_out = control_topic_option(None, "Show which versions the roll-outs on this topic name, too.")
_tried = control_topic_option(None, "Show what the workers that follow this topic have seen, too.")


@click.command(
    name="list",
    short_help="List models and versions on disk and on Triton.",
    epilog="""\b
Examples:
  dehusk model list --control-topic dehusk-control
  dehusk model list --without-triton --model-repository /srv/models
  dehusk model list --json | jq -r '.versions[] | select(.is_default) | .version'""",
)
@triton_option
@_without_triton
@repository_option
@_rolled_out
@kafka_options
@json_option
def list_command(
    *,
    triton: str,
    without_triton: bool,
    repository: Path,
    control_topic: str | None,
    kafka: KafkaSettings,
    as_json: bool,
) -> None:
    """List the versions on disk and on Triton: state, signature, size and hash.

    `default` is the newest that is served: requests and workers get it that name no version. Workers that
    follow a control topic name theirs: --control-topic shows which. If Triton or the repository cannot be
    reached, the other one is listed, and a message names the missing one; with neither, the command ends with
    status 1. Status 3 says that a version cannot be loaded or read.
    """
    missing: list[str] = []
    index = None if without_triton else asyncio.run(_index(triton, missing))
    stored = _stored(repository, missing)
    if stored is None and index is None:
        raise UnavailableError("; ".join(missing))
    for each in missing:
        click.echo(f"dehusk: {each}", err=True)
    from dehusk.streams.models.overview import side_by_side

    found = side_by_side(stored or [], index)
    roles = asyncio.run(_roles(kafka, control_topic)) if control_topic else None
    print_versions(found, missing, roles, is_triton_known=index is not None, as_json=as_json)
    raise SystemExit(NOT_TO_BE_SERVED if any(each.has_failed for each in found) else 0)


@click.command(
    name="show",
    short_help="Show a version: card, tensors, statistics.",
    epilog="""\b
Examples:
  dehusk model show dehusk
  dehusk model show dehusk/7 --json | jq .statistics
  dehusk model show dehusk/8 --control-topic dehusk-control""",
)
@click.argument("name", metavar="MODEL[/VERSION]")
@triton_option
@_without_triton
@repository_option
@_tried
@group_option
@kafka_options
@json_option
def show_command(
    *,
    name: str,
    triton: str,
    without_triton: bool,
    repository: Path,
    control_topic: str | None,
    group: str,
    kafka: KafkaSettings,
    as_json: bool,
) -> None:
    """Show what is known of a version; without VERSION, of the default one.

    From the repository its card, signature, tensors, size, SHA-256 and golden pages, from Triton its state,
    requests, failures, times and mean batch size since it was loaded. With --control-topic, what workers have
    seen of it beside the other versions that label, and the latest blocks that a shadow decides otherwise.
    """
    model, version = split_name(name)
    missing: list[str] = []
    index = None if without_triton else asyncio.run(_index(triton, missing))
    known = _known(model, version, _stored(repository, missing, model), index)
    for each in missing:
        click.echo(f"dehusk: {each}", err=True)
    statistics = asyncio.run(_statistics(triton, known)) if known.state == "READY" else None
    seen = asyncio.run(_seen(kafka, control_topic, Scope(model, group))) if control_topic else None
    print_shown(
        known,
        statistics,
        repository / model / known.version,
        seen,
        is_triton_known=index is not None,
        as_json=as_json,
    )


async def _index(triton: str, missing: list[str]) -> list[ServedVersion] | None:
    """What Triton knows; None, and a word more on what is missing, where it cannot be reached."""
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(triton) as server:
        try:
            return await server.index()
        except UnavailableError as error:
            missing.append(str(error))
            return None


async def _statistics(triton: str, known: KnownVersion) -> Statistics:
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(triton) as server:
        return await server.statistics(known.model, known.version)


def _stored(repository: Path, missing: list[str], model: str = "") -> list[StoredVersion] | None:
    """What is on disk; None, and a word more on what is missing, where there is no repository."""
    from dehusk.streams.models.overview import stored_versions

    if not repository.is_dir():
        missing.append(f"there is no model repository {repository}")
        return None
    return stored_versions(repository, model)


def _known(
    model: str, version: str, stored: list[StoredVersion] | None, index: list[ServedVersion] | None
) -> KnownVersion:
    from dehusk.streams.models.overview import side_by_side

    found = [each for each in side_by_side(stored or [], index) if each.model == model]
    wanted = [each for each in found if (each.version == version if version else each.is_default)]
    if not wanted and not version:
        wanted = found[-1:]
    if not found:
        raise ConfigurationError(f"there is no model {model!r}")
    if not wanted:
        known = ", ".join(each.version for each in found)
        raise ConfigurationError(f"there is no version {version} of model {model!r}; versions: {known}")
    return wanted[0]


async def _roles(kafka: KafkaSettings, topic: str) -> dict[tuple[str, str], list[Role]]:
    from dehusk.streams.rollout.moving import read_existing
    from dehusk.streams.rollout.usage import roles

    return roles(await read_existing(kafka, topic))


async def _seen(kafka: KafkaSettings, topic: str, scope: Scope) -> Situation:
    from dehusk.streams.rollout.moving import look

    return await look(kafka, topic, scope)
