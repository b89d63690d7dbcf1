"""From one state of a roll-out to the next."""

from dataclasses import replace

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Limits, Part, Rollout
from dehusk.streams.rollout.steps import first, promoted, rolled_back, with_canary, with_shadow, without

LIMITS = Limits()
START = promoted(first("7", "me", LIMITS), "7", "me", LIMITS)


def canary(state: Rollout = START, share: float = 0.1) -> Rollout:
    return with_canary(state, Part("8", share), "me", LIMITS)


def test_the_first_state_may_name_the_version_that_serves_anyway() -> None:
    assert (START.revision, START.serving, START.previous) == (1, "7", None)
    with pytest.raises(ConfigurationError, match="serves already"):
        promoted(START, "7", "me", LIMITS)


def test_a_canary_grows_and_takes_over() -> None:
    grown = canary(canary(), 0.5)
    assert (grown.revision, grown.serving, grown.canary) == (3, "7", Part("8", 0.5))
    assert "0.5 of the sites" in grown.change.reason
    over = promoted(grown, "8", "me", LIMITS)
    assert (over.serving, over.previous, over.canary) == ("8", "7", None)
    assert over.promoted_at == over.change.at


def test_a_shadow_stays_beside_a_canary_until_it_is_promoted() -> None:
    both = canary(with_shadow(START, Part("9", 1.0), "me", LIMITS))
    assert both.versions == ("7", "8", "9")
    assert promoted(both, "8", "me", LIMITS).shadow == Part("9", 1.0)
    assert promoted(both, "9", "me", LIMITS).shadow is None


@pytest.mark.parametrize("step", [with_canary, with_shadow])
def test_the_version_that_serves_is_not_tried(step) -> None:
    with pytest.raises(ConfigurationError, match="nothing to try"):
        step(START, Part("7", 0.5), "me", LIMITS)


def test_going_back_ends_what_is_tried_and_then_the_promotion() -> None:
    tried = canary(promoted(START, "6", "me", LIMITS))
    stopped = rolled_back(tried, "me", "bad")
    assert (stopped.serving, stopped.canary, stopped.change.reason) == ("6", None, "bad")
    back = rolled_back(stopped, "me", "worse")
    assert (back.serving, back.previous, back.promoted_at, back.revision) == ("7", None, None, 5)
    with pytest.raises(ConfigurationError, match="none is known from before"):
        rolled_back(back, "me", "")


def test_a_version_that_is_not_fit_is_taken_out_wherever_it_is_named() -> None:
    both = replace(canary(), shadow=Part("8", 1.0))
    taken = without(both, "8", "a worker", "NaN")
    assert taken is not None
    assert (taken.serving, taken.canary, taken.shadow, taken.revision) == ("7", None, None, both.revision + 1)
    over = promoted(canary(), "8", "me", LIMITS)
    back = without(over, "8", "a worker", "NaN")
    assert back is not None
    assert (back.serving, back.previous) == ("7", None)


def test_nothing_is_taken_out_that_is_not_named_or_that_is_the_only_one() -> None:
    assert without(canary(), "9", "a worker", "NaN") is None
    assert without(START, "7", "a worker", "NaN") is None
