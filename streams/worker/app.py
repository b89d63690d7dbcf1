"""The Faust app, which reads the input topic for one agent, set up so that nothing is lost."""

import asyncio
import logging
import time
from collections.abc import Callable

import faust
from faust.auth import Credentials
from faust.exceptions import ConsumerNotStarted
from faust.types import TP, EventT
from mode.utils.queues import ThrowableQueue

from dehusk.streams.counted import counted
from dehusk.streams.input_topics import input_topics
from dehusk.streams.kafka import ssl_context
from dehusk.streams.settings import MIB, KafkaSettings
from dehusk.streams.worker.agent import Put, agent
from dehusk.streams.worker.consumer import Consumer, Transport
from dehusk.streams.worker.settings import WorkerSettings

_BUFFER_BYTES = 12 * MIB
"""Messages that wait for the agent; beyond, partitions are not read."""
_FETCH_BYTES = 16 * MIB
"""What all partitions together may bring in one round of fetches."""
_RECORD_BYTES = 1024
"""What a message takes beside its value."""
_NEVER = 1e6
"""Seconds."""
_COMMIT_SECONDS = 1.0
_METADATA_SECONDS = 10.0
"""How old Kafka's metadata may be: so soon are new partitions, and new topics that match the input, read."""
REBALANCE_SECONDS = 60.0
"""How long Kafka waits for a worker to give up its partitions before it rebalances without it."""

Notify = Callable[[], None]
_log = logging.getLogger(__name__)


class FaustApp(faust.App):
    """A Faust app without tables and web pages, whose buffers are bounded in bytes."""

    logger = logging.getLogger("faust")
    on_revoked: Notify
    on_assigned: Notify
    on_removed: Callable[[int], None]
    _without_partitions_since: float | None = None
    consumer: Consumer

    @property
    def waits_for_partitions(self) -> bool:
        """Whether Kafka has not said yet which partitions this worker reads."""
        return self._without_partitions_since is not None

    @property
    def seconds_without_partitions(self) -> float:
        """How long Kafka has not said yet which partitions this worker reads; 0 once it has."""
        since = self._without_partitions_since
        return 0.0 if since is None else time.monotonic() - since

    def __post_init__(self) -> None:
        """Note that the services are still to be started, and that nothing waits for the agent."""
        self._has_started = asyncio.Event()
        self._buffers: list[_BytesQueue] = []

    def _new_transport(self) -> Transport:
        return Transport(self.conf.broker_consumer, self, on_removed=self.on_removed)

    async def start(self) -> None:
        """Start all services."""
        try:
            await super().start()
        finally:
            self._has_started.set()

    async def on_first_start(self) -> None:
        """Begin to wait for partitions; the directories of Faust's tables are not needed."""
        self._wait_for_partitions()

    async def stop(self) -> None:
        """Stop all services; those that start now, once they have: Faust would leave their thread behind."""
        if self.started:
            await self._has_started.wait()
        await super().stop()

    def on_rebalance_start(self) -> None:
        """Take note that a rebalance begins."""
        super().on_rebalance_start()
        self._wait_for_partitions()
        self.on_revoked()

    def on_rebalance_return(self) -> None:
        """Take note of the partitions that this worker reads from now on."""
        super().on_rebalance_return()
        self._without_partitions_since = None
        self.on_assigned()
        assigned = self.consumer.assignment()
        names = ", ".join(sorted({partition.topic for partition in assigned}))
        _log.info("reads %s%s", counted(len(assigned), "partition"), f" of {names}" if names else "")

    def _on_rebalance_when_stopped(self) -> None:
        """Leave the consumer to its own thread: Faust would cut it off before it has left the group."""

    def _wait_for_partitions(self) -> None:
        if not self.waits_for_partitions:
            _log.info("waits for its partitions")
        self._without_partitions_since = time.monotonic()

    def FlowControlQueue(  # noqa: N802 Faust's name
        self, maxsize: int | None = None, *, clear_on_resume: bool = False
    ) -> ThrowableQueue[EventT[bytes]]:
        """The buffer between Kafka and the agent."""
        buffer = _BytesQueue(
            maxsize=maxsize or _BUFFER_BYTES, flow_control=self.flow_control, clear_on_resume=clear_on_resume
        )
        self._buffers.append(buffer)
        return buffer

    @property
    def buffered(self) -> int:
        """How many messages have been read and wait for the agent."""
        return sum(buffer.messages for buffer in self._buffers)


class _BytesQueue(ThrowableQueue[EventT[bytes]]):
    """Faust's queue, which asks for its size to pause and resume partitions, with its size in bytes."""

    _bytes = 0

    @property
    def messages(self) -> int:
        """How many messages it holds."""
        return super().qsize()

    def qsize(self) -> int:
        return self._bytes

    def empty(self) -> bool:
        return not self._bytes and not self._errors

    def clear(self) -> None:
        super().clear()
        self._bytes = 0

    def _put(self, item: EventT[bytes]) -> None:
        self._bytes += _size(item)
        super()._put(item)

    def _get(self) -> EventT[bytes]:
        item: EventT[bytes] = super()._get()
        self._bytes -= _size(item)
        return item


def _size(event: EventT[bytes]) -> int:
    return _RECORD_BYTES + len(event.message.value or b"")


def create_app(
    settings: WorkerSettings,
    partitions: int,
    put: Put,
    *,
    on_revoked: Notify,
    on_assigned: Notify,
    on_removed: Callable[[int], None],
) -> FaustApp:
    """The app of a worker, which gives every message of an input topic of so many partitions to `put`.

    A rebalance begins with `on_revoked`, in a thread of Faust's own, and
    ends with `on_assigned`; `on_removed` is told how many messages Kafka
    removed before they were read.
    """
    kafka, topics = settings.kafka, settings.topics
    app = FaustApp(
        topics.group,
        broker=[f"kafka://{broker.strip()}" for broker in kafka.brokers.split(",")],
        broker_credentials=_credentials(kafka),
        # bytes in, bytes out: what cannot be decoded must reach the agent
        key_serializer="raw",
        value_serializer="raw",
        # no tables, no topics of its own, no web server, no assignor of its own
        store="memory://",
        topic_allow_declare=False,
        topic_disable_leader=True,
        table_standby_replicas=0,
        web_enabled=False,
        # a batch may take for ever while a dependency is unavailable; heartbeats show that the worker lives
        broker_max_poll_interval=_NEVER,
        stream_processing_timeout=_NEVER,
        broker_commit_livelock_soft_timeout=_NEVER,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=settings.session_seconds / 5,
        broker_rebalance_timeout=REBALANCE_SECONDS,
        # what is in flight when partitions are taken away or the worker stops is finished and committed
        stream_wait_empty=True,
        broker_commit_interval=_COMMIT_SECONDS,
        consumer_auto_offset_reset="none",  # the consumer says what is gone, and reads on from the beginning
        consumer_metadata_max_age_ms=int(_METADATA_SECONDS * 1000),
        stream_buffer_maxsize=_BUFFER_BYTES,
        broker_max_poll_records=100,
        consumer_max_fetch_size=min(2 * MIB, max(MIB // 4, _FETCH_BYTES // partitions)),
    )
    app.on_revoked, app.on_assigned, app.on_removed = on_revoked, on_assigned, on_removed
    inputs = input_topics(topics)
    names = inputs.names or (topics.input,)  # a pattern goes by its own text
    topic = app.topic(*names, key_type=bytes, value_type=bytes)
    app.agent(topic, concurrency=1, name="clean")(agent(app, put))
    return app


def lag(app: FaustApp) -> int | None:
    """How many messages of the assigned partitions are still to be read, as far as the last fetches told.

    Beyond the last stable offset, behind a transaction that is still open, nothing can be read, and nothing
    counts. None while the worker waits for its partitions.
    """
    behind = lag_by_partition(app)
    return None if behind is None else sum(behind.values()) + app.buffered


def lag_by_partition(app: FaustApp) -> dict[TP, int] | None:
    """What `lag` says of each assigned partition, without the messages that are read and wait."""
    if app.waits_for_partitions:
        return None
    try:
        return app.consumer.behind()
    except ConsumerNotStarted:
        return None


async def commit_acknowledged(app: FaustApp) -> None:
    """Commit all that is acknowledged, for as long as this runs.

    Faust's own commits get as far as the next gap between offsets, and each transaction of a producer leaves
    one.
    """
    while True:
        await asyncio.sleep(_COMMIT_SECONDS)
        while await app.consumer.commit(None):
            pass


def _credentials(kafka: KafkaSettings) -> Credentials | None:
    security = kafka.security
    context = ssl_context(kafka) if security.protocol.endswith("SSL") else None
    if security.protocol.startswith("SASL"):
        return faust.SASLCredentials(
            username=security.username,
            password=security.password,
            ssl_context=context,
            mechanism=security.sasl_mechanism,
        )
    return faust.SSLCredentials(context) if context is not None else None
