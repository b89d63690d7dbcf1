"""Compare-and-set of states: several writers at once, killed at any moment, on a topic compacted at any."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.rollout import Part, Rollout, Scope
from dehusk.schemas.trials import Comparison, Figures, WorkerReport
from dehusk.streams.rollout import control as module
from dehusk.streams.rollout.control import Control, ControlKey, change_state, state_record
from dehusk.streams.rollout.transitions import first_state, promote, roll_back, with_canary
from dehusk.streams.sources.source import Record
from tests.unit.streams.rollout.topic import TOPIC, Topic, Writer

SCOPE = Scope("dehusk", "news/de")
START = promote(first_state("7", "me"), "7", "me")
NEXT = with_canary(START, Part("8", 0.1), "me")
OTHER = with_canary(START, Part("9", 0.1), "somebody")


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture
def topic(patch: pytest.MonkeyPatch) -> Topic:
    return made(patch, state_record(SCOPE, START))


def made(patch: pytest.MonkeyPatch, *held) -> Topic:
    topic = Topic(*held)
    topic.replace_real(patch)
    return topic


def changer(state: Rollout, own: WorkerReport | None = None) -> Writer:
    return Writer(change_state(TOPIC, SCOPE, state, own))


def changed(state: Rollout, own: WorkerReport | None = None) -> Exception | bool | None:
    writer = changer(state, own)
    writer.finish()
    return writer.outcome


def test_a_state_follows_the_one_that_it_was_made_from(topic: Topic) -> None:
    assert changed(NEXT) is True
    assert topic.control().states == {SCOPE: NEXT}
    assert [*topic.control().history(SCOPE).values()] == [NEXT]


@pytest.mark.parametrize("late", [OTHER, replace(START, revision=1), replace(NEXT, revision=4)])
def test_a_state_made_from_another_one_is_not_written(topic: Topic, late: Rollout) -> None:
    changed(NEXT)
    held = len(topic.held)
    assert "by me" in str(changed(late))
    assert len(topic.held) == held


def test_a_writer_that_came_second_names_the_first_and_leaves_nothing(topic: Topic) -> None:
    second = changer(NEXT)
    second.step()
    second.step()
    assert changed(OTHER) is True
    second.finish()
    assert "by somebody" in str(second.outcome)
    topic.compact(len(topic.held))
    assert topic.control().states == {SCOPE: OTHER}
    assert len(topic.held) == 2


def test_changes_of_a_roll_out_that_was_removed_do_not_count_for_the_next(topic: Topic) -> None:
    changed(NEXT)
    topic.held = [each for each in topic.held if each.key != ControlKey(SCOPE).encode()]
    other = replace(START, serving="9")
    assert changed(other) is True
    assert topic.control().states == {SCOPE: other}


def test_the_topic_keeps_the_latest_changes(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HISTORY", 3)
    state = START
    for _ in range(5):
        state = with_canary(state, Part("8", 0.1), "me")
        assert changed(state) is True
    assert [each.revision for each in topic.control().history(SCOPE).values()] == [4, 5, 6]


def report(worker: str, pages: int, revision: int = 2) -> Record:
    """Return a report on the trial of `NEXT`."""
    key, seen = ControlKey(SCOPE, worker), report_of(worker, pages, revision)
    return Record(key.encode(), seen.encode())


def report_of(worker: str, pages: int, revision: int = 2) -> WorkerReport:
    figures, trials = {"8": Figures(pages=pages)}, {"canary": Comparison(pages=pages)}
    return WorkerReport(worker, revision, "7", "8", figures=figures, trials=trials)


def test_what_the_group_has_seen_of_a_trial_stays_after_its_end(topic: Topic) -> None:
    changed(NEXT)
    topic.held += [report("w1", 10), report("w2", 20), report("w3", 99, revision=1)]
    assert changed(with_canary(NEXT, Part("8", 0.5), "me")) is True
    assert topic.control().ended(SCOPE) == []
    topic.held += [report("w1", 40, revision=3), report("w2", 20, revision=3)]
    last = roll_back(topic.control().states[SCOPE], "me", "enough")
    assert changed(last, report_of("w1", 50, revision=3)) is True
    topic.held = [each for each in topic.held if b"worker" not in (each.key or b"")]
    topic.compact(len(topic.held))
    (ended,) = topic.control().ended(SCOPE)
    assert (ended.trial, ended.version, ended.trusted, ended.workers) == ("canary", "8", "7", 2)
    assert (ended.figures.pages, ended.comparison.pages, ended.change.reason) == (70, 70, "enough")


def test_a_writer_that_came_second_leaves_no_trial(topic: Topic) -> None:
    changed(NEXT)
    topic.held.append(report("w1", 10))
    second = changer(roll_back(NEXT, "me", "enough"))
    second.step()
    second.step()
    assert changed(promote(NEXT, "8", "somebody")) is True
    second.finish()
    topic.compact(len(topic.held))
    assert [each.change.by for each in topic.control().trials.values()] == ["somebody"]


def test_the_topic_keeps_the_latest_trials(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TRIALS", 3)
    for number in range(6):
        state = with_canary(topic.control().states[SCOPE], Part("8", 0.1), "me")
        changed(state)
        changed(roll_back(state, "me", f"trial {number}"), report_of("w1", 10, state.revision))
    assert [each.change.reason for each in topic.control().ended(SCOPE)] == [
        f"trial {number}" for number in (2, 3, 4, 5)
    ]


ACTIONS = st.sampled_from(["step", "step", "step", "step", "kill", "compact"])


@given(events=st.lists(st.tuples(ACTIONS, st.integers(0, 2)), max_size=40), cut=st.integers(0, 40))
def test_all_readers_see_the_same_changes_and_writers_know_which_are_theirs(
    patch: pytest.MonkeyPatch, events: list[tuple[str, int]], cut: int
) -> None:
    topic, attempts, running = made(patch), [], {}
    for event, number in events:
        if event == "compact":
            topic.compact(10 * number)
        elif event == "kill" and number in running:
            running.pop(number).kill()
        elif event == "step":
            if number not in running or running[number].outcome is not None:
                state = _next(topic.control(), f"writer {number}, change {len(attempts)}")
                running[number] = changer(state)
                attempts.append((running[number], state))
            running[number].step()
    for writer in running.values():
        writer.finish()
    found = topic.control()
    history = [*found.history(SCOPE).values()]
    assert [each.revision for each in history] == [*range(1, len(history) + 1)]
    assert found.states.get(SCOPE) == (history[-1] if history else None)
    for writer, state in attempts:
        assert writer.outcome is False or (state in history) == (writer.outcome is True)
    for end in (cut, len(topic.held)):
        topic.compact(end)
        again = topic.control()
        assert (again.states, again.history(SCOPE)) == (found.states, found.history(SCOPE))


def _next(control: Control, by: str) -> Rollout:
    return with_canary(control.states.get(SCOPE) or first_state("7", by), Part("8", 0.1), by)
