"""Verdict on a version that may have to go."""

from dataclasses import replace

import pytest

from dehusk.schemas.rollout import Comparison, Figures, Limits, bucket_of
from dehusk.streams.rollout.verdict import RollbackReason, judge, judge_shadow

LIMITS = Limits(least_pages=100, least_failures=3, most_errors=0.1, most_rejected=0.01, most_latency=2.0)
USUAL = Figures(pages=1000, words=1000, kept=500, calls={bucket_of(0.1): 100})


def seen(**changed: object) -> RollbackReason | None:
    verdict = judge(LIMITS, replace(USUAL, **changed), USUAL)
    return verdict and verdict.reason


def test_a_version_like_the_trusted_one_stays() -> None:
    assert seen() is None
    assert judge(LIMITS, Figures(), USUAL) is None


@pytest.mark.parametrize(
    ("pages", "errors", "rejected", "reason"),
    [
        (3, 3, 0, RollbackReason.ERRORS),
        (3, 2, 0, None),
        (30, 3, 0, None),
        (29, 3, 0, RollbackReason.ERRORS),
        (3, 0, 3, RollbackReason.NO_PROBABILITIES),
        (1000, 0, 10, None),
        (1000, 0, 11, RollbackReason.NO_PROBABILITIES),
    ],
)
def test_failures_count_once_they_are_several(
    pages: int, errors: int, rejected: int, reason: RollbackReason | None
) -> None:
    assert seen(pages=pages, errors=errors, rejected=rejected) == reason


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"calls": {bucket_of(0.15): 100}}, None),
        ({"calls": {bucket_of(0.3): 100}}, RollbackReason.LATENCY),
        ({"calls": {bucket_of(0.1): 98, bucket_of(0.3): 2}}, RollbackReason.LATENCY),
        ({"kept": 260}, None),
        ({"kept": 240}, RollbackReason.KEPT_TEXT),
        ({"kept": 1000}, None),
        ({"kept": 600, "words": 500}, RollbackReason.KEPT_TEXT),
        ({"kept": 0}, RollbackReason.KEPT_TEXT),
    ],
)
def test_differences_count_beyond_the_limits(
    changed: dict[str, object], reason: RollbackReason | None
) -> None:
    assert seen(**changed) == reason
    assert seen(pages=99, **changed) is None


def test_times_of_different_hours_are_not_compared() -> None:
    slow = replace(USUAL, calls={bucket_of(9.0): 100})
    assert judge(LIMITS, slow, USUAL, at_once=False) is None
    kept = judge(LIMITS, replace(slow, kept=0), USUAL, at_once=False)
    assert kept is not None
    assert kept.reason is RollbackReason.KEPT_TEXT


def test_a_version_is_not_compared_with_one_that_labeled_hardly_any_page() -> None:
    assert judge(LIMITS, replace(USUAL, kept=0), replace(USUAL, pages=99)) is None


@pytest.mark.parametrize(("differing", "reason"), [(200, None), (201, RollbackReason.DISAGREEMENT)])
def test_a_shadow_may_decide_some_blocks_otherwise(differing: int, reason: RollbackReason | None) -> None:
    verdict = judge_shadow(LIMITS, Comparison(USUAL, USUAL, blocks=1000, differing=differing))
    assert (verdict and verdict.reason) == reason
    few = replace(USUAL, pages=99)
    assert judge_shadow(LIMITS, Comparison(few, few, blocks=1000, differing=differing)) is None


def test_a_shadow_that_fails_goes_as_a_canary_does() -> None:
    failing = Figures(pages=3, rejected=3)
    verdict = judge_shadow(LIMITS, Comparison(USUAL, failing))
    assert str(verdict) == "no-probabilities: 3 of 3 pages, more than 1.00%"
