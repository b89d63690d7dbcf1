"""Repair of a policy: versions that do not serve, and those that nobody needs, are taken out of it."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

from dehusk.inference.labelers.repository import CONFIG_FILE, served, trusted, versions
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.candidate import Check, find_candidate, read_text
from dehusk.streams.models.names import FaultError
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import check_stored


@dataclass(frozen=True, slots=True)
class Needs:
    """Versions of a model that roll-outs need; none where no roll-out was asked, or there is none."""

    versions: frozenset[str] = frozenset()
    serving: str = ""
    """Version that serves in the group that was asked about; empty where it has no state."""
    servings: frozenset[str] = frozenset()
    """Versions that serve in any group."""


@dataclass(slots=True)
class Repair:
    """Versions that the policy of a model is to name, and those that go."""

    kept: list[str] = field(default_factory=list)
    trusted: str = ""
    taken_out: dict[str, str] = field(default_factory=dict)
    """Versions that the policy names, or Triton serves, and that go, each with the reason."""
    is_needed: bool = False
    """True if something is to be changed."""


async def plan_repair(
    repository: Path, model: str, needs: Needs, server: ModelServer | None, check: Check
) -> Repair:
    """Return how the policy of a model is to be repaired; without a server, by the disk alone.

    What the policy names, Triton serves or roll-outs need is kept if Triton serves it, or if it passes the
    check. If nothing does, the newest other version on disk that passes is kept. Where roll-outs need
    versions, no others are kept, but for the trusted one if the group has no state.

    Raises:
        ConfigurationError: there is no such model, or no version of it is to be served.
        UnavailableError: Triton does not answer.
    """
    stored = versions(repository, model)
    check_stored(repository, model, stored)
    by_policy, ready = served(repository, model), await server.ready(model) if server else []
    repair, known = Repair(), {*by_policy, *ready, *needs.versions}
    wanted = {*needs.versions, needs.serving or trusted(repository, model)} if needs.versions else known
    for version in (each for each in stored if each in known):
        if version not in wanted:
            repair.taken_out[version] = "no roll-out needs it"
        elif version in ready or await _passes(repository, model, version, check, repair):
            repair.kept.append(version)
    for version in reversed(stored if not repair.kept else []):
        if version not in repair.taken_out and await _passes(repository, model, version, check, repair):
            repair.kept = [version]
            break
    if not repair.kept:
        raise ConfigurationError(
            f"no version of {model!r} in {repository} is to be served: {repair.taken_out}"
        )
    before = trusted(repository, model)
    is_lost = before not in (needs.servings or repair.kept) or before not in repair.kept
    repair.trusted = (
        (needs.serving if needs.serving in repair.kept else repair.kept[-1]) if is_lost else before
    )
    text = read_text(repository / model / CONFIG_FILE)
    repair.is_needed = with_versions(text, repair.kept, repair.trusted) != text or (
        server is not None and (ready, await server.trusted(model, ready)) != (repair.kept, repair.trusted)
    )
    return repair


async def _passes(repository: Path, model: str, version: str, check: Check, repair: Repair) -> bool:
    try:
        candidate = await asyncio.to_thread(find_candidate, repository / model / version)
        await check(replace(candidate, config=repository / model / CONFIG_FILE))
    except FaultError as fault:
        repair.taken_out[version] = str(fault)
        return False
    return True
