"""Evidence of trials that a change ends."""

from dataclasses import replace

import pytest

from dehusk.schemas.rollout import Part, Rollout
from dehusk.schemas.trials import CANARY, PROMOTED, SHADOW, Comparison, EndedTrial, Figures, WorkerReport
from dehusk.streams.rollout.evidence import counting, ended_trials
from dehusk.streams.rollout.transitions import (
    first_state,
    pause,
    promote,
    roll_back,
    take_step,
    with_canary,
    with_shadow,
    with_steps,
)

START = promote(first_state("7", "me"), "7", "me")
BOTH = with_canary(with_shadow(START, Part("9", 1.0), "me"), Part("8", 0.1), "me")
ON_PROBATION = promote(START, "8", "me")
STEPPED = with_steps(START, "8", (0.1, 0.5), 60.0, "me")
SEEN = Comparison(shadow=Figures(pages=5), pages=5)


def report(worker: str, state: Rollout) -> WorkerReport:
    figures, trials = {"8": Figures(pages=3, errors=1)}, {CANARY: SEEN, PROMOTED: SEEN}
    return WorkerReport(worker, state.revision, "7", figures=figures, comparison=SEEN, trials=trials)


@pytest.mark.parametrize(
    ("before", "after", "ended"),
    [
        (BOTH, with_canary(BOTH, Part("8", 0.5), "me"), []),
        (BOTH, with_canary(BOTH, Part("6", 0.5), "me"), [(CANARY, "8", "7")]),
        (BOTH, promote(BOTH, "8", "me"), [(SHADOW, "9", "7"), (CANARY, "8", "7")]),
        (BOTH, roll_back(BOTH, "me", ""), [(SHADOW, "9", "7"), (CANARY, "8", "7")]),
        (START, promote(START, "8", "me"), []),
        (STEPPED, pause(STEPPED, "me", ""), []),
        (STEPPED, take_step(STEPPED, "w1"), [(CANARY, "8", "7")]),
        (ON_PROBATION, roll_back(ON_PROBATION, "me", ""), [(PROMOTED, "8", "7")]),
        (ON_PROBATION, promote(ON_PROBATION, "9", "me"), [(PROMOTED, "8", "7")]),
        (ON_PROBATION, with_shadow(ON_PROBATION, Part("9", 0.5), "me"), []),
    ],
)
def test_a_trial_ends_when_its_versions_are_compared_no_more(before, after, ended) -> None:
    found = ended_trials(before, after, [report("w1", before), report("w2", before)])
    assert [(each.trial, each.version, each.trusted) for each in found] == ended
    assert all((each.workers, each.comparison.pages) == (2, 10) for each in found)


def seen(state: Rollout, **more: object) -> WorkerReport:
    """Return the report of a worker that follows a state, and has seen something of all trials."""
    versions = {"canary": state.canary, "shadow": state.shadow}
    names = {role: part and part.version for role, part in versions.items()}
    return replace(report("w", state), **{"serving": state.serving, **names, **more})


LARGER = with_canary(BOTH, Part("8", 0.5), "me")
OTHER = with_canary(BOTH, Part("6", 0.5), "me")
AGAIN = with_canary(OTHER, Part("8", 0.5), "me")
STEP = take_step(STEPPED, "w1")


@pytest.mark.parametrize(
    ("states", "reported", "counts"),
    [
        ([START, BOTH], seen(BOTH), (True, [CANARY], True)),
        ([START, BOTH, LARGER], seen(BOTH), (True, [CANARY], True)),
        ([START, BOTH, LARGER], seen(BOTH, revision=START.revision), None),
        ([START, BOTH, OTHER], seen(BOTH), (True, [], False)),
        ([START, BOTH, OTHER, AGAIN], seen(BOTH), (True, [], False)),
        ([BOTH, AGAIN], seen(BOTH), None),
        ([START, BOTH, LARGER], seen(BOTH, canary=None), (True, [], False)),
        ([START, BOTH, LARGER], seen(BOTH, shadow="5"), (False, [CANARY], True)),
        ([START, STEPPED, STEP], seen(STEPPED), None),
        ([START, STEPPED, pause(STEPPED, "me", "")], seen(STEPPED), (False, [CANARY], True)),
        ([START, ON_PROBATION], seen(ON_PROBATION), (False, [PROMOTED], True)),
        ([START, ON_PROBATION], seen(ON_PROBATION, serving="7"), None),
        ([BOTH, roll_back(BOTH, "me", "")], seen(BOTH), None),
    ],
)
def test_what_was_seen_counts_from_the_state_on_with_which_its_trial_began(
    states: list[Rollout], reported: WorkerReport, counts: tuple[bool, list[str], bool] | None
) -> None:
    found = counting([reported], states)
    kinds = [(each.comparison is not None, [*each.trials], bool(each.figures)) for each in found]
    assert kinds == ([] if counts is None else [counts])


def test_a_version_that_labeled_nothing_has_its_failures() -> None:
    failing = WorkerReport("w1", BOTH.revision, "7", figures={"8": Figures(pages=2, rejected=2)})
    (ended,) = ended_trials(BOTH, roll_back(BOTH, "me", "bad"), [failing])
    assert (ended.figures.rejected, ended.change.reason) == (2, "bad")
    assert EndedTrial.decode(ended.encode()) == ended
