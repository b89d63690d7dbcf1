"""Partitions of topics that were deleted and created again, until they are read from their beginning."""

from functools import partial

from faust.types import TP

from dehusk.streams.kafka.topic_ids import Identities, ask_identities
from dehusk.streams.worker.input.consumer_thread import ConsumerThread


class MadeAgain:
    """Assigned partitions of topics that were made again while this worker had them."""

    def __init__(self, thread: ConsumerThread) -> None:
        self._thread = thread
        self._identities = Identities()
        """Identities of the topics, since their partitions were assigned."""
        self.partitions: set[TP] = set()

    async def find(self) -> None:
        """Add the partitions of topics that were made again.

        The answer says nothing of those that are assigned anew meanwhile: it may be older than their offsets.

        Raises:
            ConsumerNotStarted: the thread has ended, as the worker stops.
            KafkaError: no broker answers.
        """
        states = self._thread.read_states()
        if not states:
            return
        found = await self._thread.ask(partial(ask_identities, topics={each.topic for each in states}))
        now = self._thread.read_states()
        kept = {partition for partition, state in states.items() if now.get(partition) is state}
        again = self._identities.note({each.topic: found[each.topic] for each in kept if each.topic in found})
        self.partitions |= {each for each in kept if each.topic in again}

    def existing(self) -> list[TP]:
        """Return those that the new topics have, too; forget those that are assigned no more."""
        self.partitions &= self._thread.read_states().keys()
        return [each for each in self.partitions if self._exists(each)]

    def forget(self, partition: TP) -> None:
        """Forget a partition that is assigned anew, and take the topic that is there for the one it is of."""
        self.partitions.discard(partition)
        self._identities.forget(partition.topic)

    def _exists(self, partition: TP) -> bool:
        identity = self._identities.get(partition.topic)
        return identity is not None and partition.partition < identity.partitions
