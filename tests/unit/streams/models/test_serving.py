"""Configurations of models, and the versions that a roll-out has to have served."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, served, trusted
from dehusk.inference.labelers.triton_client import ServedVersion
from dehusk.inference.labelers.version_policy import names_versions, with_versions
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.rollout import Part
from dehusk.streams.models.model_config import read_config
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import Moved, stale_versions, to_serve, withdraw
from dehusk.streams.rollout.transitions import first_state, promote, with_canary
from tests.unit.streams.models import graphs

SEVEN = first_state("7", "me")
CANARY = with_canary(SEVEN, Part("8", 0.1), "me")


class Server(ModelServer):
    """One that serves some versions."""

    def __init__(self, *served: str, reads: Path | None = None) -> None:
        super().__init__("triton:8001")
        self.served = served
        self.reads = reads

    async def ready(self, _model: str) -> list[str]:
        return [*self.served]

    async def index(self) -> list[ServedVersion]:
        """Return what is found in the repository that it reads."""
        found = self.reads.iterdir() if self.reads else ()
        return [ServedVersion(each.name, "", "", "") for each in found]

    async def trusted(self, _model: str, ready: Sequence[str]) -> str:
        return "".join(ready[-1:])


def repository(place: Path, *versions: str) -> Path:
    for version in versions:
        graphs.write_version(place / "m" / version, graphs.always(0.5))
    graphs.write_config(place / "m", "m")
    return place


def name(place: Path, *versions: str, trusted: str = "") -> None:
    """Have the configuration name the versions that are served."""
    config = place / "m" / "config.pbtxt"
    config.write_text(with_versions(config.read_text(), versions, trusted))


async def test_what_is_named_is_served_beside_what_is_served(tmp_path: Path) -> None:
    place = repository(tmp_path, "6", "7", "8", "9")
    assert await to_serve(Server("6", "7"), place, "m", CANARY) == ["6", "7", "8"]
    after = promote(SEVEN, "9", "me")
    assert await to_serve(Server("9", reads=place), place, "m", after) == ["7", "9"]
    name(place, "7", "9")
    assert await to_serve(Server("7", "9"), place, "m", after) == []


async def test_a_policy_that_does_not_name_what_triton_serves_is_to_be_written(tmp_path: Path) -> None:
    place = repository(tmp_path, "7", "8")
    assert await to_serve(Server("7", "8", reads=place), place, "m", CANARY) == ["7", "8"]
    assert await to_serve(Server("7", "8"), place, "m", CANARY) == []
    name(place, "7", "8", trusted="7")
    assert await to_serve(Server("7", "8", reads=place), place, "m", CANARY) == ["7", "8"]
    name(place, "7", "8", trusted="8")
    assert await to_serve(Server("7", "8"), place, "m", CANARY) == []


async def test_of_what_was_taken_back_nothing_stays_but_what_is_tried_again(tmp_path: Path) -> None:
    place, taken_back = repository(tmp_path, "6", "7", "8"), {"8"}
    name(place, "7", "8", trusted="8")
    back = promote(SEVEN, "6", "me")
    assert await to_serve(Server("7", "8", reads=place), place, "m", back, taken_back) == ["6", "7"]
    name(place, "6", "7", trusted="7")
    server = Server("6", "7", "8", reads=place)
    assert await to_serve(server, place, "m", back, taken_back) == ["6", "7"], "Triton trusts version 8"
    assert await to_serve(server, place, "m", CANARY, taken_back) == ["6", "7", "8"]


def test_a_policy_is_stale_that_names_what_was_taken_back(tmp_path: Path) -> None:
    place = repository(tmp_path, "7", "8")
    assert stale_versions(place, "m", {"8"}) == [], "the policy is that of the newest"
    name(place, "7", "8")
    assert stale_versions(place, "m", {"8", "9"}) == ["8"]
    assert stale_versions(place, "other", {"8"}) == []


async def test_the_version_before_is_left_out_where_it_is_gone(tmp_path: Path) -> None:
    after = promote(SEVEN, "9", "me")
    assert await to_serve(Server("8"), repository(tmp_path, "8", "9"), "m", after) == ["8", "9"]


async def test_where_the_repository_is_elsewhere_triton_is_asked(tmp_path: Path) -> None:
    place = repository(tmp_path, "7")
    assert await to_serve(Server("7", "8"), place, "m", CANARY) == []
    with pytest.raises(ConfigurationError, match="not 8"):
        await to_serve(Server("7"), place, "m", CANARY)


async def test_a_repository_without_what_is_served_is_not_the_one_that_triton_reads(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not hold all of them"):
        await to_serve(Server("6", "7"), repository(tmp_path, "7", "8"), "m", CANARY)


async def test_without_a_triton_the_way_without_is_named(tmp_path: Path) -> None:
    async with ModelServer("127.0.0.1:1") as server:
        with pytest.raises(UnavailableError, match="--without-triton"):
            await to_serve(server, repository(tmp_path, "7", "8"), "m", CANARY)


def policy(place: Path) -> tuple[list[str], str]:
    return served(place, "m"), trusted(place, "m")


@pytest.mark.parametrize(
    ("named", "trusted_one", "after"),
    [
        (("7", "8"), "8", (["7"], "7")),
        (("7", "8"), "7", (["7"], "7")),
        (("6", "7", "8"), "6", (["6", "7"], "6")),
        (("7", "8", "9"), "9", (["7"], "7")),
        (("8",), "8", (["8"], "8")),
        (("6", "8"), "8", (["6"], "6")),
    ],
)
def test_what_a_rollback_leaves_goes_out_of_the_policy(
    tmp_path: Path, named: tuple[str, ...], trusted_one: str, after: tuple[list[str], str]
) -> None:
    place = repository(tmp_path, "6", "7", "8", "9")
    name(place, *named, trusted=trusted_one)
    withdraw(place, "m", {"8", "9"}, Moved("8", "7"))
    assert policy(place) == after


def test_a_policy_that_names_no_versions_stays_as_it_is(tmp_path: Path) -> None:
    place = repository(tmp_path, "7", "8")
    before = (place / "m" / "config.pbtxt").read_text()
    withdraw(place, "m", {"8"}, Moved("8", "7"))
    assert (place / "m" / "config.pbtxt").read_text() == before


@pytest.mark.parametrize(
    "model", sorted(file.parent.name for file in DEFAULT_REPOSITORY.glob("*/config.pbtxt"))
)
def test_only_the_policy_of_a_configuration_is_changed(model: str) -> None:
    text = (DEFAULT_REPOSITORY / model / "config.pbtxt").read_text()
    config, changed = (read_config(each) for each in (text, with_versions(text, ["10", "9"])))
    assert list(changed.version_policy.specific.versions) == [9, 10]
    changed.version_policy.CopyFrom(config.version_policy)
    assert changed == config
    assert not names_versions(text)
    assert names_versions(with_versions(text, ["9"]))
