"""Repair of a policy by the disk alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from dehusk.inference.labelers.repository import served, trusted
from dehusk.inference.labelers.version_policy import with_versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.candidate import Candidate
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.repair import Needs, plan_repair
from dehusk.streams.models.serving import set_policy
from tests.unit.streams.models import graphs

BROKEN = {"3", "9"}
After = tuple[list[str], str, dict[str, str]]
"""Versions that are kept, the trusted one, and those that are taken out."""
ROLLED_OUT = Needs(frozenset({"1", "2"}), "2", frozenset({"2"}))


async def check(candidate: Candidate) -> None:
    """Refuse the broken versions, with the configuration of the model."""
    assert candidate.config == candidate.model.parents[1] / "config.pbtxt"
    if candidate.model.parent.name in BROKEN:
        raise FaultError(Fault.NOT_LOADED, "it is broken")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository of good and broken versions, which serves the newest."""
    for version in ("1", "2", "3", "9"):
        graphs.write_version(tmp_path / "model" / version, b"")
    graphs.write_config(tmp_path / "model", "model")
    return tmp_path


def name(repository: Path, *versions: str, trusted_one: str = "") -> None:
    config = repository / "model" / "config.pbtxt"
    config.write_text(with_versions(config.read_text(), versions, trusted_one))


@pytest.mark.parametrize(
    ("named", "trusted_one", "needs", "after"),
    [
        (("1", "2", "3"), "1", Needs(), (["1", "2"], "1", {"3": "not-loaded"})),
        (("1", "2", "3"), "3", Needs(), (["1", "2"], "2", {"3": "not-loaded"})),
        (("3", "9"), "9", Needs(), (["2"], "2", {"3": "not-loaded", "9": "not-loaded"})),
        (("1", "2"), "1", Needs(frozenset({"1"}), "1"), (["1"], "1", {"2": "no roll-out"})),
        (("1",), "1", ROLLED_OUT, (["1", "2"], "2", {})),
        (("1",), "1", replace(ROLLED_OUT, servings=frozenset({"1", "2"})), (["1", "2"], "1", {})),
        (("1", "2", "3"), "3", ROLLED_OUT, (["1", "2"], "2", {"3": "no roll-out"})),
        (("1", "2"), "2", Needs(frozenset({"1"})), (["1", "2"], "2", {})),
    ],
)
async def test_what_does_not_serve_or_is_not_needed_goes_out_of_the_policy(
    repository: Path, named: tuple[str, ...], trusted_one: str, needs: Needs, after: After
) -> None:
    kept, trusted_after, taken_out = after
    name(repository, *named, trusted_one=trusted_one)
    repair = await plan_repair(repository, "model", needs, None, check)
    assert (repair.kept, repair.trusted) == (kept, trusted_after)
    assert {version: why[: len(taken_out[version])] for version, why in repair.taken_out.items()} == taken_out
    assert repair.is_needed == (([*named], trusted_one) != (kept, trusted_after))
    await set_policy(None, repository, "model", repair.kept, repair.trusted)
    assert (served(repository, "model"), trusted(repository, "model")) == (kept, trusted_after)
    assert not (await plan_repair(repository, "model", needs, None, check)).is_needed


async def test_a_policy_that_takes_a_broken_version_for_the_newest_is_repaired(repository: Path) -> None:
    repair = await plan_repair(repository, "model", Needs(), None, check)
    assert (repair.kept, [*repair.taken_out], repair.is_needed) == (["2"], ["9", "3"], True)


async def test_where_no_version_is_fit_nothing_is_repaired(repository: Path) -> None:
    async def refuse(_candidate: Candidate) -> None:
        raise FaultError(Fault.NOT_LOADED, "it is broken")

    with pytest.raises(ConfigurationError, match="no version of 'model'"):
        await plan_repair(repository, "model", Needs(), None, refuse)
