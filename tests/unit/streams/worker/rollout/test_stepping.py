"""Steps that workers take."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from dehusk.schemas.errors import ConflictError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import GIVE_UP_SECONDS, Rollout, Scope
from dehusk.schemas.trials import CANARY, Comparison, WorkerReport
from dehusk.streams.rollout.control import ControlKey, state_record
from dehusk.streams.rollout.transitions import first_state, promote, with_steps
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.worker.rollout import stepping as module
from dehusk.streams.worker.rollout.steering import StateReader
from dehusk.streams.worker.rollout.stepping import Stepping

SCOPE = Scope("m", "group")
STEPPED = with_steps(promote(first_state("7", "me"), "7", "me"), "8", (0.1, 0.5), 600.0, "me")
DUE = datetime.now(UTC) + timedelta(seconds=660)
COMPARED = {CANARY: Comparison(pages=100, slowdowns={0: 100})}


class Group:
    """Two workers that label by the state."""

    def __init__(self) -> None:
        self.reader = StateReader(KafkaSettings(), "control", SCOPE)
        self.written: list[Rollout] = []
        self.refusal: Exception | None = None
        for name in ("a", "b"):
            self.tell(ControlKey(SCOPE, name), WorkerReport(name, 2, "7", "8", trials=COMPARED).encode())
        self.tell(ControlKey(SCOPE), STEPPED.encode())
        self.paused: list[Rollout] = []
        self.first, self.second = (
            Stepping(self.reader, self.change, name, self.paused.append) for name in ("a", "b")
        )

    def tell(self, key: ControlKey, value: bytes) -> None:
        self.reader.following._handle(Message(key.encode(), value), int(1000 * time.time()))

    async def change(self, scope: Scope, state: Rollout) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.written.append(state)
        self.tell(ControlKey(scope), state_record(scope, state).value or b"")


@pytest.fixture
def group() -> Group:
    return Group()


async def test_the_first_worker_takes_the_step_and_the_second_one_sees_it(group: Group) -> None:
    await group.second.take_due(DUE)
    assert group.written == []
    await group.first.take_due(DUE)
    await group.second.take_due(DUE)
    assert [(each.canary and each.canary.share, each.change.by) for each in group.written] == [(0.5, "a")]
    assert group.paused == []


async def test_another_worker_takes_the_step_if_the_first_one_does_not(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    await group.second.take_due(DUE)
    monkeypatch.setattr(module, "TURN_SECONDS", 0.0)
    await group.second.take_due(DUE)
    assert [each.change.by for each in group.written] == ["b"]


async def test_no_step_is_taken_before_it_is_due(group: Group) -> None:
    await group.first.take_due(DUE - timedelta(seconds=600))
    assert group.written == []


async def test_steps_that_wait_for_too_long_are_paused_once_and_this_is_told(group: Group) -> None:
    group.tell(ControlKey(SCOPE, "b"), WorkerReport("b", 1, "7").encode())
    for late in (0, GIVE_UP_SECONDS, 2 * GIVE_UP_SECONDS):
        await group.first.take_due(DUE + timedelta(seconds=late))
    (paused,) = group.written
    assert group.paused == [paused]
    assert "stalled: " in paused.change.reason
    assert "waits for b to label by it" in paused.change.reason


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (ConflictError("changed"), "no step is taken: changed"),
        (UnavailableError("away"), "can be taken: away"),
    ],
)
async def test_a_step_that_cannot_be_written_is_logged_and_tried_again(
    group: Group, caplog: pytest.LogCaptureFixture, refusal: Exception, said: str
) -> None:
    caplog.set_level("INFO")
    group.refusal = refusal
    await group.first.take_due(DUE)
    assert said in caplog.text
    group.refusal = None
    await group.first.take_due(DUE)
    assert len(group.written) == 1
