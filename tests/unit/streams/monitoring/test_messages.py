"""The messages of the topic."""

from contextlib import nullcontext
from dataclasses import replace

import msgspec
import orjson
import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.history import SLOTS
from dehusk.streams.monitoring.messages import (
    Shared,
    SharedPoint,
    SharedState,
    end_record,
    point_record,
    read_shared,
    state_record,
)
from dehusk.streams.monitoring.state import DependencyState
from dehusk.streams.sources.source import Record
from tests import first_release

from .conftest import NOW, POINT, STATE, counts, message


def read(record: Record) -> Shared | None:
    return read_shared(message(record), "g")


def test_what_is_written_is_read() -> None:
    state = SharedState("host", None, STATE)
    assert read(state_record("g", "a", state)) == Shared("a", state)
    point = SharedPoint(POINT, counts(3))
    assert read(point_record("g", "a", point)) == Shared("a", point)
    assert read(end_record("g", "a")) == Shared("a", None)


def test_points_of_the_same_ten_seconds_of_an_hour_have_the_same_key() -> None:
    times = (NOW, NOW + 9, NOW + 10, NOW + 10 * SLOTS)
    keys = [point_record("g", "a", SharedPoint(replace(POINT, time=time), counts(1))).key for time in times]
    assert keys[0] == keys[1] == keys[3] != keys[2]


def test_a_point_that_is_deleted_says_nothing() -> None:
    assert read(Record(b'["g","a",7]', None)) is None


@pytest.mark.parametrize(
    ("key", "first", "shared"),
    [
        (b'["g","a"]', first_release.STATE, SharedState("host", None, STATE)),
        (b'["g","a",0]', first_release.POINT, SharedPoint(POINT, counts(10))),
    ],
)
def test_messages_of_the_first_release_and_of_later_ones_are_read(
    key: bytes, first: bytes, shared: SharedState | SharedPoint
) -> None:
    assert read(Record(key, first)) == Shared("a", shared)
    assert read(Record(key, first_release.with_later_fields(first))) == Shared("a", shared)


def test_the_first_release_reads_what_is_written() -> None:
    state = state_record("g", "a", SharedState("host", None, STATE))
    point = point_record("g", "a", SharedPoint(POINT, counts(3)))
    for record, first in ((state, first_release.STATE), (point, first_release.POINT)):
        assert not first_release.lacking(orjson.loads(record.value or b""), orjson.loads(first))


def test_a_field_of_later_versions_may_be_deep_but_not_endlessly_so() -> None:
    record = state_record("g", "a", SharedState("host", None, STATE))
    for depth, is_read in ((100, True), (20_000, False)):
        deep = b'{"later":' + b"[" * depth + b"]" * depth + b"," + (record.value or b"")[1:]
        with nullcontext() if is_read else pytest.raises(ValueError, match="depth"):
            assert read(Record(record.key, deep)) == read(record)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("host",), 7),
        (("host",), "h" * 1000),
        (("state", "version"), None),
        (("state", "started"), "now"),
        (("state", "started"), True),
        (("state", "started"), 1e300),
        (("state", "started"), 10**13),
        (("state", "most_in_flight"), 1.5),
        (("state", "partitions"), {}),
        (("state", "partitions"), [{"topic": "t"}]),
        (("state", "hindrances"), ["h"] * 1000),
        (("state", "counts", "skipped"), {"reason": "many"}),
        (("state", "point", "steps"), {"label": ["1"]}),
        (("state", "point", "lag"), 2**62),
    ],
)
def test_a_field_of_another_kind_is_an_error(path: tuple[str, ...], value: object) -> None:
    record = state_record("g", "a", SharedState("host", None, STATE))
    fields = orjson.loads(record.value or b"")
    inner = fields
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(msgspec.ValidationError, match=path[-1]):
        read_shared(Message(record.key, orjson.dumps(fields)), "g")


def test_long_reasons_are_shortened() -> None:
    dependency = DependencyState("redis", "pages go without", NOW, "r" * 5000)
    state = replace(STATE, dependencies=(dependency,), hindrances=("h" * 5000,))
    shared = read(state_record("g", "a", SharedState("host", None, state)))
    assert shared is not None
    assert isinstance(shared.content, SharedState)
    assert len(shared.content.state.dependencies[0].reason) == len(shared.content.state.hindrances[0]) == 300
