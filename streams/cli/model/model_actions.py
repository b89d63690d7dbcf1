"""Actions of `dehusk model` on the model repository, Triton and roll-outs.

The commands load them when they run: their help needs no client of Triton or Kafka.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from dehusk.inference.labelers.repository import CONFIG_FILE, find_model
from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.rollout import Change, Scope
from dehusk.streams.cli.model.options import NOT_TO_BE_SERVED, Checks, Sources
from dehusk.streams.cli.model.rollout_actions import SERVE_SECONDS, user_name
from dehusk.streams.cli.model.rollout_views import print_stale, repair_command
from dehusk.streams.cli.model.version_views import (
    print_added,
    print_fault,
    print_removed,
    print_repair,
    print_repaired,
    print_report,
    print_shown,
    print_versions,
)
from dehusk.streams.cli.shared.terminal import ask, warn
from dehusk.streams.models.candidate import Candidate, find_candidate
from dehusk.streams.models.lifecycle import (
    Added,
    Removal,
    add_version,
    check_removable,
    load_added,
    remove_version,
)
from dehusk.streams.models.names import Fault, FaultError, check_model, check_version, split_name
from dehusk.streams.models.overview import (
    KnownVersion,
    OnTriton,
    StoredVersion,
    match_versions,
    read_versions,
    stored_versions,
    was_removed,
)
from dehusk.streams.models.repair import Needs, Repair, plan_repair
from dehusk.streams.models.server import ModelServer, Statistics
from dehusk.streams.models.serving import set_policy, stale_versions
from dehusk.streams.models.store import Guard, next_version, unguarded
from dehusk.streams.models.verification import (
    Report,
    check_answers,
    check_in_process,
    check_on_triton,
)
from dehusk.streams.rollout.claims import claimed
from dehusk.streams.rollout.situation import (
    check_unused,
    pinned_versions,
    read_existing,
    read_situation,
    roles,
    taken_back_versions,
)
from dehusk.streams.settings import TopicSettings
from dehusk.streams.wording import printable


def list_versions(sources: Sources, *, as_json: bool) -> bool:
    """Print the versions on disk and on Triton, and return True if one of them cannot be loaded or read.

    Raises:
        UnavailableError: Triton does not answer, or there is no repository; the other one was printed.
    """
    found = _find_versions(sources)
    roles_by_name, stale = None, {}
    if sources.control is not None:
        control = asyncio.run(read_existing(sources.control))
        roles_by_name = roles(control)
        stale = {
            model: stale_versions(sources.repository, model, taken_back_versions(control, model))
            for model in dict.fromkeys(version.model for version in found.versions)
        }
    print_versions(
        found.versions,
        found.missing,
        roles_by_name,
        stale=stale,
        is_triton_known=found.is_triton_known,
        as_json=as_json,
    )
    if sources.control is not None:
        for model, named in stale.items():
            print_stale(sources.repository, model, named, repair_command(model, sources.control.name))
    if found.missing:
        listed = (
            "Triton's" if found.is_triton_known else "the repository's (--without-triton lists them alone)"
        )
        raise UnavailableError(f"{'; '.join(found.missing)}; these are {listed}")
    return any(version.has_failed for version in found.versions)


def show_version(name: str, sources: Sources, group: str, *, trials: int, as_json: bool) -> None:
    """Print what is known of a version, or of the default one of a model, and of its last trials.

    Raises:
        ConfigurationError: there is no such version.
        UnavailableError: Triton does not answer, or there is no repository; the rest was printed.
    """
    model, version = split_name(name)
    found = _find_versions(sources, model)
    try:
        known = _pick_version(model, version, found.versions)
    except ConfigurationError as error:
        raise ConfigurationError("; ".join((str(error), *found.missing))) from error
    statistics = asyncio.run(_read_statistics(sources.triton, known)) if known.state == "READY" else None
    situation = None
    if sources.control is not None:
        situation = asyncio.run(read_situation(sources.control, Scope(model, group)))
        ended = [each for each in situation.ended if each.version == known.version]
        situation = replace(situation, ended=ended[: -trials - 1 : -1])
    directory = sources.repository / model / known.version
    print_shown(
        known,
        statistics,
        directory,
        situation,
        found.missing,
        is_triton_known=found.is_triton_known,
        as_json=as_json,
    )
    if found.missing:
        shown = "Triton" if found.is_triton_known else "the repository (--without-triton asks it alone)"
        raise UnavailableError(f"{'; '.join(found.missing)}; this is what {shown} has")


class _Found(NamedTuple):
    """Versions on disk and on Triton."""

    versions: list[KnownVersion]
    is_triton_known: bool
    missing: list[str]
    """Reason why one of the places could not be read."""


def _find_versions(sources: Sources, model: str = "") -> _Found:
    """Return the versions on disk, of one model if it is named, and on Triton.

    Triton's index goes on naming versions that were removed; these are left out.

    Raises:
        UnavailableError: neither can be read.
    """
    missing: list[str] = []
    triton = None if sources.without_triton else asyncio.run(_read_triton(sources.triton, missing))
    stored = _read_stored(sources.repository, missing, model)
    if stored is None and triton is None:
        raise UnavailableError("; ".join(missing))
    matched = match_versions(stored or [], triton)
    versions = [known for known in matched if not was_removed(known, sources.repository)]
    return _Found(versions, triton is not None, missing)


async def _read_triton(address: str, missing: list[str]) -> OnTriton | None:
    """Return what Triton knows; None where it cannot be reached, which is added to what is missing."""
    async with ModelServer(address) as server:
        try:
            return await read_versions(server)
        except UnavailableError as error:
            missing.append(str(error))
            return None


async def _read_statistics(triton: str, known: KnownVersion) -> Statistics:
    async with ModelServer(triton) as server:
        return await server.statistics_of(known.model, known.version)


def _read_stored(repository: Path, missing: list[str], model: str) -> list[StoredVersion] | None:
    """Return what is on disk; None where there is no repository, which is added to what is missing."""
    if not repository.is_dir():
        missing.append(f"there is no model repository {repository}")
        return None
    return stored_versions(repository, model)


def _pick_version(model: str, version: str, known_versions: list[KnownVersion]) -> KnownVersion:
    versions = [known for known in known_versions if known.model == model]
    matching = [known for known in versions if (known.version == version if version else known.is_default)]
    if not matching and not version:
        matching = versions[-1:]
    if not versions:
        raise ConfigurationError(f"there is no model {model!r}")
    if not matching:
        names = ", ".join(known.version for known in versions)
        raise ConfigurationError(f"there is no version {version} of model {model!r}; versions: {names}")
    return matching[0]


@contextmanager
def _exit_on_fault(*, as_json: bool) -> Iterator[None]:
    """Print why a version is not to be served, and exit with the status that says so."""
    try:
        yield
    except FaultError as fault:
        print_fault(fault, as_json=as_json)
        raise SystemExit(NOT_TO_BE_SERVED) from fault


def verify_version(what: str, checks: Checks, *, as_json: bool) -> None:
    """Check the version that a path or a name stands for, and print the report."""
    with _exit_on_fault(as_json=as_json):
        candidate = _candidate(what, checks.repository)
        check_model(checks.model)
        report = asyncio.run(_check(candidate, checks))
    print_report(report, as_json=as_json)


def _candidate(what: str, repository: Path) -> Candidate:
    """Return the files that a path names, or those of a version of the repository."""
    try:
        is_path = Path(what).exists() or Path(what).is_symlink() or what.count("/") > 1
    except OSError as error:  # its name is too long, or a folder may not be entered
        raise ConfigurationError(f"cannot read {printable(what)}: {error.strerror}") from error
    if is_path:
        return find_candidate(Path(what))
    try:
        _, file = find_model(repository, *split_name(what))
    except ConfigurationError as error:
        why = "a version is named MODEL/VERSION" if what.startswith("/") else error
        raise ConfigurationError(f"there is no file or directory {printable(what)}, and {why}") from error
    return find_candidate(file.parent)


async def _check(candidate: Candidate, checks: Checks) -> Report:
    model, most = checks.model, checks.most_latency
    if checks.labeler == "onnx":
        return await check_in_process(
            candidate, checks.repository, model, seconds=checks.timeout, max_latency=most
        )
    async with ModelServer(checks.triton, checks.timeout, "--timeout") as server:
        try:
            return await check_on_triton(candidate, server, model, max_latency=most)
        except UnavailableError as error:
            raise UnavailableError(f"{error}; --labeler onnx checks without a Triton") from error


def add(
    place: Path,
    version: str | None,
    checks: Checks,
    *,
    hold: bool,
    load: bool,
    is_verified: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Add a version to the repository, and print how it is served next."""
    repository, model = checks.repository, checks.model
    check_model(model)
    number = check_version(version) if version else next_version(model, repository)
    if not is_verified:
        ask(f"Add {model}/{number} to {repository} unchecked?", "nothing is added", yes=yes)
    click.echo(f"adding {place} as {model}/{number} to {repository}", err=True)
    with _exit_on_fault(as_json=as_json):
        added = asyncio.run(_add(place, number, checks, hold=hold or load, is_verified=is_verified))
        if load:
            asyncio.run(_load(checks.triton, added))
    in_process = checks.labeler == "onnx"
    print_added(added.directory, is_loaded=load, without_triton=in_process, as_json=as_json)


async def _add(place: Path, version: str, checks: Checks, *, hold: bool, is_verified: bool) -> Added:
    """Add a version."""

    async def verify(copied: Candidate) -> None:
        await _check(copied, checks)

    candidate = find_candidate(place)
    for name in candidate.left_out:
        warn(f"{printable(name)} is no part of a version and not copied")
    config, of_model = candidate.config, checks.repository / checks.model / CONFIG_FILE
    if config and config.parent == candidate.model.parent and of_model.exists():
        warn(f"{config} is not copied: {of_model} holds for all versions")
    try:
        return await add_version(
            candidate, checks.repository, checks.model, version, verify if is_verified else None, hold=hold
        )
    except FaultError as fault:
        if fault.fault is not Fault.WRONG_CONFIG or candidate.of_model in {"", checks.model}:
            raise
        hint = f"{printable(str(place))} is of another model: is --model {candidate.of_model} meant?"
        raise FaultError(fault.fault, f"{fault.message}; {hint}") from fault


async def _load(triton: str, added: Added) -> None:
    async with ModelServer(triton) as server:
        await load_added(server, added)


def remove(sources: Sources, name: str, *, yes: bool, as_json: bool) -> None:
    """Delete a version from the repository, and print its name."""
    model, version = split_name(name)
    if not version:
        raise click.UsageError("name the version, as MODEL/VERSION")
    asyncio.run(_remove(sources, model, version, yes=yes))
    print_removed(name, as_json=as_json)


async def _remove(sources: Sources, model: str, version: str, *, yes: bool) -> None:
    """Ask, and remove a version.

    With a control topic, roll-outs are asked again while no other command has versions served.
    """
    scope = Scope(model, TopicSettings().group)
    needed, revision = await _needed(sources, scope, version)
    removal = Removal(sources.repository, model, version, needed)
    async with AsyncExitStack() as stack:
        is_asked = not sources.without_triton
        server = await stack.enter_async_context(ModelServer(sources.triton)) if is_asked else None
        await check_removable(removal, server)
        is_served = server is not None and version in await server.ready(model)
        served = ", which Triton serves to those that name it" if is_served else ""
        unasked = "" if sources.control else ", whether or not a roll-out needs it (--control-topic)"
        ask(f"Delete {removal.directory}{served}{unasked}?", "nothing is deleted", yes=yes)
        guard = await stack.enter_async_context(_guarded(sources, scope, revision, f"removal of {removal}"))
        needed, _ = await _needed(sources, scope, version)
        await remove_version(replace(removal, needed=needed), server, guard)


@asynccontextmanager
async def _guarded(sources: Sources, scope: Scope, revision: int, reason: str) -> AsyncIterator[Guard]:
    """With a control topic, claim the versions of a model that are served; raises what `claimed` does."""
    if sources.control is None:
        yield unguarded
        return
    change = Change(datetime.now(UTC), user_name(), reason)
    async with claimed(sources.control, scope, revision, change, SERVE_SECONDS) as claim:
        yield claim.check


def repair(sources: Sources, name: str, group: str, *, yes: bool, as_json: bool) -> None:
    """Repair the policy of a model, and print what it names."""
    scope = Scope(check_model(name), group)
    print_repaired(asyncio.run(_repair(sources, scope, yes=yes)), as_json=as_json)


async def _repair(sources: Sources, scope: Scope, *, yes: bool) -> Repair:
    """Plan a repair, ask, and do it.

    With a control topic, it is planned again and done while no other command has versions served. While
    somebody is asked, nothing is claimed, as a claim has to be renewed meanwhile.
    """
    async with AsyncExitStack() as stack:
        server = None
        if not sources.without_triton:
            server = await stack.enter_async_context(ModelServer(sources.triton))
        planned, revision = await _plan_repair(sources, scope, server)
        if not planned.is_needed:
            return planned
        print_repair(sources.repository / scope.model / CONFIG_FILE, planned)
        ask("Repair it?", "nothing was changed", yes=yes)
        guard = await stack.enter_async_context(_guarded(sources, scope, revision, "repair of the policy"))
        if sources.control is not None:
            again, _ = await _plan_repair(sources, scope, server)
            if (again.kept, again.trusted) != (planned.kept, planned.trusted):
                raise ConflictError(f"what {scope.model} needs was changed meanwhile; try again")
        kept, trusted = planned.kept, planned.trusted
        await set_policy(server, sources.repository, scope.model, kept, trusted, guard=guard)
    return planned


async def _plan_repair(sources: Sources, scope: Scope, server: ModelServer | None) -> tuple[Repair, int]:
    """Return a repair by the disk, Triton and the control topic, and the revision of the state there."""
    needs, revision, model = Needs(), 0, scope.model
    if sources.control is not None:
        control = await read_existing(sources.control)
        state = control.states.get(scope)
        servings = frozenset(each.serving for key, each in control.states.items() if key.model == model)
        serving, revision = (state.serving, state.revision) if state else ("", 0)
        needs = Needs(frozenset(pinned_versions(control, model)), serving, servings)
    check = partial(check_answers, server=server)
    return await plan_repair(sources.repository, model, needs, server, check), revision


async def _needed(sources: Sources, scope: Scope, version: str) -> tuple[frozenset[str], int]:
    """Return the versions that roll-outs need, if the one to remove is none, and the revision of a state.

    Without a control topic, that is none.
    """
    if sources.control is None:
        return frozenset(), 0
    control = await read_existing(sources.control)
    check_unused(control, scope.model, version)
    state = control.states.get(scope)
    return frozenset(pinned_versions(control, scope.model)), state.revision if state else 0
