"""Reasons for which the next step of a promotion waits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dehusk.schemas.rollout import Limits, Part, Rollout
from dehusk.schemas.trials import CANARY, Comparison, Figures, WorkerReport
from dehusk.streams.rollout.steps import due_change, wait_reason
from dehusk.streams.rollout.transitions import first_state, pause, promote, resume, with_steps
from dehusk.streams.rollout.verdict import judge

START = replace(promote(first_state("7", "me"), "7", "me"), limits=Limits(least_pages=100, least_calls=10))
STEPPED = with_steps(START, "8", (0.1, 0.5), 600.0, "me", give_up=3600.0)
LATER = STEPPED.change.at + timedelta(seconds=600)


def report(worker: str, pages: int = 50, revision: int = 2, canary: str | None = "8") -> WorkerReport:
    compared = Comparison(pages=pages, slowdowns={0: 5, 1: 5})
    return WorkerReport(worker, revision, "7", canary, trials={CANARY: compared})


def test_a_step_is_taken_when_it_was_held_and_enough_pages_were_labeled_by_all_workers_together() -> None:
    reports = [report("a"), report("b")]
    assert wait_reason(STEPPED, reports, reports, LATER) is None
    taken = due_change(STEPPED, reports, reports, LATER, "a")
    assert taken is not None
    assert (taken.canary, taken.change.by) == (Part("8", 0.5), "a")
    for state, now in ((START, datetime.now(UTC)), (STEPPED, LATER - timedelta(seconds=1))):
        assert due_change(state, reports, reports, now, "a") is None
    assert wait_reason(START, [], [], datetime.now(UTC)) is None


def test_no_step_is_taken_of_a_version_that_exceeds_a_limit() -> None:
    reports = [report("a"), report("b")]
    rejecting = replace(reports[0], figures={"8": Figures(pages=50, rejected=50)})
    assert judge(CANARY, STEPPED.limits, rejecting.figures["8"], Comparison()) is not None
    assert due_change(STEPPED, reports, [rejecting, reports[1]], LATER, "a") is None
    assert due_change(STEPPED, reports[1:], [rejecting, reports[1]], LATER, "a") is None


@pytest.mark.parametrize(
    ("state", "reports", "early", "said"),
    [
        (STEPPED, [report("a", 100)], 1, "held until "),
        (pause(STEPPED, "me", ""), [report("a", 100, 3)], 0, "paused"),
        (STEPPED, [], 0, "waits for a worker"),
        (STEPPED, [report("a", 100), report("b", revision=1)], 0, "waits for b to label by it"),
        (STEPPED, [report("a", 100), report("b", canary=None)], 0, "waits for b to label by it"),
        (
            STEPPED,
            [report("a"), report("b", 49)],
            0,
            "waits for 100 compared pages and 10 timed calls: 99 and 20",
        ),
        (STEPPED, [WorkerReport("a", 2, "7", "8")], 0, "waits for 100 compared pages and 10 timed calls: 0"),
    ],
)
def test_what_is_missing_is_named(state: Rollout, reports: list[WorkerReport], early: int, said: str) -> None:
    assert str(wait_reason(state, reports, reports, LATER - timedelta(seconds=early))).startswith(said)


def test_timed_calls_have_to_be_as_many_as_a_verdict_takes() -> None:
    compared = Comparison(pages=100, slowdowns={0: 9})
    reports = [replace(report("a"), trials={CANARY: compared})]
    found = wait_reason(STEPPED, reports, reports, LATER)
    assert str(found).startswith(
        "waits for 100 compared pages and 10 timed calls: 100 and 9 by now; else paused at "
    )


def test_what_workers_saw_that_have_stopped_is_enough_but_not_without_a_worker() -> None:
    few = report("a", 1)
    assert wait_reason(STEPPED, [few], [few, report("b", 99)], LATER) is None
    assert str(wait_reason(STEPPED, [], [report("b", 100)], LATER)).startswith("waits for a worker")


def test_a_step_that_waits_for_too_long_is_paused_and_a_resumed_one_waits_as_long_again() -> None:
    few, last = [report("a", pages=3)], LATER + timedelta(seconds=3600)
    assert due_change(STEPPED, few, few, last - timedelta(seconds=1), "a") is None
    given_up = due_change(STEPPED, few, few, last, "a")
    assert given_up is not None
    missing = "waits for 100 compared pages and 10 timed calls: 3 and 10 by now"
    said = f"steps paused, stalled: since {STEPPED.change.at:%Y-%m-%d %H:%M:%S} UTC, the next step {missing}"
    assert (given_up.change.reason, given_up.canary) == (said, STEPPED.canary)
    assert wait_reason(given_up, few, few, last) == "paused"
    assert due_change(given_up, few, few, last, "a") is None
    resumed = resume(given_up, "me", "more pages come")
    assert resumed.steps is not None
    few = [replace(few[0], revision=resumed.revision)]
    assert due_change(resumed, few, few, resumed.steps.since + timedelta(seconds=4199), "a") is None
    assert due_change(resumed, few, few, resumed.steps.since + timedelta(seconds=4200), "a") is not None


def test_a_time_that_no_calendar_has_never_comes() -> None:
    endless = with_steps(START, "8", (0.1,), 1e308, "me", give_up=1e308)
    enough = [report("a", 100)]
    assert str(wait_reason(endless, enough, enough, LATER)).startswith("held until 9999-")
