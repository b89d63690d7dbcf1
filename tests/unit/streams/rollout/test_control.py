"""Records of a control topic, and the right to change it."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from dataclasses import replace

import pytest

from dehusk.schemas.errors import ConflictError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Part, Rollout, Scope, WorkerReport
from dehusk.streams.kafka.producer import Outgoing, SendResult
from dehusk.streams.rollout import control as module
from dehusk.streams.rollout.control import (
    Control,
    ControlKey,
    ControlTopic,
    change_state,
    decode_key,
    state_record,
)
from dehusk.streams.rollout.transitions import first_state, promote, with_canary
from dehusk.streams.settings import KafkaSettings

SCOPE = Scope("dehusk", "news/de")
START = promote(first_state("7", "me"), "7", "me")
NEXT = with_canary(START, Part("8", 0.1), "me")
OTHER = with_canary(START, Part("9", 0.1), "somebody")


def message(key: bytes | None, value: bytes | None) -> Message:
    return Message(key, value, topic="control", offset=5)


def state(value: Rollout | None, scope: Scope = SCOPE) -> Message:
    return message(ControlKey(scope).encode(), None if value is None else value.encode())


@pytest.mark.parametrize(
    "key", [ControlKey(SCOPE), ControlKey(SCOPE, "host-1"), ControlKey(Scope("ü", "%/ "), "é")]
)
def test_a_key_is_read_as_it_was_written(key: ControlKey) -> None:
    assert decode_key(key.encode()) == key


@pytest.mark.parametrize("key", [None, b"", b"state/dehusk", b"other/a/b", b"\xff", b"worker/a/b"])
def test_other_keys_are_of_something_else(key: bytes | None) -> None:
    assert decode_key(key) is None
    assert Control().apply(message(key, b"{}"), 0) is None


def test_each_group_has_its_own_state() -> None:
    control, other = Control(), Scope("dehusk", "other")
    assert control.apply(state(START), 0) == SCOPE
    assert control.apply(state(NEXT, other), 0) == other
    assert control.states == {SCOPE: START, other: NEXT}


def test_of_two_states_of_one_revision_the_first_counts_and_older_ones_do_not() -> None:
    control = Control()
    assert [control.apply(state(each), 0) for each in (START, NEXT, OTHER, START)] == [
        SCOPE,
        SCOPE,
        None,
        None,
    ]
    assert control.states[SCOPE] == NEXT


def test_a_state_that_cannot_be_read_leaves_the_one_before(caplog: pytest.LogCaptureFixture) -> None:
    control = Control()
    control.apply(state(START), 0)
    assert control.apply(message(ControlKey(SCOPE).encode(), b'{"revision": 2}'), 0) is None
    assert control.states[SCOPE] == START
    assert "record 5 of control, is skipped" in caplog.text
    assert "serving" in caplog.text


def test_a_state_can_be_removed() -> None:
    control = Control()
    assert [control.apply(state(each), 0) for each in (None, START, None)] == [None, SCOPE, SCOPE]
    assert control.states == {}


def test_reports_are_those_of_the_group_that_are_not_too_old() -> None:
    control = Control()
    for group, worker, time in (("a", "w1", 10), ("a", "w2", 20), ("b", "w3", 20), ("a", "w4", 20)):
        report = WorkerReport(worker, 1, "7")
        control.apply(message(ControlKey(Scope("m", group), worker).encode(), report.encode()), time)
    control.apply(message(ControlKey(Scope("m", "a"), "w4").encode(), None), 30)
    assert [report.worker for report in control.reports_of(Scope("m", "a"), since=15)] == ["w2"]


class Topic:
    """A control topic in memory, and what others write to it just before and after a record."""

    def __init__(self, *held: Message) -> None:
        self.held = list(held)
        self.meanwhile: list[Message] = []
        self.after: list[Message] = []

    async def messages(self, _kafka: KafkaSettings, _topic: str) -> AsyncGenerator[tuple[Message, int], None]:
        for each in self.held:
            yield each, 0

    async def read(self, _topic: ControlTopic) -> Control:
        control = Control()
        for each in self.held:
            control.apply(each, 0)
        return control

    async def send(
        self, _kafka: KafkaSettings, records: AsyncIterable[Outgoing]
    ) -> AsyncIterator[SendResult]:
        async for outgoing in records:
            self.held += [*self.meanwhile, message(outgoing.record.key, outgoing.record.value)]
            self.held += self.after
            self.meanwhile, self.after = [], []
            yield SendResult(outgoing, None)

    def compacted(self) -> Control:
        """Return what the topic says once only the last record of each key is left."""
        control = Control()
        for each in {each.key: each for each in self.held}.values():
            control.apply(each, 0)
        return control


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    made = Topic(state(START))
    monkeypatch.setattr(module, "read_control", made.read)
    monkeypatch.setattr(module, "read", made.messages)
    monkeypatch.setattr(module, "send", made.send)
    return made


async def change(to: Rollout) -> None:
    await change_state(ControlTopic(KafkaSettings(), "control"), SCOPE, to)


async def test_a_state_follows_the_one_that_it_was_made_from(topic: Topic) -> None:
    await change(NEXT)
    assert topic.compacted().states == {SCOPE: NEXT}
    assert topic.held[-1].key == state_record(SCOPE, NEXT).key


@pytest.mark.parametrize("late", [OTHER, replace(START, revision=1), replace(NEXT, revision=4)])
async def test_a_state_made_from_another_one_is_not_written(topic: Topic, late: Rollout) -> None:
    await change(NEXT)
    held = len(topic.held)
    with pytest.raises(ConflictError, match=r"news/de .* by me"):
        await change(late)
    assert len(topic.held) == held


async def test_of_two_writers_at_once_the_first_one_wins_even_when_the_topic_is_compacted(
    topic: Topic,
) -> None:
    topic.meanwhile = [state(OTHER)]
    with pytest.raises(ConflictError, match="by somebody"):
        await change(NEXT)
    assert topic.compacted().states == {SCOPE: OTHER}


async def test_a_state_that_is_changed_right_behind_is_reported(topic: Topic) -> None:
    later = promote(OTHER, "9", "somebody")
    topic.meanwhile = [state(OTHER), state(later)]
    with pytest.raises(ConflictError, match="revision 3"):
        await change(NEXT)
    assert topic.compacted().states == {SCOPE: later}


async def test_a_state_that_another_one_follows_at_once_was_written(topic: Topic) -> None:
    later = promote(NEXT, "8", "somebody")
    topic.after = [state(later)]
    await change(NEXT)
    assert topic.compacted().states == {SCOPE: later}
