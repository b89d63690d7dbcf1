"""From one state of a roll-out to the next."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Limits, Part, Rollout
from dehusk.streams.rollout.transitions import (
    ask_rollback,
    describe_state,
    first_state,
    pause,
    promote,
    resume,
    roll_back,
    take_step,
    with_canary,
    with_shadow,
    with_steps,
    without_version,
)

START = promote(first_state("7", "me"), "7", "me")


def stepped() -> Rollout:
    return with_steps(START, "8", (0.1, 0.5), 600.0, "me")


def canary(state: Rollout = START, share: float = 0.1) -> Rollout:
    return with_canary(state, Part("8", share), "me")


def test_the_first_state_may_name_the_version_that_serves_anyway() -> None:
    assert (START.revision, START.serving, START.previous) == (1, "7", None)
    with pytest.raises(ConfigurationError, match="serves already"):
        promote(START, "7", "me")


def test_a_canary_grows_and_takes_over() -> None:
    grown = canary(canary(), 0.5)
    assert (grown.revision, grown.serving, grown.canary) == (3, "7", Part("8", 0.5))
    assert "50% of the sites" in grown.change.reason
    over = promote(grown, "8", "me")
    assert (over.serving, over.previous, over.canary) == ("8", "7", None)
    assert over.promoted_at == over.change.at


def test_a_version_is_promoted_in_steps() -> None:
    first = stepped()
    assert (first.canary, first.steps and first.steps.shares) == (Part("8", 0.1), (0.5,))
    second = take_step(first, "a worker")
    assert (second.canary, second.steps and second.steps.shares) == (Part("8", 0.5), ())
    assert second.steps is not None
    assert second.steps.since == second.change.at
    over = take_step(second, "a worker")
    assert (over.serving, over.previous, over.canary, over.steps) == ("8", "7", None, None)
    assert over.promoted_at == over.change.at


def test_steps_are_paused_and_go_on_with_the_share_held_once_more() -> None:
    paused = pause(stepped(), "me", "forums?")
    assert describe_state(paused) == "version 7, version 8 for 10% of the sites, then 50%, all, paused"
    with pytest.raises(ConfigurationError, match="paused already"):
        pause(paused, "me", "")
    resumed = resume(paused, "me", "fine")
    assert describe_state(resumed).endswith("then 50%, all, after 600 s each")
    assert resumed.steps is not None
    assert resumed.steps.since == resumed.change.at
    with pytest.raises(ConfigurationError, match="not paused"):
        resume(resumed, "me", "")


@pytest.mark.parametrize(
    "ended",
    [
        canary(stepped(), 0.9),
        promote(stepped(), "8", "me"),
        roll_back(stepped(), "me", ""),
        without_version(stepped(), "8", "a worker", "NaN"),
    ],
)
def test_steps_end_with_their_canary(ended: Rollout) -> None:
    assert ended.steps is None
    for change in (pause, resume):
        with pytest.raises(ConfigurationError, match="no version is promoted in steps"):
            change(ended, "me", "")


def test_a_shadow_leaves_the_steps_as_they_are() -> None:
    state = stepped()
    assert with_shadow(state, Part("9", 1.0), "me").steps == state.steps


@given(
    st.lists(st.sampled_from([take_step, pause, resume, roll_back, promote, without_version]), max_size=12)
)
def test_whatever_is_done_a_version_with_steps_is_tried_and_shares_grow(changes: list[Any]) -> None:
    state = stepped()
    for change in changes:
        words = {take_step: ("me",), promote: ("8", "me"), without_version: ("8", "me", "")}
        with suppress(ConfigurationError):
            changed = change(state, *words.get(change, ("me", "")))
            assert changed is None or changed.revision == state.revision + 1
            if changed and changed.canary and state.canary:
                assert changed.canary.share >= state.canary.share
            state = changed or state
        assert state.steps is None or (state.canary and state.canary.version == "8")
        assert Rollout.decode(state.encode()) == state


def test_promoting_what_serves_ends_a_canary_and_begins_no_probation() -> None:
    assert START.promoted_at is None
    good = promote(START, "8", "me")
    again = promote(with_canary(good, Part("9", 0.1), "me"), "8", "me")
    assert (again.canary, again.previous, again.promoted_at) == (None, "7", good.promoted_at)


def test_the_version_before_is_tried_by_the_one_that_serves_and_not_the_other_way_as_well() -> None:
    promoted = promote(START, "8", "me")
    tried = with_canary(promoted, Part("7", 0.1), "me")
    assert (tried.serving, tried.canary, tried.previous) == ("8", Part("7", 0.1), "7")
    assert tried.trusted(tried.change.at) is None
    assert with_canary(promoted, Part("9", 0.1), "me").trusted(promoted.change.at) == "7"


def test_the_version_before_is_no_shadow_while_the_one_that_serves_is_compared_with_it() -> None:
    promoted, shadow = promote(START, "8", "me"), Part("7", 1.0)
    with pytest.raises(ConfigurationError, match="on probation, and compared with version 7 anyway"):
        with_shadow(promoted, shadow, "me")
    assert with_shadow(promoted, Part("9", 1.0), "me").shadow == Part("9", 1.0)
    over = replace(promoted, limits=Limits(probation_seconds=0.0))
    assert with_shadow(over, shadow, "me").shadow == shadow


def test_a_shadow_stays_beside_a_canary_until_it_is_promoted() -> None:
    both = canary(with_shadow(START, Part("9", 1.0), "me"))
    assert both.versions == ("7", "8", "9")
    assert promote(both, "8", "me").shadow == Part("9", 1.0)
    assert promote(both, "9", "me").shadow is None


@pytest.mark.parametrize("step", [with_canary, with_shadow])
def test_the_version_that_serves_is_not_tried(step) -> None:
    with pytest.raises(ConfigurationError, match="nothing to try"):
        step(START, Part("7", 0.5), "me")


def test_going_back_ends_what_is_tried_and_then_the_promotion() -> None:
    tried = canary(promote(START, "6", "me"))
    stopped = roll_back(tried, "me", "bad")
    assert (stopped.serving, stopped.canary, stopped.change.reason) == ("6", None, "bad")
    back = roll_back(stopped, "me", "worse")
    assert (back.serving, back.previous, back.promoted_at, back.revision) == ("7", None, None, 5)
    with pytest.raises(ConfigurationError, match="none is known from before"):
        roll_back(back, "me", "")


def test_a_version_that_is_not_fit_is_taken_out_wherever_it_is_named() -> None:
    both = replace(canary(), shadow=Part("8", 1.0))
    taken = without_version(both, "8", "a worker", "NaN")
    assert taken is not None
    assert (taken.serving, taken.canary, taken.shadow, taken.revision) == ("7", None, None, both.revision + 1)
    over = promote(canary(), "8", "me")
    back = without_version(over, "8", "a worker", "NaN")
    assert back is not None
    assert (back.serving, back.previous) == ("7", None)


@pytest.mark.parametrize("tried", [with_canary, with_shadow])
def test_a_version_that_served_before_and_is_not_fit_is_not_gone_back_to(tried) -> None:
    over = replace(promote(START, "8", "me"), limits=Limits(probation_seconds=0.0))
    taken = without_version(tried(over, Part("7", 0.1), "me"), "7", "a worker", "NaN")
    assert taken is not None
    assert (taken.serving, taken.previous, taken.trusted(taken.change.at)) == ("8", None, None)
    assert taken.kept == {"8"}


def test_after_a_version_was_taken_back_a_rollback_does_not_leave_the_good_one() -> None:
    good = promote(START, "8", "me")
    taken = without_version(with_canary(good, Part("9", 0.1), "me"), "9", "worker-1", "NaN")
    assert taken is not None
    assert (taken.serving, taken.previous, taken.change.taken_back) == ("8", "7", "9")
    with pytest.raises(ConfigurationError, match=r"worker-1 has taken version 9 back .* promote version 7"):
        roll_back(taken, "me", "bad")
    both = replace(taken, shadow=Part("10", 1.0))
    assert roll_back(both, "me", "bad").shadow is None
    ended = roll_back(with_canary(taken, Part("9", 0.1), "me"), "me", "bad")
    assert roll_back(ended, "me", "bad").serving == "7"


def test_a_rollback_says_what_it_leaves_and_what_it_goes_to() -> None:
    tried = replace(canary(), shadow=Part("9", 1.0))
    asked = ask_rollback(tried, roll_back(tried, "me", ""))
    assert asked == "End the trial of version 8 and 9? Version 7 serves on."
    promoted = promote(START, "8", "me")
    assert ask_rollback(promoted, roll_back(promoted, "me", "")) == "Go back from version 8 to version 7?"


def test_a_long_reason_is_shortened() -> None:
    assert len(roll_back(canary(), "me", 5000 * "x").change.reason) == 2000


def test_a_reason_with_bytes_that_are_no_utf8_is_kept_without_them() -> None:
    state = roll_back(canary(), "m\udcf6@host", "sch\udcf6n")
    assert (state.change.by, state.change.reason) == ("m?@host", "sch?n")
    assert state.encode()


def test_nothing_is_taken_out_that_is_not_named_or_that_is_the_only_one() -> None:
    assert without_version(canary(), "9", "a worker", "NaN") is None
    assert without_version(START, "7", "a worker", "NaN") is None
