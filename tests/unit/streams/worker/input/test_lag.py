"""The lag of a partition."""

from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition
from faust.types import TP

from dehusk.streams.worker.input.lag import Arrivals, Bounds, find_bounds, lag_of


@pytest.mark.parametrize(
    ("position", "fetched", "bounds", "committed", "is_outstanding", "lag"),
    [
        (7, 10, None, 7, False, 3),
        (10, 10, None, 8, False, 0),  # the rest is markers of transactions
        (10, 10, None, 8, True, 2),
        (10, 10, Bounds(0, 15), 8, True, 7),
        (10, None, Bounds(0, 15), 8, False, 5),
        (10, 20, Bounds(0, 15), 8, True, 12),
        (10, 10, Bounds(4, 15), None, True, 11),
        (10, 10, None, None, True, None),
        (10, 10, Bounds(None, 15), None, True, None),
        (10, 10, Bounds(None, 15), 8, True, 7),
        (None, None, None, 8, False, None),
        (None, 10, None, 8, False, 2),
        (None, None, None, None, False, None),
    ],
)
def test_the_lag_is_what_is_not_done_with(  # noqa: PLR0917 columns of the table
    position, fetched, bounds, committed, is_outstanding, lag
) -> None:
    state = SimpleNamespace(position=position, lso=fetched, has_valid_position=position is not None)
    assert lag_of(state, bounds, committed, is_outstanding=is_outstanding) == lag


class Brokers:
    """Consumer whose brokers hold the offsets 3 to 9 of each partition."""

    def __init__(self, *partitions: int) -> None:
        self.partitions = [TopicPartition("raw", number) for number in partitions]
        self.asked_for_beginnings: list[TopicPartition] = []

    def assignment(self) -> list[TopicPartition]:
        return self.partitions

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 9)

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked_for_beginnings += partitions
        return dict.fromkeys(partitions, 3)


async def test_beginnings_are_asked_for_only_where_nothing_is_committed() -> None:
    brokers = Brokers(0, 1)
    bounds = await find_bounds(brokers, uncommitted={TP("raw", 1)})
    assert bounds == {TP("raw", 0): Bounds(None, 9), TP("raw", 1): Bounds(3, 9)}
    assert brokers.asked_for_beginnings == [TopicPartition("raw", 1)]


async def test_without_partitions_nothing_is_asked() -> None:
    assert await find_bounds(Brokers(), uncommitted=set()) == {}


def test_what_comes_is_counted_in_the_partitions_that_stay() -> None:
    now = [0.0]
    arrivals = Arrivals(lambda: now[0])
    assert (arrivals.per_second, arrivals.bounds) == (None, {})
    one, other = TP("raw", 0), TP("raw", 1)
    arrivals.note({one: Bounds(None, 100)})
    assert arrivals.per_second is None
    now[0] = 3.0
    arrivals.note({one: Bounds(None, 130), other: Bounds(None, 5000)})
    now[0] = 6.0
    arrivals.note({one: Bounds(None, 10), other: Bounds(None, 5030)})  # one was made again
    assert arrivals.per_second == 10.0
    now[0] = 60.0
    assert (arrivals.per_second, arrivals.bounds) == (None, {})
