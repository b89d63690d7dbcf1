"""The Faust app, which reads the input topic for one agent, set up so that nothing is lost."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import faust
from aiokafka.errors import KafkaError
from faust.auth import Credentials
from faust.exceptions import ConsumerNotStarted
from faust.types import TP, AppT, EventT, StreamT
from faust.types import Message as KafkaMessage
from mode.utils.queues import ThrowableQueue

from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import METADATA_MS
from dehusk.streams.kafka.input_topics import input_topics
from dehusk.streams.kafka.options import ssl_context
from dehusk.streams.kafka.tokens import token_provider
from dehusk.streams.settings import MIB, KafkaSettings
from dehusk.streams.wording import pluralize
from dehusk.streams.worker.input.consumer import Consumer, Transport
from dehusk.streams.worker.input.consumer_thread import Hooks
from dehusk.streams.worker.input.intake import Arrival
from dehusk.streams.worker.input.lag import Backlog, Standstill
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.input.recovery import NoTables
from dehusk.streams.worker.process import fail
from dehusk.streams.worker_settings import WorkerSettings

Stream = StreamT[bytes]
Event = EventT[bytes]
Headers = list[tuple[str, bytes | None]]
Put = Callable[[Arrival], Awaitable[None]]
_BUFFER_BYTES = 12 * MIB
"""Largest size of the messages that wait for the agent; beyond it, partitions are paused."""
_FETCH_BYTES = 4 * MIB
"""Largest size of one round of fetches, over all partitions, which fits into the heap: `streams.heap`."""
_RECORD_BYTES = 1024
"""Estimated size of a message without its value."""
_NEVER = 1e6
"""Timeout in seconds that no worker reaches."""
_COMMIT_SECONDS = 1.0
_REJOIN_SECONDS = 1.0
_BOUNDS_SECONDS = 3.0
_FIRST_BOUNDS_SECONDS = 0.5
_BOUNDS_LIMIT_SECONDS = 10.0
"""Time limit of the brokers' answer."""
_REQUEST_SECONDS = 90.0
REBALANCE_SECONDS = 60.0
"""Time that Kafka waits for a worker to release its partitions before it rebalances without it."""
_log = logging.getLogger(__name__)


def agent(app: AppT, put: Put) -> Callable[[Stream], Coroutine[Any, Any, None]]:
    """Return the body of an agent that reads until the worker stops."""

    async def clean(stream: Stream) -> None:
        stream.enable_acks = False
        try:
            async for event in stream.events():
                await put(_arrival(app, stream, event))
        except Exception as error:  # noqa: BLE001 Faust would go on after the message and acknowledge it
            fail(error)

    return clean


def _arrival(app: AppT, stream: Stream, event: Event) -> Arrival:
    record = event.message
    headers = tuple(cast("Headers", record.headers or ()))
    message = Message(record.key, record.value, headers, record.topic, record.partition, record.offset)
    record.value = event.value = None  # the event lives until it is acknowledged; its value is not needed
    return Arrival(message, partial(stream.ack, event), partial(app.consumer.unacked.discard, record))


class FaustApp(faust.App):
    """A Faust app without tables and web pages, whose buffers are bounded in bytes."""

    logger = logging.getLogger("faust")
    consumer: Consumer
    hooks: Hooks
    membership: Membership
    _without_partitions_since: float | None = None

    @property
    def waits_for_partitions(self) -> bool:
        """True until Kafka has assigned partitions to this worker."""
        return self._without_partitions_since is not None

    @property
    def seconds_without_partitions(self) -> float:
        """Seconds that this worker has waited for its partitions; 0 once they are assigned."""
        since = self._without_partitions_since
        return 0.0 if since is None else time.monotonic() - since

    def __post_init__(self) -> None:
        """Initialize the state that `start` and the buffers need."""
        self._has_started = asyncio.Event()
        self._buffers: list[_BytesQueue] = []
        self.standstill = Standstill()

    def _new_transport(self) -> Transport:
        url, hooks, membership = self.conf.broker_consumer, self.hooks, self.membership
        return Transport(url, self, hooks=hooks, membership=membership, waiting=self.waiting)

    async def start(self) -> None:
        """Start all services."""
        try:
            await super().start()
        finally:
            self._has_started.set()

    async def on_first_start(self) -> None:
        """Wait for partitions, without creating the directories of Faust's tables."""
        self._wait_for_partitions()

    async def stop(self) -> None:
        """Stop all services, after a start in progress: else Faust would leave a thread running."""
        if self.started:
            await self._has_started.wait()
        await super().stop()

    def on_rebalance_start(self) -> None:
        """Handle the begin of a rebalance."""
        super().on_rebalance_start()
        self._wait_for_partitions()
        self.hooks.on_revoked()

    def on_rebalance_return(self) -> None:
        """Handle the end of a rebalance, and log the assigned partitions."""
        super().on_rebalance_return()
        self._without_partitions_since = None
        self.hooks.on_assigned()
        assigned = self.consumer.assignment()
        names = ", ".join(sorted({partition.topic for partition in assigned}))
        _log.info("reads %s%s", pluralize(len(assigned), "partition"), f" of {names}" if names else "")

    def _on_rebalance_when_stopped(self) -> None:
        """Do nothing: Faust would disconnect the consumer before it has left the group."""

    def _wait_for_partitions(self) -> None:
        if not self.waits_for_partitions:
            _log.info("waits for its partitions")
        self._without_partitions_since = time.monotonic()

    def FlowControlQueue(  # noqa: N802 Faust's name
        self, maxsize: int | None = None, *, clear_on_resume: bool = False
    ) -> ThrowableQueue[EventT[bytes]]:
        """Return a buffer between Kafka and the agent."""
        buffer = _BytesQueue(
            maxsize=maxsize or _BUFFER_BYTES, flow_control=self.flow_control, clear_on_resume=clear_on_resume
        )
        self._buffers.append(buffer)
        return buffer

    def waiting(self, partition: TP) -> Iterator[KafkaMessage]:
        """Yield the messages of a partition that wait for the agent."""
        for buffer in self._buffers:
            if buffer.messages[partition]:
                yield from (event.message for event in buffer.events if event.message.tp == partition)

    def backlog(self) -> Backlog:
        """Return what the assigned partitions hold that is not done with, in flight or not read.

        Messages beyond the last stable offset, after an open transaction, cannot be read and do not count.
        """
        if self.waits_for_partitions:
            return Backlog()
        try:
            lags = self.consumer.lag({each for buffer in self._buffers for each in +buffer.messages})
        except ConsumerNotStarted:
            return Backlog()
        known = [each for each in lags.values() if each is not None]
        messages = sum(known) if len(known) == len(lags) else None
        seconds = self._age_of_oldest() if messages else messages
        rate = self.consumer.arrivals.per_second
        return Backlog(messages, seconds, rate, lags, self.standstill.seconds)

    def _age_of_oldest(self) -> float | None:
        """Return the age of the oldest message in flight or, without any, of what waits for the agent."""
        times = [message.timestamp for message in self.consumer.unacked if not message.acked]
        times = times or [buffer.events[0].message.timestamp for buffer in self._buffers if buffer.events]
        oldest = min((each for each in times if each and each > 0), default=None)
        return None if oldest is None else max(0.0, time.time() - oldest)


class _BytesQueue(ThrowableQueue[EventT[bytes]]):
    """Queue whose size is in bytes; Faust pauses and resumes partitions by it."""

    _bytes = 0

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 Faust's
        super().__init__(*args, **options)
        self.messages: Counter[TP] = Counter()
        """Number of the messages of each partition in it."""

    def qsize(self) -> int:
        return self._bytes

    def empty(self) -> bool:
        return not self._bytes and not self._errors

    @property
    def events(self) -> Sequence[EventT[bytes]]:
        """The events in the order in which they come."""
        events: Sequence[EventT[bytes]] = self._queue  # type: ignore[attr-defined]
        return events

    def clear(self) -> None:
        super().clear()
        self._bytes = 0
        self.messages.clear()

    def _put(self, item: EventT[bytes]) -> None:
        self._bytes += _size(item)
        self.messages[item.message.tp] += 1
        super()._put(item)

    def _get(self) -> EventT[bytes]:
        item: EventT[bytes] = super()._get()
        self._bytes -= _size(item)
        self.messages[item.message.tp] -= 1
        return item


def _size(event: EventT[bytes]) -> int:
    return _RECORD_BYTES + len(event.message.value or b"")


def create_app(
    settings: WorkerSettings,
    partitions: int,
    put: Put,
    hooks: Hooks,
    membership: Membership,
) -> FaustApp:
    """Create the app of a worker, which gives every message of so many input partitions to `put`."""
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
        TableManager=NoTables,
        topic_allow_declare=False,
        topic_disable_leader=True,
        table_standby_replicas=0,
        web_enabled=False,
        # a batch waits without limit while a dependency is unavailable; heartbeats show that the worker lives
        broker_max_poll_interval=_NEVER,
        stream_processing_timeout=_NEVER,
        broker_commit_livelock_soft_timeout=_NEVER,
        broker_session_timeout=settings.session_seconds,
        broker_request_timeout=max(_REQUEST_SECONDS, settings.session_seconds),  # Faust takes no shorter one
        broker_heartbeat_interval=settings.session_seconds / 5,
        broker_rebalance_timeout=REBALANCE_SECONDS,
        consumer_group_instance_id=settings.group_instance,
        # what is in flight when partitions are taken away or the worker stops is finished and committed
        stream_wait_empty=True,
        broker_commit_interval=_COMMIT_SECONDS,
        consumer_auto_offset_reset="none",  # the consumer reports what is gone, and seeks to the beginning
        consumer_metadata_max_age_ms=METADATA_MS,
        stream_buffer_maxsize=_BUFFER_BYTES,
        broker_max_poll_records=100,
        consumer_max_fetch_size=min(2 * MIB, max(MIB // 4, _FETCH_BYTES // partitions)),
    )
    app.hooks, app.membership = hooks, membership
    inputs = input_topics(topics)
    names = inputs.names or (topics.input,)  # a pattern goes by its own text
    topic = app.topic(*names, key_type=bytes, value_type=bytes)
    app.agent(topic, concurrency=1, name="clean")(agent(app, put))
    return app


async def follow_bounds(
    app: FaustApp, is_occupied: Callable[[], bool], first_seconds: float = _FIRST_BOUNDS_SECONDS
) -> None:
    """Keep the bounds of the assigned partitions up to date, also while they are paused, until cancelled.

    While there are messages, and the worker is neither occupied nor waiting, their positions have to move.
    """
    while True:
        is_known = app.backlog().messages is not None
        await asyncio.sleep(_BOUNDS_SECONDS if is_known else first_seconds)
        if app.waits_for_partitions or app.should_stop:  # aiokafka's consumer is not started, or stopped
            app.standstill.end()
            continue
        try:
            async with asyncio.timeout(_BOUNDS_LIMIT_SECONDS):
                await app.consumer.find_bounds()
        except (KafkaError, TimeoutError, ConsumerNotStarted):
            app.standstill.end()
        else:
            must_move = bool(app.backlog().messages) and not is_occupied()
            app.standstill.note(app.consumer.positions, must_move=must_move)


async def stay_in_group(app: FaustApp) -> None:
    """Join the group again after each error that keeps the worker out of it, until cancelled."""
    while True:
        await asyncio.sleep(_REJOIN_SECONDS)
        with suppress(ConsumerNotStarted):
            await app.consumer.rejoin_after_error()


def _credentials(kafka: KafkaSettings) -> Credentials | None:
    security = kafka.security
    context = ssl_context(kafka) if security.protocol.endswith("SSL") else None
    if security.protocol.startswith("SASL"):
        match security.broker_mechanism:
            case "OAUTHBEARER":
                return faust.OAuthCredentials(oauth_cb=token_provider(security), ssl_context=context)
            case "GSSAPI":
                service = security.kerberos_service
                return faust.GSSAPICredentials(kerberos_service_name=service, ssl_context=context)
            case mechanism:
                return faust.SASLCredentials(
                    username=security.username,
                    password=security.password,
                    ssl_context=context,
                    mechanism=mechanism,
                )
    return faust.SSLCredentials(context) if context is not None else None
