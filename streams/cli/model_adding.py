"""`dehusk model verify|add`: a version is checked, and put into the repository."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dehusk.inference.labelers import LABELERS, LOCAL_LABELERS
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.cli.asking import ask
from dehusk.streams.cli.model_options import (
    NOT_TO_BE_SERVED,
    json_option,
    repository_option,
    triton_option,
    yes_option,
)
from dehusk.streams.cli.model_views import print_added, print_fault, print_report
from dehusk.streams.cli.options import seconds_option
from dehusk.streams.cli.values import NumberRange
from dehusk.streams.models.limits import MOST_LATENCY
from dehusk.streams.models.names import check_model, check_version, split_name
from dehusk.streams.printable import printable
from dehusk.streams.settings import TritonSettings

if TYPE_CHECKING:
    from dehusk.streams.models.candidate import Candidate
    from dehusk.streams.models.checking import Report

_VERSION_PLACE = "DIR|FILE|MODEL/VERSION"
_model = click.option(
    "--model",
    metavar="NAME",
    default=TritonSettings().model,
    show_default=True,
    help="The model that the version is of.",
)
_timeout = seconds_option(
    "--timeout", least=0.1, default=60.0, help="How long a load, or the answer to a page, may take."
)
_most_latency = click.option(
    "--most-latency",
    type=NumberRange(min=0, min_open=True),
    metavar="FACTOR",
    default=MOST_LATENCY,
    show_default=True,
    help="How many times as long as with the default version a page may take, in the middle of some.",
)


@dataclass(frozen=True, slots=True)
class _Checks:
    """Who checks a version, and how patiently."""

    labeler: str
    triton: str
    seconds: float
    most_latency: float


def _checked_labeler(_context: click.Context, _option: click.Parameter, labeler: str) -> str:
    """The labeler, if it has versions."""
    if labeler in LOCAL_LABELERS:
        raise click.BadParameter(f"{labeler} has no versions; triton or onnx")
    return labeler


_labeler = click.option(
    "--labeler",
    type=click.Choice(LABELERS),
    metavar="[triton|onnx]",
    default="triton",
    show_default=True,
    callback=_checked_labeler,
    help="Who runs the version: the Triton server, under another name and from memory, or ONNX Runtime in a "
    "process of this command.",
)


@click.command(
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
@_most_latency
@json_option
def verify_command(
    *,
    what: str,
    labeler: str,
    triton: str,
    repository: Path,
    model: str,
    timeout: float,
    most_latency: float,
    as_json: bool,
) -> None:
    """Check a version without touching what is served.

    A directory holds model.onnx and golden.json, and may hold card.md and config.pbtxt; a file has its
    golden.json beside it. The version is sent to Triton under a temporary name, and unloaded at the end. It
    must have a signature that workers speak and its tensors, answer the golden pages as it was trained, with
    probabilities, and give a page the same answer alone and in a batch. Its latency is shown beside that of
    the default version. Ends with status 3 and the name of the reason if it is not to be served.
    """
    from dehusk.streams.models.faults import FaultError

    try:
        candidate = _candidate(what, repository)
        check_model(model)
        checks = _Checks(labeler, triton, timeout, most_latency)
        report = asyncio.run(_check(candidate, repository, model, checks))
    except FaultError as fault:
        print_fault(fault, as_json=as_json)
        raise SystemExit(NOT_TO_BE_SERVED) from fault
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
@_labeler
@triton_option
@repository_option
@_model
@_timeout
@_most_latency
@yes_option
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
    most_latency: float,
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
        checks = None if no_verify else _Checks(labeler, triton, timeout, most_latency)
        added = asyncio.run(_add(place, repository, model, number, hold=hold, checks=checks))
        if load:
            asyncio.run(_load(triton, added))
    except FaultError as fault:
        print_fault(fault, as_json=as_json)
        raise SystemExit(NOT_TO_BE_SERVED) from fault
    print_added(added, is_loaded=load, as_json=as_json)


def _candidate(what: str, repository: Path) -> Candidate:
    """The files that a path names, or a version of the repository."""
    from dehusk.inference.repository import find_model
    from dehusk.streams.models.candidate import find_candidate

    if Path(what).exists() or Path(what).is_symlink() or what.count("/") != 1:
        return find_candidate(Path(what))
    try:
        model, version = split_name(what)
    except ConfigurationError as error:
        raise ConfigurationError(f"there is no file or directory {printable(what)}, and {error}") from error
    _, file = find_model(repository, model, version)
    return find_candidate(file.parent)


async def _check(candidate: Candidate, repository: Path, model: str, checks: _Checks) -> Report:
    from dehusk.streams.models.checking import check_in_process, check_on_triton
    from dehusk.streams.models.server import ModelServer

    most = checks.most_latency
    if checks.labeler == "onnx":
        return await check_in_process(candidate, repository, model, seconds=checks.seconds, most_latency=most)
    async with ModelServer(checks.triton, checks.seconds) as server:
        try:
            return await check_on_triton(candidate, server, model, most_latency=most)
        except UnavailableError as error:
            raise UnavailableError(f"{error}; --labeler onnx checks without a Triton") from error


async def _add(
    place: Path,
    repository: Path,
    model: str,
    version: str,
    *,
    hold: bool,
    checks: _Checks | None,
) -> Path:
    """The directory of the new version."""
    from dehusk.streams.models.adding import add_version
    from dehusk.streams.models.candidate import find_candidate

    async def verify(copied: Candidate) -> None:
        if checks:
            await _check(copied, repository, model, checks)

    candidate = find_candidate(place)
    for name in candidate.left_out:
        click.echo(f"dehusk: {printable(name)} is no part of a version and not copied", err=True)
    return await add_version(candidate, repository, model, version, verify, hold=hold)


async def _load(triton: str, added: Path) -> None:
    from dehusk.streams.models.adding import load_added
    from dehusk.streams.models.server import ModelServer

    async with ModelServer(triton) as server:
        await load_added(server, added)
