"""Faust's consumer, and what it does where Faust's own would stop, or lose track of what is read.

Kafka may take away what was to be read next: its retention removes messages, or somebody deletes the topic
and makes it again. aiokafka would go on elsewhere without a word; here its position is looked after.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, NoOffsetForPartitionError, OffsetOutOfRangeError
from faust.transport.consumer import ensure_TP
from faust.transport.drivers import aiokafka
from faust.types import TP

from dehusk.streams.counted import counted

_ASK_SECONDS = 1.0
_log = logging.getLogger(__name__)


class ConsumerThread(aiokafka.AIOKafkaConsumerThread):
    """A consumer's thread, whose commits neither fail nor wait where a partition has gone meanwhile."""

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Whether the offsets were committed; those of partitions or topics that have gone never are."""
        committing = asyncio.create_task(self._commit_assigned(offsets))
        try:
            while not (await asyncio.wait([committing], timeout=_ASK_SECONDS))[0]:
                if not self._exist(offsets):  # aiokafka would try for ever, and a rebalance would wait for it
                    return False
            return committing.result()
        finally:
            committing.cancel()

    async def _commit_assigned(self, offsets: Mapping[TP, int]) -> bool:
        assigned = self.assignment()
        kept = {partition: offset for partition, offset in offsets.items() if partition in assigned}
        return await super()._commit(kept) if kept else False  # aiokafka takes nothing for an error

    def _exist(self, partitions: Iterable[TP]) -> bool:
        consumer = self._ensure_consumer()
        return all(consumer.partitions_for_topic(topic) for topic in {each.topic for each in partitions})


class Consumer(aiokafka.Consumer):
    """A consumer that says what Kafka removed before it was read, and reads a topic that was made again."""

    transport: "Transport"

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 Faust's
        super().__init__(*args, **options)
        self._removed: dict[TP, tuple[int, int]] = {}
        """The offset behind what was read, and that behind what was removed, until this is committed."""

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _getmany(
        self,
        active_partitions: set[TP] | None,
        timeout: float,  # noqa: ASYNC109 Faust's
    ) -> Mapping[TP, list[Any]]:
        """Records by partition; none where a partition is first to be read from another position."""
        try:
            return await super()._getmany(active_partitions, timeout)
        except NoOffsetForPartitionError:
            with suppress(KafkaError):  # it comes again as long as a partition has no position
                await self._begin()
        except OffsetOutOfRangeError as error:
            with suppress(KafkaError):
                await self._go_on({ensure_TP(partition): at for partition, at in error.args[0].items()})
        return {}

    async def _begin(self) -> None:
        """Read the partitions that the group has read nothing of from their beginning."""
        unread = [each for each in self.assignment() if self._read_offset[each] is None]
        await self._thread.seek_to_beginning(*(TopicPartition(*each) for each in unread))

    async def _go_on(self, lost: Mapping[TP, int]) -> None:
        """Read all partitions from their beginning that have lost their positions, as these have.

        They are looked at together, for Kafka answers each such question only behind a fetch.
        """
        read = {each for each in self.assignment() if self._read_offset[each] is not None}
        partitions = read.union(lost)
        beginnings, ends = await self.earliest_offsets(*partitions), await self.highwaters(*partitions)
        for partition in partitions:
            position = await self._thread.position(partition) or 0
            if position < beginnings[partition]:
                await self._skip(partition, position, beginnings[partition])
            elif position > ends[partition] or lost.get(partition) == position:
                await self._begin_again(partition, position, beginnings[partition])

    async def _skip(self, partition: TP, position: int, beginning: int) -> None:
        """Go on behind what was removed."""
        _log.warning(
            "%s: Kafka removed %s, from offset %d on, before they were read",
            _named(partition),
            counted(beginning - position, "message"),
            position,
        )
        self.transport.on_removed(beginning - position)
        read = self._read_offset[partition]
        self._removed[partition] = (position if read is None else min(position, read + 1), beginning)
        self._read_offset[partition] = beginning - 1  # else Faust would list all offsets in between
        await self._seek(partition, beginning)

    async def _begin_again(self, partition: TP, position: int, beginning: int) -> None:
        """Read a partition that was made again, without what is known of the one before."""
        _log.warning(
            "%s has nothing at offset %d, which was to be read next, for the topic was made again or lost "
            "messages: it is read from its beginning",
            _named(partition),
            position,
        )
        self._forget(partition)
        await self._commit({partition: beginning})
        await self._seek(partition, beginning)

    async def perform_seek(self) -> None:
        """Go back to what is committed, where partitions are assigned; aiokafka does not where that is 0."""
        if not self.assignment():
            return
        await super().perform_seek()
        for partition in [each for each in self.assignment() if self._read_offset[each] == 0]:
            await self._seek(partition, 0)

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Stop reading until partitions are assigned.

        Faust does not where no partition is assigned any more, as when a topic begins to match the input:
        what it went on to read would be dropped when it resumes, and what follows that be committed.
        """
        if not self.app.should_stop:
            self.stop_flow()
            self.app.flow_control.suspend()
        await super().on_partitions_revoked(revoked)

    async def force_commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:  # noqa: ANN401, FBT001, FBT002 Faust's
        """Commit what is acknowledged, and behind it what was removed."""
        did_commit: bool = await super().force_commit(topics, start_new_transaction)
        for partition, (read, beginning) in list(self._removed.items()):
            committed = self._committed_offset[partition] or 0
            if committed >= read:
                del self._removed[partition]
                await self._commit_offsets({partition: max(beginning, committed)})
        return did_commit

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Begin anew: what is known of the partitions from earlier may be of a topic that has gone since."""
        for partition in assigned:
            self._forget(partition)
        await super().on_partitions_assigned(assigned, generation_id)

    def _forget(self, partition: TP) -> None:
        """Forget what was read of a partition; what is still in flight of it must not be committed."""
        for message in [each for each in self.unacked if each.tp == partition]:
            message.acked = True
            self.unacked.discard(message)
        for known in (self._gap, self._acked, self._acked_index, self._read_offset, self._committed_offset):
            known.pop(partition, None)
        self._removed.pop(partition, None)


def _named(partition: TP) -> str:
    return f"partition {partition.partition} of topic {partition.topic}"


class Transport(aiokafka.Transport):
    """Faust's transport with this consumer; `on_removed` is told how many messages were removed unread."""

    Consumer = Consumer

    def __init__(self, *args: Any, on_removed: Callable[[int], None]) -> None:  # noqa: ANN401 Faust's
        super().__init__(*args)
        self.on_removed = on_removed
