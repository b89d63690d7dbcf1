"""`dehusk model` and its commands `list` and `show`: versions on disk, on Triton, and in roll-outs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.rollout import Scope
from dehusk.streams.cli.model.options import (
    NOT_TO_BE_SERVED,
    Sources,
    source_options,
    workers_option,
)
from dehusk.streams.cli.model.rollout import COMMANDS
from dehusk.streams.cli.model.versions import add_command, remove_command, verify_command
from dehusk.streams.cli.model.views import print_shown, print_versions
from dehusk.streams.cli.shared.options import json_option
from dehusk.streams.models.names import split_name
from dehusk.streams.settings import KafkaSettings

if TYPE_CHECKING:
    from dehusk.streams.models.overview import KnownVersion, StoredVersion
    from dehusk.streams.models.server import ServedVersion, Statistics
    from dehusk.streams.rollout.situation import Role, Situation


@click.command(
    name="list",
    short_help="List models and versions on disk and on Triton.",
    epilog="""\b
Examples:
  dehusk model list --control-topic dehusk-control
  dehusk model list --without-triton --model-repository /srv/models
  dehusk model list --json | jq -r '.versions[] | select(.is_default) | .version'""",
)
@source_options("Show which versions the roll-outs on this topic name, too.")
@json_option()
def list_command(*, sources: Sources, as_json: bool) -> None:
    """List the versions on disk and on Triton: state, signature, size and hash.

    `default` is the newest that is served: requests and workers get it that name no version. Workers that
    follow a control topic name theirs: --control-topic shows which. If Triton or the repository cannot be
    reached, the other one is listed, and a message names the missing one; with neither, the command ends with
    status 1. Status 3 says that a version cannot be loaded or read.
    """
    from dehusk.streams.models.overview import match_versions

    missing: list[str] = []
    index = None if sources.without_triton else asyncio.run(_read_index(sources.triton, missing))
    stored = _read_stored(sources.repository, missing)
    if stored is None and index is None:
        raise UnavailableError("; ".join(missing))
    _warn(missing)
    versions = match_versions(stored or [], index)
    roles = asyncio.run(_read_roles(sources.kafka, sources.control_topic)) if sources.control_topic else None
    print_versions(versions, missing, roles, is_triton_known=index is not None, as_json=as_json)
    raise SystemExit(NOT_TO_BE_SERVED if any(version.has_failed for version in versions) else 0)


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
@source_options("Show what the workers that follow this topic have seen, too.", workers_option)
@json_option()
def show_command(*, name: str, sources: Sources, group: str, as_json: bool) -> None:
    """Show what is known of a version; without VERSION, of the default one.

    From the repository its card, signature, tensors, size, SHA-256 and golden pages, from Triton its state,
    requests, failures, times and mean batch size since it was loaded. With --control-topic, what workers have
    seen of it beside the other versions that label, and the latest blocks that a shadow decides otherwise.
    """
    model, version = split_name(name)
    missing: list[str] = []
    index = None if sources.without_triton else asyncio.run(_read_index(sources.triton, missing))
    known = _find_version(model, version, _read_stored(sources.repository, missing, model), index)
    _warn(missing)
    statistics = asyncio.run(_read_statistics(sources.triton, known)) if known.state == "READY" else None
    situation = None
    if sources.control_topic:
        situation = asyncio.run(_read_situation(sources.kafka, sources.control_topic, Scope(model, group)))
    directory = sources.repository / model / known.version
    print_shown(known, statistics, directory, situation, is_triton_known=index is not None, as_json=as_json)


def _warn(messages: list[str]) -> None:
    for message in messages:
        click.echo(f"dehusk: {message}", err=True)


async def _read_index(triton: str, missing: list[str]) -> list[ServedVersion] | None:
    """Return what Triton knows; None where it cannot be reached, which is added to what is missing."""
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(triton) as server:
        try:
            return await server.index()
        except UnavailableError as error:
            missing.append(str(error))
            return None


async def _read_statistics(triton: str, known: KnownVersion) -> Statistics:
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(triton) as server:
        return await server.statistics(known.model, known.version)


def _read_stored(repository: Path, missing: list[str], model: str = "") -> list[StoredVersion] | None:
    """Return what is on disk; None where there is no repository, which is added to what is missing."""
    from dehusk.streams.models.overview import stored_versions

    if not repository.is_dir():
        missing.append(f"there is no model repository {repository}")
        return None
    return stored_versions(repository, model)


def _find_version(
    model: str, version: str, stored: list[StoredVersion] | None, index: list[ServedVersion] | None
) -> KnownVersion:
    from dehusk.streams.models.overview import match_versions

    versions = [known for known in match_versions(stored or [], index) if known.model == model]
    matching = [known for known in versions if (known.version == version if version else known.is_default)]
    if not matching and not version:
        matching = versions[-1:]
    if not versions:
        raise ConfigurationError(f"there is no model {model!r}")
    if not matching:
        names = ", ".join(known.version for known in versions)
        raise ConfigurationError(f"there is no version {version} of model {model!r}; versions: {names}")
    return matching[0]


async def _read_roles(kafka: KafkaSettings, topic: str) -> dict[tuple[str, str], list[Role]]:
    from dehusk.streams.rollout.control import ControlTopic
    from dehusk.streams.rollout.situation import read_existing, roles

    return roles(await read_existing(ControlTopic(kafka, topic)))


async def _read_situation(kafka: KafkaSettings, topic: str, scope: Scope) -> Situation:
    from dehusk.streams.rollout.control import ControlTopic
    from dehusk.streams.rollout.situation import read_situation

    return await read_situation(ControlTopic(kafka, topic), scope)


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


for _subcommand in (list_command, show_command, verify_command, add_command, remove_command, *COMMANDS):
    command.add_command(_subcommand)
