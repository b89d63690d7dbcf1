"""Lag of a partition: the messages that are not done with, by what the brokers hold."""

from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer
from faust.types import TP


@dataclass(frozen=True, slots=True)
class Bounds:
    """Offsets of a partition, as the brokers last told them."""

    begin: int
    end: int
    """Last stable offset."""


def lag_of(state: Any, bounds: Bounds | None, committed: int | None, *, is_outstanding: bool) -> int:  # noqa: ANN401 aiokafka has no types
    """Return the lag of a partition: the offsets up to the newest end known that are not done with.

    What follows the committed offset is, or, where no message is outstanding, what is not read: transactions
    leave offsets without a message. Before a partition is read and its bounds are known, it is 0.
    """
    end = max(state.lso or 0, 0 if bounds is None else bounds.end)
    if not is_outstanding and state.has_valid_position:
        return max(0, int(end - state.position))
    if committed is None:
        return 0 if bounds is None else max(0, end - bounds.begin)
    return max(0, int(end - committed))


async def find_bounds(consumer: AIOKafkaConsumer) -> dict[TP, Bounds]:
    """Ask the brokers for the bounds of the assigned partitions.

    Raises:
        KafkaError: they do not answer.
    """
    partitions = consumer.assignment()
    begins, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
    return {TP(each.topic, each.partition): Bounds(begins[each], ends[each]) for each in partitions}
