"""Versions that a roll-out has left, which one worker has Triton unload."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Change, Claim, Part, Rollout, Scope
from dehusk.schemas.trials import WorkerReport
from dehusk.streams.models.serving import Moved
from dehusk.streams.models.store import Guard
from dehusk.streams.rollout.control import ControlKey
from dehusk.streams.rollout.transitions import first_state, promote, roll_back, with_canary, without_version
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.rollout.steering import RETRY_SECONDS, StateReader
from dehusk.streams.worker.rollout.unloading import QUIET_SECONDS, Unloading

SCOPE, OTHER = Scope("m", "group"), Scope("m", "other")
CANARY = with_canary(promote(first_state("7", "me"), "7", "me"), Part("8", 0.1), "me")
ENDED = roll_back(CANARY, "me", "bad")
LATER = QUIET_SECONDS + 1


class Group:
    """Two workers that follow a canary, and what Triton is told by each."""

    def __init__(self) -> None:
        self.reader = StateReader(KafkaSettings(), "control", SCOPE)
        self.told: list[tuple[set[str], Moved]] = []
        self.refusal: Exception | None = None
        self.meanwhile: Callable[[], None] = bool
        """Events while Triton is asked what it serves."""
        self.change(CANARY)
        self.first, self.second = (Unloading(self.reader, name, self.unload) for name in ("a", "b"))

    def tell(self, key: ControlKey, value: bytes) -> None:
        self.reader.following._handle(Message(key.encode(), value), int(1000 * time.time()))

    def change(self, state: Rollout, *followers: str) -> None:
        self.tell(ControlKey(SCOPE), state.encode())
        for name in followers or ("a", "b"):
            report = WorkerReport(name, state.revision, state.serving, state.canary and state.canary.version)
            self.tell(ControlKey(SCOPE, name), report.encode())

    async def unload(self, gone: set[str], moved: Moved, guard: Guard) -> None:
        self.meanwhile()
        guard()
        self.told.append((gone, moved))
        if self.refusal is not None:
            raise self.refusal

    async def look(self, *times: float) -> None:
        for each in times:
            await self.first.look(each)
            await self.second.look(each)


@pytest.fixture
def group() -> Group:
    return Group()


async def test_what_is_left_is_unloaded_once_by_the_first_worker_after_a_while(group: Group) -> None:
    await group.look(0, 2 * LATER)
    group.change(ENDED)
    await group.look(3 * LATER, 3 * LATER + 1)
    assert group.told == []
    await group.look(4 * LATER, 5 * LATER)
    assert group.told == [({"8"}, Moved("7", "7"))]


async def test_each_promotion_has_the_version_unloaded_that_nothing_goes_back_to(group: Group) -> None:
    state = CANARY
    for turn, version in enumerate(("8", "9", "10")):
        state = promote(state, version, "me")
        group.change(state)
        await group.look(2 * turn * LATER, (2 * turn + 1) * LATER)
    assert [gone for gone, _ in group.told] == [set(), {"7"}, {"8"}]


async def test_nothing_is_unloaded_before_all_workers_follow(group: Group) -> None:
    group.change(ENDED, "a")
    await group.look(0, LATER, 2 * LATER)
    assert group.told == []
    group.change(ENDED)
    await group.look(3 * LATER, 4 * LATER)
    assert len(group.told) == 1


async def test_the_trusted_version_moves_with_the_one_that_serves(group: Group) -> None:
    promoted = promote(CANARY, "8", "me")
    group.change(promoted)
    await group.look(0, LATER)
    group.change(roll_back(promoted, "me", "bad"))
    await group.look(2 * LATER, 3 * LATER)
    assert group.told == [(set(), Moved("7", "8")), ({"8"}, Moved("8", "7"))]


async def test_triton_is_told_again_of_what_was_taken_back_as_a_restart_loads_it(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    back = without_version(CANARY, "8", "a", "slow")
    assert back is not None
    group.tell(ControlKey(SCOPE, change="one"), back.encode())
    group.change(back)
    await group.look(0, LATER, LATER + 1)
    assert group.told == [({"8"}, Moved("7", "7"))]
    group.refusal = UnavailableError("away")
    await group.look(LATER + RETRY_SECONDS)
    assert (len(group.told), "away" in caplog.text) == (2, False)
    group.refusal = None
    await group.look(LATER + 2 * RETRY_SECONDS)
    assert group.told == [({"8"}, Moved("7", "7"))] * 3
    group.change(with_canary(back, Part("8", 0.1), "me"))
    await group.look(9 * LATER, 19 * LATER)
    assert len(group.told) == 3


async def test_what_another_group_needs_stays(group: Group) -> None:
    group.tell(ControlKey(OTHER), CANARY.encode())
    group.change(ENDED)
    await group.look(0, LATER)
    assert group.told == [(set(), Moved("7", "7"))]


async def test_while_a_command_has_versions_served_nothing_is_unloaded(group: Group) -> None:
    now = datetime.now(UTC)
    claim = Claim(Change(now, "ada", "version 9"), now + timedelta(hours=1))
    group.tell(ControlKey(OTHER, claim="one"), claim.encode())
    group.change(ENDED)
    await group.look(0, LATER)
    assert group.told == []


@pytest.mark.parametrize("change", ["claim", "state"])
async def test_nothing_is_unloaded_if_a_command_comes_meanwhile(group: Group, change: str) -> None:
    now = datetime.now(UTC)
    claim = Claim(Change(now, "ada", "version 9"), now + timedelta(hours=1))

    def come() -> None:
        if change == "claim":
            group.tell(ControlKey(OTHER, claim="one"), claim.encode())
        else:
            group.change(promote(ENDED, "9", "ada"))

    group.meanwhile = come
    group.change(ENDED)
    await group.look(0, LATER)
    assert group.told == []


async def test_a_triton_that_does_not_answer_is_asked_again_and_one_that_refuses_is_not(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    group.refusal = UnavailableError("away")
    group.change(ENDED)
    await group.look(0, LATER, LATER + 1)
    assert (len(group.told), "does not unload what the roll-out has left: away" in caplog.text) == (1, True)
    group.refusal = ConfigurationError("no")
    await group.look(LATER + RETRY_SECONDS + 1, 9 * LATER)
    assert (len(group.told), "refuses to unload what the roll-out has left: no" in caplog.text) == (2, True)
    assert "was told to unload" not in caplog.text
