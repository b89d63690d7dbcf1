"""Reasons for which the next step of a promotion waits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dehusk.schemas.rollout import Limits, Rollout
from dehusk.schemas.trials import CANARY, Comparison, WorkerReport
from dehusk.streams.rollout.steps import wait_reason
from dehusk.streams.rollout.transitions import first_state, pause, promote, with_steps

START = replace(promote(first_state("7", "me"), "7", "me"), limits=Limits(least_pages=100, least_calls=10))
STEPPED = with_steps(START, "8", (0.1, 0.5), 600.0, "me")
LATER = STEPPED.change.at + timedelta(seconds=600)


def report(worker: str, pages: int = 50, revision: int = 2, canary: str | None = "8") -> WorkerReport:
    compared = Comparison(pages=pages, slowdowns={0: 5, 1: 5})
    return WorkerReport(worker, revision, "7", canary, trials={CANARY: compared})


def test_a_step_is_taken_when_it_was_held_and_enough_pages_were_labeled_by_all_workers_together() -> None:
    assert wait_reason(STEPPED, [report("a"), report("b")], LATER) is None
    assert wait_reason(START, [], datetime.now(UTC)) is None


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
    assert str(wait_reason(state, reports, LATER - timedelta(seconds=early))).startswith(said)


def test_timed_calls_have_to_be_as_many_as_a_verdict_takes() -> None:
    compared = Comparison(pages=100, slowdowns={0: 9})
    found = wait_reason(STEPPED, [replace(report("a"), trials={CANARY: compared})], LATER)
    assert found == "waits for 100 compared pages and 10 timed calls: 100 and 9 by now"
