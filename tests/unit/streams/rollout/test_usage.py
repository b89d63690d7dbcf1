"""Who uses which version, by the control topic."""

import time

import pytest

from dehusk.schemas.comparison import WorkerReport
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Limits, Part, Rollout, Scope
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.keys import ControlKey
from dehusk.streams.rollout.steps import first, pinned, promoted, with_canary
from dehusk.streams.rollout.usage import check_unused, pinned_versions, unpinned
from dehusk.streams.rollout.writing import state_record

SCOPE = Scope("m", "group")
SEVEN = pinned(first("7", "me", Limits()), "me")


def topic(states: dict[Scope, Rollout], workers: dict[Scope, WorkerReport], *, age: int = 0) -> Control:
    """What is on the topic, written so many seconds ago."""
    control, at = Control(), int(1000 * (time.time() - age))
    for scope, state in states.items():
        record = state_record(scope, state)
        control.take(Message(record.key, record.value), at)
    for scope, report in workers.items():
        control.take(Message(ControlKey(scope, report.worker).written(), report.written()), at)
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
        (with_canary(SEVEN, Part("8", 0.1), "me", Limits()), "8", "names it"),
        (promoted(SEVEN, "8", "me", Limits()), "7", "goes back to it"),
    ],
)
def test_a_version_that_a_state_names_is_needed(state: Rollout, version: str, said: str) -> None:
    control = topic({SCOPE: state}, {})
    assert version in pinned_versions(control, "m")
    with pytest.raises(ConfigurationError, match=said):
        check_unused(control, "m", version)
    check_unused(control, "other", version)
    assert pinned_versions(control, "other") == set()


def test_a_version_is_needed_that_a_worker_labels_with() -> None:
    control = topic({SCOPE: SEVEN}, {SCOPE: WorkerReport("w", 1, "7", shadow="8")})
    with pytest.raises(ConfigurationError, match="m/8 is needed: worker w of model m in group group"):
        check_unused(control, "m", "8")
    check_unused(control, "m", "6")
