"""Latest drops of a group, and the messages about them."""

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import orjson
import pytest

from dehusk.schemas.documents import Origin
from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.drops import MAX_DROPS, Drop, GroupDrops, merge_drops
from dehusk.streams.monitoring.messages import SharedDrops, drops_record, read_shared
from dehusk.streams.sources.source import Record

from .conftest import NOW, Clock, Topic, message

REASON = ("skipped", "not-html")


def drop(second: int, offset: int | None = None) -> Drop:
    time = datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=second, microseconds=7)
    return Drop(time, Origin("raw", 1, second if offset is None else offset), "https://e.org/", "detail")


class Sharer:
    """A worker that shares its drops on a topic, as its group reads them."""

    def __init__(self, clock: Clock) -> None:
        self.drops = GroupDrops(clock)
        self.own: tuple[Drop, ...] = ()

    def to_share(self) -> tuple[Drop, ...] | None:
        return self.drops.to_share({REASON: self.own}).get(REASON)


def seconds(drops: Iterable[Drop]) -> list[int]:
    return [each.source.offset for each in drops]


def test_the_latest_of_all_are_kept() -> None:
    drops = [(drop(1), drop(5)), (drop(2), drop(4), drop(6)), (drop(3), drop(7))]
    for each in permutations(drops):
        assert seconds(merge_drops(merge_drops(*each[:2]), each[2])) == [3, 4, 5, 6, 7]
    assert MAX_DROPS == 5


def test_a_page_that_is_dropped_again_counts_once() -> None:
    pages = [drop(second, offset=second % 2) for second in range(10)]
    assert merge_drops(pages, pages) == (pages[8], pages[9])
    other = replace(pages[0], url="https://e.org/other")
    assert merge_drops([pages[0], other]) == (pages[0], other)


def test_drops_are_written_once() -> None:
    worker = Sharer(Clock())
    assert worker.to_share() is None
    worker.own = (drop(1),)
    assert worker.to_share() == (drop(1),)
    worker.drops.add(REASON, (drop(1),))
    assert worker.to_share() is None
    worker.own = (drop(1), drop(2))
    assert worker.to_share() == (drop(1), drop(2))


def test_what_others_write_is_kept_and_is_no_reason_to_write() -> None:
    worker = Sharer(Clock())
    worker.drops.add(REASON, (drop(1),))
    worker.drops.add(REASON, (drop(2),))
    assert worker.to_share() is None
    assert worker.drops.latest(REASON) == (drop(1), drop(2))
    worker.own = (drop(3),)
    assert worker.to_share() == (drop(1), drop(2), drop(3))


def test_of_two_that_write_at_once_none_is_lost() -> None:
    one, other = (Sharer(Clock()) for _ in range(2))
    one.own, other.own = (drop(1),), (drop(2),)
    written = [one.to_share(), other.to_share()]
    for drops in written:
        for worker in (one, other):
            worker.drops.add(REASON, drops or ())
    assert other.to_share() is None
    repaired = one.to_share()
    assert repaired == (drop(1), drop(2))
    for worker in (one, other):
        worker.drops.add(REASON, repaired)
        assert worker.to_share() is None


def test_a_worker_whose_drops_are_older_than_the_latest_writes_nothing() -> None:
    worker = Sharer(Clock())
    worker.own = (drop(1),)
    worker.drops.add(REASON, tuple(map(drop, range(2, 7))))
    assert worker.to_share() is None


def test_an_old_message_is_written_again_before_the_topic_deletes_it(clock: Clock) -> None:
    worker = Sharer(clock)
    worker.own = (drop(1),)
    worker.drops.add(REASON, worker.own, age=600.0)
    clock.now += 2_900
    assert worker.to_share() is None
    clock.now += 200
    assert worker.to_share() == worker.own


def test_the_age_of_a_message_counts(topic: Topic) -> None:
    for age, written in ((3_000.0, {}), (4_000.0, {REASON: (drop(1),)})):
        topic.send(drops_record("g", SharedDrops(REASON, (drop(1),))), age)
        assert topic.group.drops.to_share({REASON: (drop(1),)}) == written


def test_the_number_of_reasons_is_bounded() -> None:
    drops = GroupDrops()
    for number in range(1000):
        drops.add(("skipped", str(number)), (drop(number),))
    assert [bool(drops.latest(("skipped", number))) for number in ("0", "99", "100")] == [True, True, False]
    drops.add(("skipped", "0"), (drop(7),))
    assert len(drops.latest(("skipped", "0"))) == 2


@pytest.mark.parametrize("group", ["g", "g/h", '"', "skipped"])
def test_what_is_written_is_read_by_the_group_alone(group: str) -> None:
    latest = (drop(1), replace(drop(2), url=None))
    record = drops_record(group, SharedDrops(REASON, latest))
    assert read_shared(message(record), group) == SharedDrops(REASON, latest)
    assert read_shared(message(record), "other") is None
    assert read_shared(message(Record(record.key, None)), group) is None


def test_versions_that_know_no_drops_pass_them_over() -> None:
    """They leave out, without a warning, what has a text or a text and a number after another group."""
    group, *rest = orjson.loads(drops_record("g", SharedDrops(REASON, ())).key or b"")
    assert group == ""
    assert [type(each) for each in rest] == [str]


def test_drops_of_a_group_are_no_sign_of_life(topic: Topic) -> None:
    topic.send(drops_record("g", SharedDrops(REASON, (drop(1),))))
    topic.send(drops_record("other", SharedDrops(REASON, (drop(2),))))
    assert topic.group.drops.latest(REASON) == (drop(1),)
    assert (topic.group.state, topic.group.silent_since, topic.group.malformed) == (None, None, 0)


def test_fields_of_later_versions_are_passed_over() -> None:
    record = drops_record("g", SharedDrops(REASON, (drop(1),)))
    fields = orjson.loads(record.value or b"")
    fields["latest"][0] |= {"later": [1]}
    value = orjson.dumps(fields | {"later": 1})
    assert read_shared(Message(record.key, value), "g") == SharedDrops(REASON, (drop(1),))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time", "2026-11-24T10:00:00"),
        ("time", 7),
        ("time", None),
        ("source", {"topic": "raw", "partition": 1}),
        ("source", {"topic": "raw", "partition": 1, "offset": 10**30}),
        ("url", 7),
        ("detail", None),
        ("detail", "d" * 1000),
    ],
)
def test_a_field_of_another_kind_is_malformed(name: str, value: object, topic: Topic) -> None:
    record = drops_record("g", SharedDrops(REASON, (drop(1),)))
    fields = orjson.loads(record.value or b"")
    fields["latest"][0][name] = value
    topic.send(Record(record.key, json.dumps(fields).encode()))
    assert topic.group.malformed == 1
    assert topic.group.drops.latest(REASON) == ()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'["","g"]', b'{"layout":1,"latest":[]}'),
        (b'["","skipped/not-html/g"]', b'{"layout":2,"latest":[]}'),
        (b'["","skipped/not-html/g"]', b'{"layout":1}'),
        (b'["","skipped/not-html/g"]', b"[" + b" " * 70_000 + b"]"),
    ],
)
def test_what_no_worker_wrote_is_malformed(key: bytes, value: bytes, topic: Topic) -> None:
    topic.send(Record(key, value))
    assert topic.group.malformed == 1
