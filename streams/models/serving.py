"""The versions of a model that Triton serves: loaded first, and named by its `config.pbtxt` once they serve.

A Triton that starts serves what the file names, and starts with none of its models if it cannot load that. So
the file names versions that this Triton has loaded and verified, and no others: what comes new is verified
under another name, then loaded with a configuration that is given to the load, and named last. The file
persists; it survives restarts of Triton, loads by other clients, and added versions.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dehusk.inference.labelers.repository import CONFIG_FILE, served, trusted, versions
from dehusk.inference.labelers.signature import TRUSTED_KEY
from dehusk.inference.labelers.version_policy import named_trusted, names_versions, with_versions
from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.schemas.rollout import Rollout
from dehusk.streams.models.candidate import find_candidate, read_text
from dehusk.streams.models.model_config import as_override, read_config
from dehusk.streams.models.names import FaultError
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.store import Guard, staging, unguarded, write_config
from dehusk.streams.models.verification import check_answers


async def serve(
    server: ModelServer,
    repository: Path,
    model: str,
    wanted: Sequence[str],
    trusted_one: str = "",
    *,
    beside: Collection[str] = (),
    guard: Guard = unguarded,
) -> None:
    """Have Triton serve exactly these versions, and the policy name them; others answer meanwhile.

    With `trusted_one`, the configuration names that as the trusted version. Of the versions `beside`, Triton
    serves on what it serves, and the policy names none. After a failure, the file is as it was, and Triton
    serves what it served, if the guard lets it be told.

    Raises:
        ConfigurationError: the repository holds no such version, or Triton cannot serve one; a `FaultError`
            among them.
        UnavailableError: Triton does not answer.
    """
    check_stored(repository, model, wanted)
    config = repository / model / CONFIG_FILE
    before = read_text(config)
    after = with_versions(before, wanted, trusted_one)
    if after != before and not await reads(server, repository):
        raise UnavailableError(f"Triton at {server.address} does not read {repository}: name its repository")
    ready = await server.ready(model)
    for version in wanted:
        if version not in ready:
            await _check_stored_version(server, repository / model / version)
    loaded = [*wanted, *(each for each in ready if each in beside and each not in wanted)]
    guard()
    try:
        await server.load(model, as_override(read_config(with_versions(after, loaded))))
        await _check_served(server, model, loaded)
        if after != before:
            write_config(config.parent, after, guard)
    except BaseException:
        await _serve_again(server, model, before, ready, guard)
        raise


async def set_policy(
    server: ModelServer | None,
    repository: Path,
    model: str,
    wanted: Sequence[str],
    trusted_one: str = "",
    *,
    guard: Guard = unguarded,
) -> None:
    """Have the policy name exactly these versions and Triton, if there is one, serve them as by `serve`."""
    if server is not None:
        await serve(server, repository, model, wanted, trusted_one, guard=guard)
        return
    directory = repository / model
    write_config(directory, with_versions(read_text(directory / CONFIG_FILE), wanted, trusted_one), guard)


async def reads(server: ModelServer, repository: Path) -> bool:
    """Return True if a Triton reads a repository: it lists a folder that is made there for a moment.

    Raises:
        ConfigurationError: the repository cannot be written.
        UnavailableError: Triton does not answer.
    """
    with staging(repository) as place:
        return place.name in {each.model for each in await server.index()}


async def _check_stored_version(server: ModelServer, version: Path) -> None:
    """Check the answers of a version on disk, which Triton loads from memory as it would be served."""
    try:
        candidate = await asyncio.to_thread(find_candidate, version)
        await check_answers(replace(candidate, config=version.parent / CONFIG_FILE), server)
    except FaultError as error:
        raise FaultError(error.fault, f"{version}: {error.message}") from error


async def _serve_again(
    server: ModelServer, model: str, config: str, ready: Sequence[str], guard: Guard
) -> None:
    """Have Triton serve what it served; a failure hides no earlier error."""
    with suppress(DehuskError):
        if ready and set(await server.ready(model)) != set(ready):
            guard()
            await server.load(model, as_override(read_config(with_versions(config, ready))))


class Moved(NamedTuple):
    """Versions that serve in a group before and after a change, with which the trusted version moves."""

    before: str
    after: str


def withdraw(
    repository: Path, model: str, gone: Collection[str], moved: Moved, guard: Guard = unguarded
) -> None:
    """Take versions out of a policy that names them, and move its trusted version, also if it is one of them.

    Nothing is changed where the policy names no others.

    Raises:
        ConfigurationError: the configuration cannot be read or written.
    """
    config = repository / model / CONFIG_FILE
    text = read_text(config)
    left = [version for version in served(repository, model) if version not in gone]
    if not names_versions(text) or not left:
        return
    is_moved = named_trusted(text) in {moved.before, *gone} and moved.after in left
    changed = with_versions(text, left, moved.after if is_moved else "")
    if changed != text:
        write_config(config.parent, changed, guard)


async def unload(
    server: ModelServer,
    model: str,
    gone: Collection[str],
    moved: Moved,
    *,
    is_used: bool = False,
    guard: Guard = unguarded,
) -> None:
    """Have Triton unload versions, and move its trusted version, also if it is one of them.

    With `is_used`, workers label with them as yet, and they stay. Nothing is changed on disk, nor where
    Triton names no trusted version, as nobody has rolled out a version of its repository, or would have none
    left.

    Raises:
        ConfigurationError: Triton refuses.
        UnavailableError: Triton does not answer, or somebody else has it serve other versions meanwhile.
    """
    ready = await server.ready(model)
    left = [version for version in ready if is_used or version not in gone]
    config = await server.config(model) if ready else None
    if config is None or not left or TRUSTED_KEY not in config.parameters:
        return
    named = config.parameters[TRUSTED_KEY]
    is_moved = named.string_value in {moved.before, *gone} - {moved.after} and moved.after in left
    if is_moved:
        named.string_value = moved.after
    elif left == ready:
        return
    config.version_policy.Clear()
    config.version_policy.specific.versions.extend(map(int, left))
    guard()
    await server.load(model, as_override(config))
    await _check_served(server, model, left)


def stale_versions(repository: Path, model: str, taken_back: Collection[str]) -> list[str]:
    """Return the versions that a policy names although they were taken back; none where it is elsewhere.

    Raises:
        ConfigurationError: the configuration cannot be read.
    """
    config = repository / model / CONFIG_FILE
    if not taken_back or not config.exists() or not names_versions(read_text(config)):
        return []
    return [version for version in served(repository, model) if version in taken_back]


def check_stored(repository: Path, model: str, wanted: Sequence[str]) -> None:
    """Check that a repository holds some versions of a model.

    Raises:
        ConfigurationError: it does not, or there are none.
    """
    known = versions(repository, model)
    missing = [version for version in wanted if version not in known]
    if missing or not wanted:
        raise ConfigurationError(
            f"{repository} holds no version {', '.join(missing) or 'that is named'} of model {model!r}; "
            f"versions there: {', '.join(known) or 'none'}"
        )


async def _check_served(server: ModelServer, model: str, wanted: Sequence[str]) -> None:
    ready = await server.ready(model)
    if set(ready) != set(wanted):
        raise UnavailableError(
            f"Triton at {server.address} serves version {', '.join(ready) or 'none'} of model {model!r}, "
            f"not {', '.join(wanted)}"
        )


async def to_serve(
    server: ModelServer,
    repository: Path,
    model: str,
    state: Rollout,
    taken_back: Collection[str] = frozenset(),
) -> list[str]:
    """Return the versions to serve from a repository, oldest first; none if Triton and its policy have them.

    Versions served now stay, but for those that were taken back; the state's previous version is included
    while it is on disk. A repository that lacks versions that Triton serves is not the one that Triton reads.

    Raises:
        ConfigurationError: Triton does not serve all that is named, and the repository does not hold it.
        UnavailableError: Triton does not answer.
    """
    stored, ready = versions(repository, model), await ready_versions(server, model)
    kept = {*state.kept, *(version for version in ready if version not in taken_back)}
    wanted = [version for version in stored if version in kept]
    if {*state.versions, *ready} <= set(stored):
        by_policy, is_trusted = served(repository, model), await server.trusted(model, ready)
        is_named = by_policy == wanted and trusted(repository, model) == is_trusted
        is_done = is_named and set(wanted) <= set(ready) and is_trusted not in taken_back
        is_served = set(state.versions) <= set(ready)
        return [] if is_done or (is_served and not await reads(server, repository)) else wanted
    if missing := [version for version in state.versions if version not in ready]:
        raise ConfigurationError(
            f"Triton at {server.address} serves version {', '.join(ready) or 'none'} of model {model!r}, and "
            f"not {', '.join(missing)}, and {repository} does not hold all of them: put it there with "
            "`dehusk model add`, or name the repository that this Triton serves with --model-repository"
        )
    return []


async def ready_versions(server: ModelServer, model: str) -> list[str]:
    """Return the versions that Triton serves, oldest first.

    Raises:
        UnavailableError: it does not answer; the message says what to do where there is none.
    """
    try:
        return await server.ready(model)
    except UnavailableError as error:
        raise UnavailableError(
            f"{error}; name it with --triton, or give --without-triton for workers with --labeler onnx"
        ) from error
