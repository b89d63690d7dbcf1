"""View of a roll-out."""

from dataclasses import replace
from datetime import timedelta

from dehusk.schemas.rollout import Part, Rollout
from dehusk.schemas.trials import CANARY, Comparison, Figures, WorkerReport
from dehusk.streams.rollout.transitions import first_state, promote, with_canary, with_shadow, without_version
from dehusk.streams.rollout.view import TrialView, VersionView, view

START = promote(promote(first_state("6", "me"), "6", "me"), "7", "me")
BOTH = with_shadow(with_canary(START, Part("8", 0.1), "me"), Part("9", 1.0), "me")
FIGURES = {
    "7": Figures(pages=90, words=1000, kept=400, calls={0: 9}),
    "8": Figures(pages=10, errors=1, rejected=1, late=1, words=100, kept=50),
}
COMPARISON = Comparison(
    pages=5, blocks=100, differing=3, words=200, kept_by_both=90, added_words=20, shadow=FIGURES["8"]
)


def report(worker: str, state: Rollout, **more: object) -> WorkerReport:
    return replace(WorkerReport(worker, state.revision, "7", figures=FIGURES), **more)


def test_versions_have_their_shares_and_what_all_workers_have_seen_of_them() -> None:
    behind = report("b", START, refused={"9": "it is not served"})
    reports = [report("a", BOTH, comparison=COMPARISON), behind]
    found = view(BOTH, reports, [START, BOTH], reports)
    assert (found.workers, found.following, found.refused) == (2, 1, ("9: it is not served",))
    assert found.versions == (
        VersionView("7", "serving", None, 180, 0, 0.4, 1.0, 1.0),
        VersionView("8", "canary", 0.1, 20, 6, 0.5, None, None),
        VersionView("9", "shadow", 1.0, 10, 3, 0.5, None, None),
        VersionView("6", "previous", None, 0, 0, None, None, None),
    )
    assert found.trials == (TrialView("shadow", 5, 0.03, 0.9, 0.55, 0.45, None),)


def test_each_trial_is_compared() -> None:
    trials = {CANARY: COMPARISON}
    reports = [report(worker, BOTH, trials=trials) for worker in "ab"]
    found = view(BOTH, reports, [], reports)
    assert [(each.trial, each.pages) for each in found.trials] == [("canary", 10)]


def test_changes_are_those_of_the_hour_and_name_what_was_taken_back() -> None:
    after = without_version(BOTH, "8", "worker-1", "too many errors")
    assert after is not None
    old = replace(START, change=replace(START.change, at=START.change.at - timedelta(hours=2)))
    found = view(after, [], [old, BOTH, after], [])
    assert [(each.revision, each.by) for each in found.changes] == [
        (BOTH.revision, "me"),
        (after.revision, "worker-1"),
    ]
    assert found.changes[-1].taken_back == "8"
    assert [each.revision for each in view(old, [], [old], []).changes] == [old.revision]
