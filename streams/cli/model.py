"""`dehusk model`: the versions of models, on disk and on Triton."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.inference.labelers import LABELERS, LOCAL_LABELERS
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.rollout import Scope
from dehusk.streams.cli.asking import ask
from dehusk.streams.cli.model_options import (
    control_topic_option,
    group_option,
    json_option,
    repository_option,
    triton_option,
)
from dehusk.streams.cli.model_views import (
    print_added,
    print_fault,
    print_removed,
    print_report,
    print_shown,
    print_versions,
)
from dehusk.streams.cli.options import kafka_options, seconds_option
from dehusk.streams.cli.rollout import COMMANDS
from dehusk.streams.models.names import check_model, check_version, split_name
from dehusk.streams.models.removal import Removal
from dehusk.streams.settings import KafkaSettings, TritonSettings

if TYPE_CHECKING:
    from dehusk.streams.models.candidate import Candidate
    from dehusk.streams.models.checking import Report
    from dehusk.streams.models.overview import KnownVersion, StoredVersion
    from dehusk.streams.models.server import ModelServer, ServedVersion, Statistics
    from dehusk.streams.rollout.moving import Situation

Command = Callable[..., None]
NOT_TO_BE_SERVED = 3
"""The exit status where a version is not to be served; 1 is for other errors."""
_VERSION_PLACE = "DIR|FILE|MODEL/VERSION"
_without_triton = click.option(
    "--without-triton", is_flag=True, help="Ask no Triton: look at the disk alone."
)
_model = click.option(
    "--model",
    metavar="NAME",
    default=TritonSettings().model,
    show_default=True,
    help="The model that the version is of.",
)


def _checked_labeler(_context: click.Context, _option: click.Parameter, labeler: str) -> str:
    """The labeler, if it has versions."""
    if labeler in LOCAL_LABELERS:
        raise click.BadParameter(f"{labeler} has no versions; triton or onnx")
    return labeler


_labeler = click.option(
    "--labeler",
    type=click.Choice(LABELERS),
    default="triton",
    show_default=True,
    callback=_checked_labeler,
    help="Who runs the version: the Triton server, under another name and from memory, or ONNX Runtime in a "
    "process of this command.",
)
_tried = control_topic_option(None, "Show what the workers that follow this topic have seen, too.")
_named = control_topic_option(
    None,
    "Refuse a version that a state on this topic names or goes back to; have Triton serve the others first.",
)
_timeout = seconds_option(
    "--timeout", least=0.1, default=60.0, help="How long a load, or the answer to a page, may take."
)
_yes = click.option("--yes", is_flag=True, help="Do not ask before.")


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


@command.command(
    name="list",
    short_help="List models and versions on disk and on Triton.",
    epilog="""\b
Examples:
  dehusk model list
  dehusk model list --without-triton --repository /srv/models
  dehusk model list --json | jq -r '.versions[] | select(.answers) | .version'""",
)
@triton_option
@_without_triton
@repository_option
@json_option
def list_command(*, triton: str, without_triton: bool, repository: Path, as_json: bool) -> None:
    """List the versions on disk and on Triton: state, who answers, signature, size and hash.

    `answers` is the version that those get who name none. If Triton or the repository cannot be reached, the
    other one is listed, and a message names the missing one; with neither, the command ends with status 1.
    Status 3 says that a version cannot be loaded or read.
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
    print_versions(found, missing, as_json=as_json)
    raise SystemExit(NOT_TO_BE_SERVED if any(each.has_failed for each in found) else 0)


@command.command(
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
    """Show what is known of a version; without VERSION, of the one that answers.

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
    print_shown(known, statistics, repository / model / known.version, seen, as_json=as_json)


@command.command(
    name="verify",
    short_help="Check a version before it is served.",
    epilog="""\b
Examples:
  dehusk model verify run/8
  dehusk model verify dehusk/7 --triton triton:8001
  dehusk model verify run/8 --labeler onnx --json || echo "status $?\"""",
)
@click.argument("what", metavar=_VERSION_PLACE)
@_labeler
@triton_option
@repository_option
@_model
@_timeout
@json_option
def verify_command(
    *, what: str, labeler: str, triton: str, repository: Path, model: str, timeout: float, as_json: bool
) -> None:
    """Check a version without touching what is served.

    A directory holds model.onnx and golden.json, and may hold card.md and config.pbtxt; a file has its
    golden.json beside it. The version is sent to Triton under a temporary name, and unloaded at the end. It
    must have a signature that workers speak and its tensors, answer the golden pages as it was trained, with
    probabilities, and give a page the same answer alone and in a batch. Its latency is shown beside that of
    the version that answers now. Ends with status 3 and the name of the reason if it is not to be served.
    """
    from dehusk.streams.models.faults import FaultError

    try:
        candidate = _candidate(what, repository)
        check_model(model)
        checking = _check(candidate, repository, model, labeler=labeler, triton=triton, seconds=timeout)
        report = asyncio.run(checking)
    except FaultError as fault:
        print_fault(fault, as_json=as_json)
        raise SystemExit(NOT_TO_BE_SERVED) from fault
    print_report(report, as_json=as_json)


@command.command(
    name="add",
    short_help="Verify a version and put it into the repository.",
    epilog="""\b
Examples:
  dehusk model add run/8 --repository /srv/models
  dehusk model add model.onnx --version 12 --labeler onnx""",
)
@click.argument("place", metavar="DIR|FILE", type=click.Path(path_type=Path))
@click.option("--version", metavar="NUMBER", help="Its number; by default the next one of its model.")
@click.option(
    "--hold",
    is_flag=True,
    help="Before, write the version that is served by now into version_policy, so that the new one is not "
    "served by a load or restart, but only when it is named there.",
)
@click.option(
    "--load",
    is_flag=True,
    help="Have Triton load the model: then the new version answers, where version_policy names none.",
)
@click.option("--no-verify", is_flag=True, help="Add it unchecked.")
@_labeler
@triton_option
@repository_option
@_model
@_timeout
@_yes
@json_option
def add_command(
    *,
    place: Path,
    version: str | None,
    hold: bool,
    load: bool,
    no_verify: bool,
    labeler: str,
    triton: str,
    repository: Path,
    model: str,
    timeout: float,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy a version into the repository, verified, under a number that is new.

    The copy becomes a directory of its model at once, when it is complete, on disk and verified; one that
    fails never does, and nothing that is there is written over. A new model takes config.pbtxt from beside
    its model file. Tells how to serve the version next.
    """
    from dehusk.streams.models.faults import FaultError
    from dehusk.streams.models.shelf import next_version

    if hold and load:
        raise click.UsageError("--hold keeps a version from being served, and --load serves it: give one")
    check_model(model)
    number = check_version(version) if version else next_version(repository, model)
    if no_verify:
        ask(f"Add {model}/{number} to {repository} unchecked?", "nothing is added", yes=yes)
    click.echo(f"adding {place} as {model}/{number} to {repository}", err=True)
    try:
        checks = None if no_verify else (labeler, triton, timeout)
        added = asyncio.run(_add(place, repository, model, number, hold=hold, checks=checks))
    except FaultError as fault:
        print_fault(fault, as_json=as_json)
        raise SystemExit(NOT_TO_BE_SERVED) from fault
    if load:
        asyncio.run(_load(triton, model))
    print_added(added, is_loaded=load, as_json=as_json)


@command.command(
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
@_yes
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
    """Delete a version from the repository; refuses the one that answers and the only one.

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
    wanted = [each for each in found if (each.version == version if version else each.answers)]
    if not wanted and not version:
        wanted = found[-1:]
    if not wanted:
        known = ", ".join(each.version for each in found) or "none"
        raise ConfigurationError(f"there is no version {version} of model {model!r}; versions: {known}")
    return wanted[0]


def _candidate(what: str, repository: Path) -> Candidate:
    """The files that a path names, or a version of the repository."""
    from dehusk.inference.repository import find_model
    from dehusk.streams.models.candidate import find_candidate

    if Path(what).exists() or Path(what).is_symlink() or what.count("/") != 1:
        return find_candidate(Path(what))
    _, file = find_model(repository, *split_name(what))
    return find_candidate(file.parent)


async def _check(
    candidate: Candidate, repository: Path, model: str, *, labeler: str, triton: str, seconds: float
) -> Report:
    from dehusk.streams.models.checking import check_in_process, check_on_triton
    from dehusk.streams.models.server import ModelServer

    if labeler == "onnx":
        return await check_in_process(candidate, repository, model, seconds=seconds)
    async with ModelServer(triton, seconds) as server:
        try:
            return await check_on_triton(candidate, server, model)
        except UnavailableError as error:
            raise UnavailableError(f"{error}; --labeler onnx checks without a Triton") from error


async def _add(
    place: Path,
    repository: Path,
    model: str,
    version: str,
    *,
    hold: bool,
    checks: tuple[str, str, float] | None,
) -> Path:
    """The directory of the new version."""
    from dehusk.streams.models.adding import add_version
    from dehusk.streams.models.candidate import find_candidate

    async def verify(copied: Candidate) -> None:
        if checks:
            labeler, triton, seconds = checks
            await _check(copied, repository, model, labeler=labeler, triton=triton, seconds=seconds)

    candidate = find_candidate(place)
    for name in candidate.left_out:
        click.echo(f"dehusk: {name} is no part of a version and not copied", err=True)
    return await add_version(candidate, repository, model, version, verify, hold=hold)


async def _load(triton: str, model: str) -> None:
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(triton) as server:
        await server.load(model)


async def _seen(kafka: KafkaSettings, topic: str, scope: Scope) -> Situation:
    from dehusk.streams.rollout.moving import look

    return await look(kafka, topic, scope)


async def _remove(
    removal: Removal, triton: str | None, topic: tuple[KafkaSettings, str] | None, *, yes: bool
) -> None:
    from dehusk.streams.models.server import ModelServer

    if topic:
        removal = await _unused(removal, *topic)
    if triton is None:
        await _ask_and_remove(removal, None, yes=yes)
        return
    async with ModelServer(triton) as server:
        await _ask_and_remove(removal, server, yes=yes)


async def _unused(removal: Removal, kafka: KafkaSettings, topic: str) -> Removal:
    """The removal with the versions that roll-outs need, if this one is none of them."""
    from dehusk.streams.rollout.moving import read_existing
    from dehusk.streams.rollout.usage import check_unused, pinned_versions

    control = await read_existing(kafka, topic)
    check_unused(control, removal.model, removal.version)
    return replace(removal, needed=frozenset(pinned_versions(control, removal.model)))


async def _ask_and_remove(removal: Removal, server: ModelServer | None, *, yes: bool) -> None:
    from dehusk.streams.models.removing import check_removable, remove_version

    await check_removable(removal, server)
    is_served = server is not None and removal.version in await server.ready(removal.model)
    served = ", which Triton serves to those that name it" if is_served else ""
    ask(f"Delete {removal.directory}{served}?", "nothing is deleted", yes=yes)
    await remove_version(removal, server)


for each in COMMANDS:
    command.add_command(each)
