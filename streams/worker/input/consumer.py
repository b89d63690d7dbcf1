"""Faust's driver for Kafka, set up to read committed records of all topics in the worker's input.

Kafka may take away what was to be read next: its retention removes messages, or somebody deletes the topic
and creates it again. aiokafka would silently continue at another position; here this is detected and logged.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import KafkaError, NoOffsetForPartitionError, OffsetOutOfRangeError
from faust.exceptions import ConsumerNotStarted
from faust.tables.recovery import RebalanceAgain
from faust.transport import conductor
from faust.transport.consumer import ensure_TP
from faust.transport.drivers import aiokafka as driver
from faust.types import TP, Message

from dehusk.streams.wording import pluralize
from dehusk.streams.worker.input.consumer_thread import ConsumerThread, Hooks
from dehusk.streams.worker.input.lag import Arrivals, find_bounds, lag_of
from dehusk.streams.worker.input.made_again import MadeAgain
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.input.passing import PassingConsumer

_POLL_SECONDS = 0.02
_log = logging.getLogger(__name__)


class Consumer(PassingConsumer):
    """Consumer that reports messages removed before they were read, and restarts re-created topics."""

    logger = logging.getLogger("faust")
    idle_seconds = 1.0
    """Longest wait of a consumer whose partitions are all paused until it checks them again."""
    identify_seconds = 2.0
    """Longest time for which a rebalance waits to find topics that were made again."""
    transport: "Transport"

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 Faust's
        super().__init__(*args, **options)
        self._drained = asyncio.Event()
        self._made_again = MadeAgain(self._thread)
        self._restarting = asyncio.Lock()
        """Lock of the task that restarts partitions: one may read, another revoke them, a third one stop."""
        self.arrivals = Arrivals()
        self._sought_in = 0
        """Number of the rebalance in which the committed offsets were sought last."""

    def _new_consumer_thread(self) -> ConsumerThread:
        hooks, membership = self.transport.hooks, self.transport.membership
        return ConsumerThread(hooks, membership, self, loop=self.loop, beacon=self.beacon)

    def on_buffer_drop(self, tp: TP) -> None:
        """Resume a partition, since the agent's buffer has room."""
        super().on_buffer_drop(tp)
        self._drained.set()

    async def _wait_next_records(
        self,
        timeout: float,  # noqa: ASYNC109 Faust's
    ) -> tuple[Any, set[TP] | None]:
        """Wait for records; while the buffer is full, Faust would sleep a second and let the agent idle."""
        self._drained.clear()
        if self.flow_active and not self._get_active_partitions():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.idle_seconds):
                    await self._drained.wait()
            return {}, set()
        return await super()._wait_next_records(timeout)

    async def rejoin_after_error(self) -> None:
        """Join the group again if an error keeps this worker out of it."""
        await self._thread.call_thread(self._thread.rejoin_after_error)

    def lag(self, waiting: Collection[TP]) -> dict[TP, int | None]:
        """Return the lag of each partition, if known, given those of which messages wait for the agent."""
        outstanding = {message.tp for message in self.unacked}.union(waiting)
        bounds = self.arrivals.bounds
        return {
            partition: lag_of(
                state,
                bounds.get(partition),
                self._committed_offset[partition],
                is_outstanding=partition in outstanding,
            )
            for partition, state in self._thread.read_states().items()
        }

    @property
    def positions(self) -> dict[TP, int | None]:
        """The offset that is read next of each partition; None where it is not known."""
        states = self._thread.read_states()
        return {each: state.position if state.has_valid_position else None for each, state in states.items()}

    async def find_bounds(self) -> None:
        """Ask the brokers for the bounds of the partitions: while these are paused, no fetch tells them.

        And find topics that were made again, also those that hold more by then than was read before.
        """
        uncommitted = {each for each in self._thread.read_states() if self._committed_offset[each] is None}
        self.arrivals.note(await self._thread.ask(partial(find_bounds, uncommitted=uncommitted)))
        await self._made_again.find()

    async def _getmany(
        self,
        active_partitions: set[TP] | None,
        timeout: float,  # noqa: ASYNC109 Faust's
    ) -> Mapping[TP, list[Any]]:
        """Return records by partition; none after a partition had to seek to another position."""
        await self._commit_passed()
        if self._made_again.partitions:
            with suppress(KafkaError):  # they are held until it succeeds
                await self._restart_topics_made_again()
        if held := self._passing.keys() | self._made_again.partitions:
            active_partitions = (active_partitions or self.assignment()) - held
            timeout = min(timeout, self.pass_patience_seconds)
            if not active_partitions:  # aiokafka would take none for all
                await asyncio.sleep(timeout)
                return {}
        try:
            records: Mapping[TP, list[Any]] = await super()._getmany(active_partitions, timeout)
        except NoOffsetForPartitionError as error:
            self._read_offset.pop(ensure_TP(error.args[0]), None)
            with suppress(KafkaError):  # the error recurs until each partition has a position
                await self._seek_to_beginning()
        except OffsetOutOfRangeError as error:
            with suppress(KafkaError):
                await self._recover_positions(
                    {ensure_TP(partition): at for partition, at in error.args[0].items()}
                )
        else:
            self._fetched.update((ensure_TP(each), found[-1].offset + 1) for each, found in records.items())
            return records
        return {}

    async def _seek_to_beginning(self) -> None:
        """Seek to the beginning of the partitions of which the group has read nothing."""
        unread = [each for each in self.assignment() if self._read_offset[each] is None]
        if unread:  # aiokafka would take none for all
            await self._thread.seek_to_beginning(*(TopicPartition(*each) for each in unread))

    async def _recover_positions(self, lost: Mapping[TP, int]) -> None:
        """Seek to the beginning of all partitions whose positions are gone, the `lost` ones included.

        They are checked together, as Kafka answers each request for offsets only after a fetch. Left alone
        are those that have other positions meanwhile, and those of topics that were made again. The latter
        are found first: they would be found later, too, and be restarted twice. A replica of this worker's
        rack may lag behind a position that the leader has, which is asked next.
        """
        states = {
            partition: (state, state.position)
            for partition, state in self._thread.read_states().items()
            if state.has_valid_position and (partition in lost or self._read_offset[partition] is not None)
        }
        if not states:
            return
        beginnings, ends = await self.earliest_offsets(*states), await self.highwaters(*states)
        reads_replicas = self.transport.hooks.rack is not None
        await self._made_again.find()
        async with self._restarting:
            for partition, (state, position) in states.items():
                is_anew = self._thread.read_states().get(partition) is not state
                has_moved = is_anew or not state.has_valid_position or state.position != position
                if has_moved or partition in self._passing or partition in self._made_again.partitions:
                    continue
                if position < beginnings[partition]:
                    await self._skip(partition, position, beginnings[partition])
                elif position > ends[partition] or (lost.get(partition) == position and not reads_replicas):
                    why = (
                        f"has nothing at offset {position}, which was to be read next, "
                        "for the topic was made again or lost messages"
                    )
                    await self._restart(partition, beginnings[partition], why)

    async def _restart_topics_made_again(self) -> None:
        """Read the partitions of topics that were made again from their beginning.

        It is offset 0, as a partition may have no leader yet that could be asked for another one. Partitions
        that the new topic does not have are left to the rebalance.
        """
        async with self._restarting:
            for partition in self._made_again.existing():
                is_anew = partition not in self._made_again.partitions
                if not is_anew and await self._restart(partition, 0, "was deleted and created again"):
                    self._made_again.partitions.discard(partition)

    async def _restart_before_others_read(self) -> None:
        """Commit the beginnings of topics that were made again: whoever has them next knows none before."""
        with suppress(KafkaError, ConsumerNotStarted, TimeoutError):
            async with asyncio.timeout(self.identify_seconds):
                await self._made_again.find()
                await self._restart_topics_made_again()

    async def _skip(self, partition: TP, position: int, beginning: int) -> None:
        """Continue after the removed messages; their offsets are passed once all before are committed."""
        _log.warning(
            "%s: Kafka removed %s, from offset %d on, before they were read",
            _describe(partition),
            pluralize(beginning - position, "message"),
            position,
        )
        self.transport.hooks.on_removed(beginning - position)
        self._read_offset[partition] = beginning - 1
        await self._seek(partition, beginning)

    async def _restart(self, partition: TP, beginning: int, why: str) -> bool:
        """Read a re-created partition from its beginning, and drop the state of its predecessor.

        While its predecessor's offset stands, nothing is read: it would be taken for delivered by then.
        Return False if that cannot be changed yet.
        """
        state = self._thread.read_states().get(partition)
        if self.transport.hooks.is_transactional and self._outstanding(partition):
            return False  # transactions may still commit offsets of these messages
        self._stop_passing()
        while self._commit_fut is not None:  # noqa: ASYNC110 who waits for the future may cancel it
            await asyncio.sleep(_POLL_SECONDS)  # the commit may repeat offsets of before
        if state is None or self._thread.read_states().get(partition) is not state:  # assigned anew meanwhile
            return False
        self._forget(partition)
        if not await self._commit({partition: beginning}):
            return False
        self._committed_offset[partition] = beginning or None
        self._fetched[partition] = beginning
        _log.warning("%s %s: it is read from its beginning", _describe(partition), why)
        await self._seek(partition, beginning)
        return True

    async def perform_seek(self) -> None:
        """Seek to the committed offsets of the assigned partitions, and forget what was read after them.

        Raises:
            RebalanceAgain: another rebalance has begun meanwhile, which will seek once more.
        """
        rebalance = self.app.rebalancing_count
        offsets = await self._thread.seek_back()
        if self.app.rebalancing_count != rebalance:
            raise RebalanceAgain
        for partition, offset in offsets.items():
            self._read_offset[partition] = offset
            self._committed_offset[partition] = offset or None
            if offset is None:
                self._fetched.pop(partition, None)
            else:
                self._fetched[partition] = offset
        self._sought_in = rebalance

    def resume_flow(self) -> None:
        """Read on, unless another rebalance has begun since the seek.

        Faust resumes what that rebalance has stopped. What is read before the next seek is dropped after it,
        and later offsets are committed.
        """
        if self.app.rebalancing_count == self._sought_in:
            super().resume_flow()

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Stop reading until partitions are assigned; wait for what is in flight, and commit it.

        Faust does so, but not if all partitions are revoked, e.g. when another topic begins to match the
        input, nor in a worker that is stopping: others would have cleaned newer messages by the time at which
        the results of older ones come. And it forgets what was acknowledged, which would be read once more.
        """
        if not self.app.should_stop:
            self.stop_flow()
            self.app.flow_control.suspend()
        self._stop_passing()
        self._give_up_lost()
        if not self.transport.membership.is_given_up:
            self.app.flow_control.clear()
            await self.wait_empty()
            await self._restart_before_others_read()
        await super().on_partitions_revoked(revoked)

    def ack(self, message: Message) -> bool:
        """Acknowledge a message, but none that a stream has skipped in a rebalance.

        Faust's streams in Python acknowledge what they skip, and so all that was dropped before it.
        """
        return bool(message.tracked and super().ack(message))

    def _new_offset(self, tp: TP) -> int | None:
        """Return the offset after the last acknowledged message, as those of a partition are so in order.

        Faust would list each offset below it that no message has: of a compacted topic, millions.
        """
        acknowledged = self._acked.pop(tp, None)
        self._acked_index.pop(tp, None)
        return max(acknowledged) + 1 if acknowledged else None

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Do nothing where Faust would note offsets that no message has."""

    async def _commit_offsets(
        self,
        offsets: Mapping[TP, int],
        start_new_transaction: bool = True,  # noqa: FBT001, FBT002 Faust's
    ) -> bool:
        """Commit the acknowledged offsets, unless the transactions of their results have done so."""
        if not self.transport.hooks.is_transactional:
            return bool(await super()._commit_offsets(offsets, start_new_transaction))
        self._committed_offset.update(offsets)
        return True

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Drop earlier state of the partitions: it may belong to a topic that was deleted since."""
        for partition in assigned:
            self._forget(partition)
            self._made_again.forget(partition)
        self._give_up_lost()
        await super().on_partitions_assigned(assigned, generation_id)

    def _give_up_lost(self) -> None:
        """Give up what is in flight at once if Kafka has lost this worker: it is others' by now."""
        if self.transport.membership.is_given_up:
            self.app.flow_control.clear()
            self.transport.hooks.on_lost()

    def _forget(self, partition: TP) -> None:
        """Drop the state of a partition; its messages in flight must not be committed."""
        for message in self._outstanding(partition):
            message.acked = message.tracked = True  # Faust tracks those that wait once the agent takes them
            self.unacked.discard(message)
        for known in (
            self._acked,
            self._acked_index,
            self._read_offset,
            self._committed_offset,
            self._fetched,
        ):
            known.pop(partition, None)
        self._passing.pop(partition, None)

    def _outstanding(self, partition: TP) -> list[Message]:
        """Return the messages of a partition that are in flight, or wait for the agent."""
        in_flight = (each for each in self.unacked if each.tp == partition)
        return [*in_flight, *self.transport.waiting(partition)]

    async def on_stop(self) -> None:
        """Finish and commit what is in flight, but nothing of a topic that was made again."""
        self._stop_passing()
        await super().on_stop()
        self.app.flow_control.clear()
        await self._restart_before_others_read()


def _describe(partition: TP) -> str:
    return f"partition {partition.partition} of topic {partition.topic}"


class Conductor(conductor.Conductor):
    """Conductor that gives the messages of all partitions to the only agent, whatever their topics."""

    logger = logging.getLogger("faust")

    def _update_tp_index(self, assigned: set[TP]) -> None:
        self._acking_topics.update(partition.topic for partition in assigned)
        for partition in assigned:
            self._tp_index[partition] = set(self._topics)


class Transport(driver.Transport):
    """Faust's transport with this consumer."""

    Consumer = Consumer
    Conductor = Conductor

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 Faust's
        hooks: Hooks,
        membership: Membership,
        waiting: Callable[[TP], Iterable[Message]],
    ) -> None:
        super().__init__(*args)
        self.hooks = hooks
        self.membership = membership
        self.waiting = waiting
        """Returns the messages of a partition that wait for the agent."""
