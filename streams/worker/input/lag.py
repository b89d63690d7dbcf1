"""Lag of a partition: the messages that are not done with, by what the brokers hold."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer
from faust.types import TP


@dataclass(frozen=True, slots=True)
class Bounds:
    """Offsets of a partition, as the brokers last told them."""

    begin: int | None
    """Its first offset; None where it was not asked for."""
    end: int
    """Last stable offset."""


def lag_of(
    state: Any,  # noqa: ANN401 aiokafka has no types
    bounds: Bounds | None,
    committed: int | None,
    *,
    is_outstanding: bool,
) -> int | None:
    """Return the lag of a partition: the offsets up to the newest end known that are not done with.

    What follows the committed offset is, or, where no message is outstanding, what is not read: transactions
    leave offsets without a message. None before its end is known, and its beginning if nothing is committed.
    """
    known = (state.lso, None if bounds is None else bounds.end)
    ends = [end for end in known if end is not None]
    if not is_outstanding and state.has_valid_position:
        begin = state.position
    else:
        begin = committed if committed is not None or bounds is None else bounds.begin
    return max(0, int(max(ends) - begin)) if ends and begin is not None else None


async def find_bounds(consumer: AIOKafkaConsumer, *, uncommitted: Container[TP]) -> dict[TP, Bounds]:
    """Ask the brokers for the ends of the assigned partitions, and for the beginnings of uncommitted ones.

    Raises:
        KafkaError: they do not answer.
    """
    partitions = {TP(each.topic, each.partition): each for each in consumer.assignment()}
    if not partitions:  # aiokafka has nobody to ask before it has started
        return {}
    ends = await consumer.end_offsets(partitions.values())
    unread = [each for partition, each in partitions.items() if partition in uncommitted]
    begins = await consumer.beginning_offsets(unread) if unread else {}
    return {partition: Bounds(begins.get(each), ends[each]) for partition, each in partitions.items()}
