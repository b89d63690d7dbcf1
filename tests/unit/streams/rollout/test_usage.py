"""Users of each version, by the control topic."""

import time

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Part, Rollout, Scope
from dehusk.schemas.trials import WorkerReport
from dehusk.streams.rollout.control import Control, ControlKey, state_record
from dehusk.streams.rollout.situation import check_unused, pinned_versions, taken_back_versions, unpinned
from dehusk.streams.rollout.transitions import first_state, promote, with_canary, without_version

SCOPE = Scope("m", "group")
SEVEN = promote(first_state("7", "me"), "7", "me")


def topic(states: dict[Scope, Rollout], workers: dict[Scope, WorkerReport], *, age: int = 0) -> Control:
    """Return the records on the topic, written so many seconds ago."""
    control, at = Control(), int(1000 * (time.time() - age))
    for scope, state in states.items():
        record = state_record(scope, state)
        control.apply(Message(record.key, record.value), at)
    for scope, report in workers.items():
        control.apply(Message(ControlKey(scope, report.worker).encode(), report.encode()), at)
    return control


def test_groups_without_a_state_whose_workers_are_there_are_unpinned() -> None:
    scopes = [SCOPE, Scope("m", "b"), Scope("m", "a"), Scope("other", "group")]
    reports = {scope: WorkerReport("w", 0, "7") for scope in scopes}
    assert unpinned(topic({SCOPE: SEVEN}, reports), "m") == [Scope("m", "a"), Scope("m", "b")]
    assert unpinned(topic({}, reports, age=60), "m") == []


@pytest.mark.parametrize(
    ("state", "version", "said"),
    [
        (SEVEN, "7", "names it"),
        (with_canary(SEVEN, Part("8", 0.1), "me"), "8", "names it"),
        (promote(SEVEN, "8", "me"), "7", "goes back to it"),
    ],
)
def test_a_version_that_a_state_names_is_needed(state: Rollout, version: str, said: str) -> None:
    control = topic({SCOPE: state}, {})
    assert version in pinned_versions(control, "m")
    with pytest.raises(ConfigurationError, match=said):
        check_unused(control, "m", version)
    check_unused(control, "other", version)
    assert pinned_versions(control, "other") == set()


def test_what_workers_have_taken_back_is_known_until_a_state_needs_it() -> None:
    tried = with_canary(SEVEN, Part("8", 0.1), "me")
    back = without_version(tried, "8", "w", "slow")
    assert back is not None
    control = topic({SCOPE: back}, {})
    for state in (tried, back):
        control.changes[ControlKey(SCOPE, change=str(state.revision))] = state
    assert taken_back_versions(control, "m") == {"8"}
    assert taken_back_versions(control, "other") == set()
    control.states[Scope("m", "other")] = tried
    assert taken_back_versions(control, "m") == set()


def test_a_version_is_needed_that_a_worker_labels_with() -> None:
    control = topic({SCOPE: SEVEN}, {SCOPE: WorkerReport("w", 1, "7", shadow="8")})
    with pytest.raises(ConfigurationError, match=r"m/8 .* worker w"):
        check_unused(control, "m", "8")
    check_unused(control, "m", "6")
