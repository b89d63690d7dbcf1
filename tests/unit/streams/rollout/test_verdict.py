"""Verdict on a version that may have to go."""

from dataclasses import replace

import pytest

from dehusk.schemas.rollout import Limits
from dehusk.schemas.trials import (
    CANARY,
    PROMOTED,
    SHADOW,
    TRIALS,
    Comparison,
    Figures,
    bucket_of,
    bucket_of_ratio,
)
from dehusk.streams.rollout.verdict import RollbackReason, judge

LIMITS = Limits(
    least_pages=100, least_failures=3, least_calls=100, most_errors=0.1, most_rejected=0.01, most_latency=3.0
)
USUAL = Figures(pages=1000, words=1000, kept=500, calls={bucket_of(0.1): 100})
ALIKE = Comparison(USUAL, USUAL, pages=100, blocks=1000, words=1000, kept_by_both=500)


def seen(trial: str = CANARY, figures: Figures = USUAL, **changed: object) -> RollbackReason | None:
    verdict = judge(trial, LIMITS, figures, replace(ALIKE, **changed))
    return verdict and verdict.reason


@pytest.mark.parametrize("trial", TRIALS)
def test_a_version_like_the_trusted_one_stays(trial: str) -> None:
    same = {"kept_ratios": {0: 100}, "dropped_ratios": {0: 100}, "slowdowns": {0: 1000}}
    assert seen(trial, **same) is None
    assert judge(trial, LIMITS, Figures(), Comparison()) is None


@pytest.mark.parametrize("trial", TRIALS)
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
    trial: str, pages: int, errors: int, rejected: int, reason: RollbackReason | None
) -> None:
    assert seen(trial, replace(USUAL, pages=pages, errors=errors, rejected=rejected)) == reason


def slowdowns(slow: int, others: int, seconds: float = 0.5) -> dict[str, object]:
    """Return calls of which some take five times as long, the middle one so many seconds."""
    calls = replace(USUAL, calls={bucket_of(seconds): 100})
    return {"slowdowns": {bucket_of_ratio(5.0): slow, bucket_of_ratio(0.5): others}, "shadow": calls}


@pytest.mark.parametrize(
    ("trial", "slow", "others", "is_slow"),
    [
        (SHADOW, 51, 49, True),
        (SHADOW, 50, 50, False),
        (SHADOW, 99, 0, False),
        (CANARY, 51, 48, False),
        (CANARY, 9, 1, True),
        (PROMOTED, 9, 1, True),
        (CANARY, 8, 2, False),
        (CANARY, 9, 0, False),
        (PROMOTED, 500, 501, False),
    ],
)
def test_a_version_is_slow_if_most_of_enough_calls_are(
    trial: str, slow: int, others: int, *, is_slow: bool
) -> None:
    assert seen(trial, **slowdowns(slow, others)) == (RollbackReason.LATENCY if is_slow else None)


def test_a_few_calls_are_no_verdict_however_few_the_limit_asks_for() -> None:
    limits, compared = replace(LIMITS, least_calls=20), replace(ALIKE, **slowdowns(9, 0))
    assert judge(CANARY, limits, USUAL, compared) is None


def test_a_version_is_not_slow_for_a_moment_more() -> None:
    assert seen(**slowdowns(100, 0, seconds=0.101)) is None


def test_calls_that_are_twice_as_slow_may_be() -> None:
    assert seen(**slowdowns(0, 0) | {"slowdowns": {bucket_of_ratio(2.0): 1000}}) is None


def test_a_verdict_says_how_slow() -> None:
    verdict = judge(SHADOW, LIMITS, USUAL, replace(ALIKE, **slowdowns(100, 0)))
    assert str(verdict).startswith("latency: 100 of 100 calls take more than 3 times as long")


@pytest.mark.parametrize(
    ("changed", "is_outside"),
    [
        ({"kept_by_both": 250, "removed_words": 250}, False),
        ({"kept_by_both": 249, "removed_words": 251}, True),
        ({"kept_by_both": 100, "added_words": 100}, False),
        ({"kept_by_both": 100, "added_words": 101}, True),
        ({"kept_by_both": 738, "added_words": 248}, True),
        ({"kept_by_both": 738, "added_words": 100}, False),
        ({"kept_by_both": 960, "added_words": 40}, False),
        ({"kept_by_both": 0, "added_words": 1}, True),
        ({"kept_by_both": 0, "added_words": 0}, False),
        ({"kept_ratios": {bucket_of_ratio(0.2): 51, 0: 49}}, True),
        ({"kept_ratios": {bucket_of_ratio(0.2): 49, 0: 51}}, False),
        ({"kept_ratios": {0: 49, bucket_of_ratio(3.0): 51}}, True),
        ({"dropped_ratios": {bucket_of_ratio(0.2): 51, 0: 49}}, True),
        ({"dropped_ratios": {bucket_of_ratio(0.2): 49, 0: 51}}, False),
        ({"dropped_ratios": {bucket_of_ratio(5.0): 100}}, False),
    ],
)
@pytest.mark.parametrize("trial", TRIALS)
def test_a_version_goes_that_keeps_too_little_or_too_much(
    trial: str, changed: dict[str, object], *, is_outside: bool
) -> None:
    assert seen(trial, **changed) == (RollbackReason.KEPT_TEXT if is_outside else None)
    assert seen(trial, **changed, pages=99) is None


@pytest.mark.parametrize(("differing", "reason"), [(200, None), (201, RollbackReason.DISAGREEMENT)])
def test_a_shadow_may_decide_some_blocks_otherwise(differing: int, reason: RollbackReason | None) -> None:
    assert seen(SHADOW, differing=differing) == reason
    assert seen(SHADOW, differing=differing, pages=99) is None
    assert seen(CANARY, differing=differing) is None


def test_a_verdict_on_failures_has_their_number() -> None:
    verdict = judge(SHADOW, LIMITS, Figures(pages=3, rejected=3), Comparison())
    assert str(verdict) == "no-probabilities: 3 of 3 pages, more than 1.00%"
