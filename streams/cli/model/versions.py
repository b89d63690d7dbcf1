"""`dehusk model verify|add|remove`: a version is checked, put into the repository, and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.cli.model.options import (
    NOT_TO_BE_SERVED,
    Sources,
    source_options,
    stored_versions_option,
)
from dehusk.streams.cli.model.views import print_added, print_fault, print_removed, print_report
from dehusk.streams.cli.shared.options import (
    NumberRange,
    gathered_options,
    json_option,
    seconds_option,
    yes_option,
)
from dehusk.streams.cli.shared.service_options import labeler_option, model_option, triton_option
from dehusk.streams.cli.shared.terminal import ask
from dehusk.streams.models.names import MAX_LATENCY, FaultError, check_model, check_version, split_name
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.wording import printable

if TYPE_CHECKING:
    from dehusk.streams.models.candidate import Candidate
    from dehusk.streams.models.verification import Report


def _require_versions(_context: click.Context, _option: click.Parameter, labeler: str) -> str:
    """Return a labeler that has versions."""
    if labeler in LOCAL_LABELERS:
        raise click.BadParameter(f"{labeler} has no versions; triton or onnx")
    return labeler


@dataclass(frozen=True, slots=True)
class _Checks:
    """Options of the checks of a version."""

    labeler: str
    triton: str
    repository: Path
    model: str
    timeout: float
    most_latency: float


_check_options = gathered_options(
    "checks",
    _Checks,
    labeler_option(
        metavar="[triton|onnx]",
        default="triton",
        callback=_require_versions,
        help="Who runs the version: the Triton server, under another name and from memory, or ONNX Runtime "
        "in a process of this command.",
    ),
    triton_option(),
    stored_versions_option,
    model_option("The model that the version is of."),
    seconds_option(
        "--timeout", least=0.1, default=60.0, help="How long a load, or the answer to a page, may take."
    ),
    click.option(
        "--most-latency",
        type=NumberRange(min=0, min_open=True),
        metavar="FACTOR",
        default=MAX_LATENCY,
        show_default=True,
        help="How many times as long as with the default version a page may take, in the middle of some.",
    ),
)


@contextmanager
def _exit_on_fault(*, as_json: bool) -> Iterator[None]:
    """Print why a version is not to be served, and exit with the status that says so."""
    try:
        yield
    except FaultError as fault:
        print_fault(fault, as_json=as_json)
        raise SystemExit(NOT_TO_BE_SERVED) from fault


@click.command(
    name="verify",
    short_help="Check a version before it is served.",
    epilog="""\b
Examples:
  dehusk model verify run/8
  dehusk model verify dehusk/7 --triton triton:8001
  dehusk model verify run/8 --labeler onnx --json || echo "status $?\"""",
)
@click.argument("what", metavar="DIR|FILE|MODEL/VERSION")
@_check_options
@json_option()
def verify_command(*, what: str, checks: _Checks, as_json: bool) -> None:
    """Check a version without touching what is served.

    A directory holds model.onnx and golden.json, and may hold card.md and config.pbtxt; a file has its
    golden.json beside it. The version is sent to Triton under a temporary name, and unloaded at the end. It
    must have a signature that workers speak and its tensors, answer the golden pages as it was trained, with
    probabilities, and give a page the same answer alone and in a batch. Its latency is shown beside that of
    the default version. Ends with status 3 and the name of the reason if it is not to be served.
    """
    with _exit_on_fault(as_json=as_json):
        candidate = _candidate(what, checks.repository)
        check_model(checks.model)
        report = asyncio.run(_check(candidate, checks))
    print_report(report, as_json=as_json)


@click.command(
    name="add",
    short_help="Verify a version and put it into the repository.",
    epilog="""\b
Examples:
  dehusk model add run/8 --model-repository /srv/models
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
@_check_options
@yes_option
@json_option()
def add_command(
    *,
    place: Path,
    version: str | None,
    hold: bool,
    load: bool,
    no_verify: bool,
    checks: _Checks,
    yes: bool,
    as_json: bool,
) -> None:
    """Copy a version into the repository, verified, under a number that is new.

    The copy becomes a directory of its model at once, when it is complete, on disk and verified; one that
    fails never does, and nothing that is there is written over. A new model takes config.pbtxt from beside
    its model file. Tells how to serve the version next.
    """
    from dehusk.streams.models.store import next_version

    if hold and load:
        raise click.UsageError("--hold keeps a version from being served, and --load serves it: give one")
    repository, model = checks.repository, checks.model
    check_model(model)
    number = check_version(version) if version else next_version(repository, model)
    if no_verify:
        ask(f"Add {model}/{number} to {repository} unchecked?", "nothing is added", yes=yes)
    click.echo(f"adding {place} as {model}/{number} to {repository}", err=True)
    with _exit_on_fault(as_json=as_json):
        added = asyncio.run(_add(place, number, checks, hold=hold, is_verified=not no_verify))
        if load:
            asyncio.run(_load(checks.triton, added))
    print_added(added, is_loaded=load, as_json=as_json)


def _candidate(what: str, repository: Path) -> Candidate:
    """Return the files that a path names, or those of a version of the repository."""
    from dehusk.inference.labelers.repository import find_model
    from dehusk.streams.models.candidate import find_candidate

    if Path(what).exists() or Path(what).is_symlink() or what.count("/") != 1:
        return find_candidate(Path(what))
    try:
        model, version = split_name(what)
    except ConfigurationError as error:
        raise ConfigurationError(f"there is no file or directory {printable(what)}, and {error}") from error
    _, file = find_model(repository, model, version)
    return find_candidate(file.parent)


async def _check(candidate: Candidate, checks: _Checks) -> Report:
    from dehusk.streams.models.server import ModelServer
    from dehusk.streams.models.verification import check_in_process, check_on_triton

    model, most = checks.model, checks.most_latency
    if checks.labeler == "onnx":
        return await check_in_process(
            candidate, checks.repository, model, seconds=checks.timeout, most_latency=most
        )
    async with ModelServer(checks.triton, checks.timeout) as server:
        try:
            return await check_on_triton(candidate, server, model, most_latency=most)
        except UnavailableError as error:
            raise UnavailableError(f"{error}; --labeler onnx checks without a Triton") from error


async def _add(place: Path, version: str, checks: _Checks, *, hold: bool, is_verified: bool) -> Path:
    """Add a version, and return its directory."""
    from dehusk.streams.models.candidate import find_candidate
    from dehusk.streams.models.lifecycle import add_version

    async def verify(copied: Candidate) -> None:
        await _check(copied, checks)

    candidate = find_candidate(place)
    for name in candidate.left_out:
        click.echo(f"dehusk: {printable(name)} is no part of a version and not copied", err=True)
    return await add_version(
        candidate, checks.repository, checks.model, version, verify if is_verified else None, hold=hold
    )


async def _load(triton: str, added: Path) -> None:
    from dehusk.streams.models.lifecycle import load_added
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(triton) as server:
        await load_added(server, added)


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
@source_options(
    "Refuse a version that a state on this topic names or goes back to; have Triton serve the others first."
)
@yes_option
@json_option()
def remove_command(*, name: str, sources: Sources, yes: bool, as_json: bool) -> None:
    """Delete a version from the repository; refuses the default one and the only one.

    If Triton serves it beside another version, Triton loads the model, which unloads it: workers that name
    it with --model-version stop then. With --control-topic, a version that roll-outs are done with is taken
    out of version_policy first, also if it is the newest one, and one that they need is refused.
    """
    model, version = split_name(name)
    if not version:
        raise click.UsageError("name the version, as MODEL/VERSION")
    asyncio.run(_remove(sources, model, version, yes=yes))
    print_removed(name, as_json=as_json)


async def _remove(sources: Sources, model: str, version: str, *, yes: bool) -> None:
    from dehusk.streams.models.lifecycle import Removal, check_removable, remove_version
    from dehusk.streams.models.server import ModelServer

    topic = sources.control_topic
    needed = await _needed(sources.kafka, topic, model, version) if topic else frozenset()
    removal = Removal(sources.repository, model, version, needed)
    async with AsyncExitStack() as stack:
        is_asked = not sources.without_triton
        server = await stack.enter_async_context(ModelServer(sources.triton)) if is_asked else None
        await check_removable(removal, server)
        is_served = server is not None and version in await server.ready(model)
        served = ", which Triton serves to those that name it" if is_served else ""
        unasked = "" if topic else ", whether or not a roll-out needs it (--control-topic)"
        ask(f"Delete {removal.directory}{served}{unasked}?", "nothing is deleted", yes=yes)
        await remove_version(removal, server)


async def _needed(kafka: KafkaSettings, topic: str, model: str, version: str) -> frozenset[str]:
    """Return the versions that roll-outs need, if the one to remove is none of them."""
    from dehusk.streams.rollout.control import ControlTopic
    from dehusk.streams.rollout.situation import check_unused, pinned_versions, read_existing

    control = await read_existing(ControlTopic(kafka, topic))
    check_unused(control, model, version)
    return frozenset(pinned_versions(control, model))
