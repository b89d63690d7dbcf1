"""Records of a control topic, and reading them."""

import time
from dataclasses import replace

import pytest

from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Part, Rollout, Scope
from dehusk.schemas.trials import Comparison, WorkerReport, total_comparison
from dehusk.streams.rollout import control as module
from dehusk.streams.rollout.control import Control, ControlKey, decode_key
from dehusk.streams.rollout.transitions import first_state, promote, roll_back, with_canary
from dehusk.streams.sources.source import Record

SCOPE = Scope("dehusk", "news/de")
START = promote(first_state("7", "me"), "7", "me")
NEXT = with_canary(START, Part("8", 0.1), "me")
OTHER = with_canary(START, Part("9", 0.1), "somebody")


def message(key: bytes | None, value: bytes | None) -> Message:
    return Message(key, value, topic="control", offset=5)


def state(value: Rollout | None, scope: Scope = SCOPE) -> Message:
    return message(ControlKey(scope).encode(), None if value is None else value.encode())


@pytest.mark.parametrize(
    "key",
    [
        ControlKey(SCOPE),
        ControlKey(SCOPE, "host-1"),
        ControlKey(SCOPE, change="a"),
        ControlKey(SCOPE, claim="a"),
        ControlKey(SCOPE, trial="a:shadow"),
        ControlKey(SCOPE, stopped="host-1"),
        ControlKey(Scope("ü", "%/ "), "é"),
    ],
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


def test_the_first_change_of_a_revision_counts_also_where_compaction_has_left_the_state_of_another() -> None:
    control, first, second = Control(), ControlKey(SCOPE, change="b"), ControlKey(SCOPE, change="a")
    for key, change in ((first, NEXT), (second, OTHER)):
        assert control.apply(message(key.encode(), change.encode()), 0) is None
    assert control.states == {}
    assert control.apply(state(OTHER), 0) == SCOPE
    assert control.states == {SCOPE: NEXT}
    assert control.history(SCOPE) == {first: NEXT}


def test_a_roll_out_that_is_removed_has_no_history() -> None:
    control = Control()
    control.apply(message(ControlKey(SCOPE, change="a").encode(), START.encode()), 0)
    control.apply(state(START), 0)
    assert control.apply(state(None), 0) == SCOPE
    assert (control.states, control.changes) == ({}, {})


def test_what_a_worker_saw_that_stops_counts_once_also_if_it_was_only_frozen() -> None:
    control, trial = Control(), with_canary(START, Part("8", 0.5), "me")
    control.apply(state(trial), 0)
    seen = WorkerReport("w1", trial.revision, "7", "8", trials={"canary": Comparison(pages=5)})
    others = replace(seen, worker="w2"), replace(seen, worker="w3", trials={})
    for scope, each in ((SCOPE, seen), (SCOPE, others[0]), (SCOPE, others[1]), (Scope("m", "b"), seen)):
        control.apply(message(ControlKey(scope, each.worker).encode(), each.encode()), 0)

    def tell(*records: Record | Message) -> list[str]:
        for each in records:
            control.apply(message(each.key, each.value), 0)
        return [each.worker for each in control.evidence(SCOPE)]

    assert tell() == ["w1", "w2"]
    w1, w2, w3 = (ControlKey(SCOPE, name) for name in ("w1", "w2", "w3"))
    assert tell(*control.withdrawal(w1)) == ["w1", "w2"]
    assert [key.worker for key in control.reports if key.scope == SCOPE] == ["w2", "w3"]
    assert [each.worker for each in control.evidence(SCOPE, {"w1"})] == ["w2"]
    frozen = replace(seen, trials={"canary": Comparison(pages=7)})
    assert tell(Record(w1.encode(), frozen.encode())) == ["w1", "w2"]
    assert total_comparison(control.evidence(SCOPE), "canary").pages == 12
    stops = (*control.withdrawal(w1, frozen), *control.withdrawal(w2), *control.withdrawal(w3))
    assert tell(*stops) == ["w1", "w2"]
    assert [key.worker for key in control.reports if key.scope == SCOPE] == []
    assert tell(state(roll_back(trial, "me", ""))) == []


def test_of_workers_that_stop_during_a_trial_the_latest_stay_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STOPPED", 3)
    control, trial = Control(), with_canary(START, Part("8", 0.5), "me")
    control.apply(state(trial), 0)
    for scope, name in (
        (Scope("m", "b"), "other"),
        *((SCOPE, name) for name in ("w1", "w2", "w3", "w4", "w5")),
    ):
        seen = WorkerReport(name, trial.revision, "7", "8", trials={"canary": Comparison(pages=5)})
        for each in control.withdrawal(ControlKey(scope, name), seen):
            control.apply(message(each.key, each.value), 0)
    assert [key.stopped for key in control.stopped] == ["other", "w3", "w4", "w5"]
    again = control.withdrawal(ControlKey(SCOPE, "w4"), seen)
    assert [each.key for each in again if each.value is None] == [ControlKey(SCOPE, "w4").encode()]


def test_reports_are_those_of_the_group_that_are_not_too_old() -> None:
    control = Control()
    for group, worker, at in (("a", "w1", 10), ("a", "w2", 20), ("b", "w3", 20), ("a", "w4", 20)):
        report = WorkerReport(worker, 1, "7")
        control.apply(message(ControlKey(Scope("m", group), worker).encode(), report.encode()), at)
    control.apply(message(ControlKey(Scope("m", "a"), "w4").encode(), None), 30)
    assert [report.worker for report in control.reports_of(Scope("m", "a"), since=15)] == ["w2"]


def test_a_report_that_is_read_again_does_not_take_the_place_of_a_later_one() -> None:
    control, key, now = Control(), ControlKey(SCOPE, "host-1").encode(), int(1000 * time.time())
    old, new = (WorkerReport("host-1", revision, "7") for revision in (1, 2))
    for offset, value in enumerate((old.encode(), None, new.encode())):
        control.apply(Message(key, value, offset=offset), now)
    for offset, value in enumerate((old.encode(), None, new.encode())):
        control.apply(Message(key, value, offset=offset), 0 if offset < 2 else now)
        assert control.live_reports(SCOPE) == [new]
