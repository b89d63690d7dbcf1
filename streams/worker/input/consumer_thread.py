"""Thread of Faust's in which aiokafka's consumer works, and what it tells the worker."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
)
from faust.exceptions import ConsumerNotStarted
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from dehusk.streams.kafka.consumer import assignment_of, commit_while_assigned
from dehusk.streams.kafka.errors import unreadable_batch
from dehusk.streams.kafka.input_topics import is_pattern
from dehusk.streams.worker.input.membership import Membership, rejoin_after_error
from dehusk.streams.worker.process import fail_at

DENIED = (GroupAuthorizationFailedError, TopicAuthorizationFailedError)
"""Errors of rights that are missing, which the checks of Kafka name."""
_ENDED = "the thread of the consumer has ended"
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


def keep_all_topics(consumer: AIOKafkaConsumer) -> None:
    """Let a consumer that follows all topics, as it subscribed to a pattern, go on with all.

    aiokafka follows the topic of a partition without a leader, which may be one that was deleted, and by that
    alone no longer all: it would learn of no other topic, and be given no partition of it.
    """
    client = consumer._client  # noqa: SLF001 there is no getter
    add_topic = client.add_topic

    def add_to_some(topic: str) -> asyncio.Future[bool]:
        follows_some = bool(client._topics)  # noqa: SLF001 likewise; none stands for all
        found: asyncio.Future[bool] = add_topic(topic) if follows_some else client.force_metadata_update()
        return found

    client.add_topic = add_to_some


def log_unless_given_up(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error that nobody waits for, unless it is of a commit given up here: aiokafka ends it."""
    if not isinstance(context.get("exception"), KafkaError):
        loop.default_exception_handler(context)


@dataclass(frozen=True, slots=True)
class Hooks:
    """Calls by which the consumer tells the worker what becomes of its partitions."""

    on_revoked: Callable[[], None]
    """Callback at the begin of a rebalance, in a thread of Faust's own."""
    on_assigned: Callable[[], None]
    """Callback at the end of a rebalance."""
    on_lost: Callable[[], None]
    """Callback once the membership is lost: what is in flight is others' by then."""
    on_removed: Callable[[int], None]
    """Callback for the number of messages that Kafka removed before they were read."""
    on_refused: Callable[[str], None]
    """Callback for a topic that may not be read, in that thread, too."""
    is_transactional: bool = False
    """True if offsets are committed in the transactions of the results, and not by the consumer."""
    rack: str | None = None
    """Rack whose replicas the consumer reads, as in `KafkaSettings`."""


class ConsumerThread(driver.AIOKafkaConsumerThread):
    """Thread of aiokafka's consumer; its commits neither fail nor wait for partitions that have gone."""

    logger = logging.getLogger("faust")
    _kept_out_by = ""
    """The last error that kept this worker out of its group."""

    def __init__(self, hooks: Hooks, membership: Membership, *args: Any, **options: Any) -> None:  # noqa: ANN401 Faust's
        super().__init__(*args, **options)
        self._hooks = hooks
        self._membership = membership

    async def on_start(self) -> None:
        """Start the consumer, whose group coordinator confirms the membership."""
        self.thread_loop.set_exception_handler(log_unless_given_up)
        await super().on_start()
        self._membership.track(self._ensure_consumer()._coordinator)  # noqa: SLF001 there is no getter

    def _create_worker_consumer(self, transport: driver.Transport) -> AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        # Faust restricts itself to committed records only if it writes in transactions, and knows no racks.
        consumer._isolation_level = "read_committed"  # noqa: SLF001 there is no setter
        consumer._client_rack = self._hooks.rack  # noqa: SLF001 likewise
        keep_all_topics(consumer)
        return consumer

    async def call_thread(self, fun: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:  # noqa: ANN401 Faust's
        """Call a method in the thread, and return its answer.

        Raises:
            ConsumerNotStarted: the thread has ended, as the worker stops.
        """
        try:
            return await super().call_thread(fun, *args, **options)
        except RuntimeError as error:
            if not self.thread_loop.is_closed():
                raise
            raise ConsumerNotStarted(_ENDED) from error

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Subscribe to topics by their names, or to a pattern if one is among these."""
        pattern = next(filter(is_pattern, topics), None)
        if pattern is None:
            await super().subscribe(topics)
            return
        subscribe = self._ensure_consumer().subscribe
        await self.call_thread(subscribe, pattern=pattern, listener=self._rebalance_listener)

    async def _fetch_records(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 Faust's
        """Fetch records, but none while the topic may not be read, or no offset of the group committed.

        A batch that cannot be read ends the process, as the operator has to decide.
        """
        try:
            return await super()._fetch_records(*args, **options)
        except TopicAuthorizationFailedError as error:
            self._hooks.on_refused(str(error.args[0]))
            return {}
        except GroupAuthorizationFailedError:
            return {}
        except Exception as error:
            batch = unreadable_batch(error)
            if batch is None:
                raise
            fail_at(batch, self.app.conf.id)

    def highwater(self, tp: TP) -> int:
        """Return the offset after the partition's last one, for Faust's statistics; 0 if unknown."""
        try:
            return int(super().highwater(tp) or 0)
        except AssertionError:  # aiokafka is releasing the partition at this moment
            return 0

    def read_states(self) -> dict[TP, Any]:
        """Return aiokafka's state of each assigned partition."""
        assignment = self._assignment()
        partitions = assignment.tps if assignment else ()
        return {TP(each.topic, each.partition): assignment.state_value(each) for each in partitions}

    def _assignment(self) -> Any:  # noqa: ANN401 aiokafka has no types
        return assignment_of(self._ensure_consumer())

    async def seek_back(self) -> Mapping[TP, int | None]:
        """Seek to the committed offsets of the assigned partitions; return them, None where there is none.

        Return nothing of partitions that are assigned anew meanwhile: their topic may have been made again,
        and its messages would be taken for those that were read of the old one.
        """
        offsets: Mapping[TP, int | None] = await self.call_thread(self._seek_back)
        return offsets

    async def _seek_back(self) -> Mapping[TP, int | None]:
        consumer, assignment = self._ensure_consumer(), self._assignment()
        if not assignment:
            return {}
        offsets = {each: await consumer.committed(each) for each in assignment.tps}
        if not assignment.active:
            return {}
        for partition, offset in offsets.items():
            if offset is not None:
                consumer.seek(partition, offset)
        return {TP(each.topic, each.partition): offset for each, offset in offsets.items()}

    async def ask(self, request: Callable[[AIOKafkaConsumer], Coroutine[Any, Any, _T]]) -> _T:
        """Send a request, past the queue of Faust's calls, which one broker that is away would hold up.

        Raises:
            ConsumerNotStarted: the thread has ended, as the worker stops.
            KafkaError: the brokers do not answer.
        """
        if self.thread_loop.is_closed():
            raise ConsumerNotStarted(_ENDED)
        asking = asyncio.run_coroutine_threadsafe(request(self._ensure_consumer()), self.thread_loop)
        return await asyncio.wrap_future(asking)

    async def commit_aside(self, offsets: Mapping[TP, int]) -> bool:
        """Commit offsets past the queue of Faust's calls; return False for partitions that have gone.

        Raises:
            KafkaError: the commit was refused.
        """
        return await self.ask(lambda _: self._commit(offsets))

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        """Commit offsets as `commit_while_assigned`; return False, too, while this worker may not commit."""
        partitions = {TopicPartition(*partition): offset for partition, offset in offsets.items()}
        with suppress(*DENIED):
            return await commit_while_assigned(self._ensure_consumer(), partitions)
        return False

    async def rejoin_after_error(self) -> None:
        """Join the group again after an error, which aiokafka keeps, and waits, until somebody takes it."""
        coordinator = self._ensure_consumer()._coordinator  # noqa: SLF001 Faust fetches without it
        try:
            rejoin_after_error(coordinator)
        except KafkaError as error:
            if coordinator._coordination_task.done():  # noqa: SLF001 it will never join again
                raise
            if not isinstance(error, DENIED) and str(error) != self._kept_out_by:
                _log.warning("group %s cannot be joined, which is tried again: %s", self.app.conf.id, error)
                self._kept_out_by = str(error)
