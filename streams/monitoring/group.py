"""Workers of a consumer group, by the states and points that they share on a topic."""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace

from dehusk.schemas.pages import Message
from dehusk.streams.kafka.reader import Reader, open_topics
from dehusk.streams.monitoring.drops import GroupDrops
from dehusk.streams.monitoring.history import HOUR_SECONDS, SLOT_SECONDS, Curve, slot_of, sum_hour
from dehusk.streams.monitoring.messages import Shared, SharedDrops, SharedPoint, SharedState, read_shared
from dehusk.streams.monitoring.outages import MAX_OUTAGES, latest, merge
from dehusk.streams.monitoring.state import Counts, Outage, Point, State
from dehusk.streams.monitoring.summing import add_lost, sum_counts, sum_states
from dehusk.streams.settings import KafkaSettings

SHARE_SECONDS = 1.0
"""Interval at which each worker shares its state."""
GONE_SECONDS = 4.0
"""Silence after which a worker counts as gone, which is seen within a second more."""
_LISTED_SECONDS = GONE_SECONDS + 60.0
"""Silence after which a worker is no longer listed as gone."""
_MAX_CLOCK_SKEW = 15.0
"""Largest difference between the clocks of hosts, in seconds."""
_MAX_DELAY = 5.0
"""Longest time that the points of a slot take to come, in seconds."""
MAX_WORKERS = 256
"""Workers that are kept, those that have ended within the hour included: some 23 MB."""
_MAX_NAME = 200
_SILENT = "nothing was heard of it"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Row:
    """A worker in the list of a group."""

    worker: str
    host: str
    page: str | None
    version: str
    model: str | None
    started: float
    """Seconds since 1970, as `gone_since`."""
    gone_since: float | None
    """Time of its last message; None while it works."""
    pages_per_second: float
    bytes_per_second: float
    lag: int | None
    partitions: int
    in_flight: int
    memory: int | None
    unavailable: tuple[str, ...]
    """Dependencies that do not answer it."""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group at one moment."""

    group: str
    state: State | None
    """The running workers together; None without any."""
    counts: Counts
    """Counts of all workers of the last hour, since each of them started."""
    workers: tuple[Row, ...]
    """Workers that run, and those that were lost a moment ago."""
    points: tuple[Point, ...]
    """The last hour, oldest first."""
    silent_since: float | None
    """Time of the last message of any worker, in seconds since 1970; None if recent, or without any."""
    malformed: int
    """Messages of the topic that no worker of this version wrote."""


@dataclass(slots=True)
class _Worker:
    shared: SharedState | None = None
    """Its last state; None before the first, and once it has stopped."""
    last_seen: float = 0.0
    """Time of its last state, in monotonic seconds."""
    last_time: float = 0.0
    """The same in seconds since 1970, by the worker's clock."""
    counts_time: float = 0.0
    """Time of its newest counts, in seconds since 1970."""
    counts: Counts | None = None
    curve: Curve = field(default_factory=Curve)
    outages: tuple[Outage, ...] = ()
    """Outages that it has met."""
    silences: deque[Outage] = field(default_factory=lambda: deque(maxlen=MAX_OUTAGES))
    """Times in which nothing was heard of it."""


class Group:
    """States and points of the workers of a group in the last hour, in bounded memory."""

    def __init__(
        self,
        name: str,
        own: str | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.own = own
        """Name of the worker that keeps it, if one does."""
        self.drops = GroupDrops(monotonic)
        self.malformed = 0
        """Messages of the topic that no worker of this version wrote."""
        self._clock = clock
        self._monotonic = monotonic
        self._last_seen = -math.inf if own is None else monotonic()
        """Time of the last message of any worker, or of the own worker's start, in monotonic seconds."""
        self._last_time = None if own is None else clock()
        """The same in seconds since 1970, by the clock of the worker that wrote it; None without any."""
        self._heard_since = -math.inf
        """Time from which messages have come without a pause, which is the reader's own and no worker's."""
        self._workers: dict[str, _Worker] = {}

    def handle(self, message: Message, milliseconds: int) -> None:
        """Handle a message of the topic, written at a time in milliseconds since 1970."""
        try:
            shared = read_shared(message, self.name)
        except ValueError as error:
            self._note_malformed(message, error)
            return
        if shared is None:
            return
        now, written = self._clock(), milliseconds / 1000
        age = now - written if now - written > _MAX_CLOCK_SKEW else 0.0
        if isinstance(shared, SharedDrops):
            self.drops.add(shared.reason, shared.latest, age)
            return
        if self._monotonic() - self._last_seen > GONE_SECONDS:
            self._heard_since = self._monotonic()
        self._last_seen = max(self._last_seen, self._monotonic() - age)
        self._last_time = max(self._last_time or 0.0, min(written, now))
        if age < HOUR_SECONDS:
            self._update(shared, age, min(written, now))

    def awaits(self, since: float) -> bool:
        """Return True while a worker may run of which nothing was heard since a time in monotonic seconds.

        The topic holds the last states of killed workers, too, and the clocks of hosts differ, so a reader
        that has just come knows no better than to listen.
        """
        return any(
            worker.shared is not None and worker.last_seen <= since and self._silence(worker) <= GONE_SECONDS
            for worker in self._workers.values()
        )

    @property
    def silent_since(self) -> float | None:
        """Time of the last message of any worker, in seconds since 1970; None if recent, or without any."""
        is_silent = self._monotonic() - self._last_seen > GONE_SECONDS
        return self._last_time if is_silent else None

    @property
    def state(self) -> State | None:
        """Sum of the running workers, with the counts of those that ended in this hour; None without any."""
        running = self._silent_for(-math.inf, GONE_SECONDS)
        if not running:
            return None
        state = add_lost(sum_states(running, self.counts, self._clock()), running, self.silent)
        return replace(state, outages=self.outages)

    @property
    def silent(self) -> dict[str, State]:
        """Last states of the workers that were lost a moment ago, by name."""
        return self._silent_for(GONE_SECONDS, _LISTED_SECONDS)

    @property
    def outages(self) -> tuple[Outage, ...]:
        """Outages of the last hour that any worker has met, and those of workers."""
        met = [outage for worker in self._workers.values() for outage in self._outages(worker)]
        silences = [
            outage for name, worker in self._workers.items() for outage in self._silences(name, worker)
        ]
        return latest([*merge(met), *silences], self._clock())

    @property
    def counts(self) -> Counts:
        """Counts of all workers of the last hour, since each of them started."""
        self._evict_silent()
        return sum_counts([each.counts for each in self._workers.values() if each.counts])

    @property
    def rows(self) -> list[Row]:
        """Workers that run, and those that were lost a moment ago."""
        return [
            self._row(name, worker, worker.shared)
            for name, worker in sorted(self._workers.items())
            if worker.shared is not None and self._silence(worker) <= _LISTED_SECONDS
        ]

    def state_of(self, name: str) -> State | None:
        """Return the last state of a worker; None once it has stopped."""
        worker = self._workers.get(name)
        return worker.shared.state if worker and worker.shared else None

    def points(self, name: str | None = None) -> list[Point]:
        """Return the last hour of a worker, or of all, until the last slot of which all points have come."""
        self._evict_silent()
        curves = [each.curve for key, each in self._workers.items() if name in (None, key)]
        return sum_hour(curves, slot_of(self._clock() - _MAX_DELAY) - 1)

    def report(self) -> GroupReport:
        """Return the group as it is now."""
        return GroupReport(
            self.name,
            self.state,
            self.counts,
            tuple(self.rows),
            tuple(self.points()),
            self.silent_since,
            self.malformed,
        )

    def _update(self, shared: Shared, age: float, written: float) -> None:
        worker = self._workers.get(shared.worker) or self._admit(shared.worker)
        match shared.content:
            case SharedState(state=state):
                self._end_silence(shared.worker, worker, age, written)
                worker.shared, worker.last_seen = shared.content, self._monotonic() - age
                worker.last_time = written
                worker.outages = state.outages
                self._update_counts(worker, state.counts, state.point.time)
            case SharedPoint(point=point, counts=counts):
                latest = self._clock() + _MAX_CLOCK_SKEW
                if latest - HOUR_SECONDS - 2 * _MAX_CLOCK_SKEW < point.time < latest:
                    worker.curve.add(point, latest)
                    self._update_counts(worker, counts, point.time)
            case None:
                worker.shared = None

    def _update_counts(self, worker: _Worker, counts: Counts, time: float) -> None:
        """Keep the newest counts: a late point may have older ones, but a clock may be set back, too."""
        now = self._clock()
        if time >= worker.counts_time or worker.counts_time > now:
            worker.counts, worker.counts_time = counts, min(time, now)

    def _admit(self, name: str) -> _Worker:
        """Add a worker; at the limit, it replaces the one that has been silent for the longest."""
        if len(self._workers) >= MAX_WORKERS:
            del self._workers[min(self._workers, key=lambda each: self._workers[each].counts_time)]
        self._workers[name] = _Worker()
        return self._workers[name]

    def _evict_silent(self) -> None:
        """Drop the workers that have been silent for an hour."""
        oldest = self._clock() - HOUR_SECONDS - SLOT_SECONDS
        for name in [name for name, worker in self._workers.items() if worker.counts_time < oldest]:
            del self._workers[name]

    def _silent_for(self, above: float, up_to: float) -> dict[str, State]:
        """Return the states of workers whose silence, in seconds, is within limits."""
        return {
            name: worker.shared.state
            for name, worker in sorted(self._workers.items())
            if worker.shared is not None and above < self._silence(worker) <= up_to
        }

    def _outages(self, worker: _Worker) -> Iterator[Outage]:
        """Yield the outages that a worker has met; those that it can tell no more of have ended."""
        is_heard = worker.shared is not None and self._silence(worker) <= GONE_SECONDS
        for each in worker.outages:
            yield each if is_heard or each.until is not None else replace(each, until=worker.counts_time)

    def _silences(self, name: str, worker: _Worker) -> Iterator[Outage]:
        """Yield the times in which nothing was heard of a worker, the present one included."""
        yield from worker.silences
        if worker.shared is not None and self._silence(worker) > GONE_SECONDS:
            yield Outage(_of_worker(name), worker.last_time, None, _SILENT)

    def _end_silence(self, name: str, worker: _Worker, age: float, written: float) -> None:
        """Keep the silence of a worker that ends with a message of an age in seconds.

        It was silent by its own clock, too, as ages leap: those within the skew of clocks count as none.
        """
        now = self._monotonic() - age
        silence = min(now - max(worker.last_seen, self._heard_since), written - worker.last_time)
        if worker.shared is not None and silence > GONE_SECONDS:
            worker.silences.append(Outage(_of_worker(name), worker.last_time, written, _SILENT))

    def _silence(self, worker: _Worker) -> float:
        return self._monotonic() - worker.last_seen

    def _row(self, name: str, worker: _Worker, shared: SharedState) -> Row:
        state = shared.state
        return Row(
            worker=name,
            host=shared.host,
            page=shared.page,
            version=state.version,
            model=state.model,
            started=state.started,
            gone_since=worker.last_time if self._silence(worker) > GONE_SECONDS else None,
            pages_per_second=state.point.pages_per_second,
            bytes_per_second=state.point.bytes_per_second,
            lag=state.point.lag,
            partitions=state.partition_count,
            in_flight=state.point.in_flight,
            memory=state.point.memory,
            unavailable=tuple(each.name for each in state.unavailable),
        )

    def _note_malformed(self, message: Message, error: ValueError) -> None:
        self.malformed += 1
        if self.malformed == 1:
            _log.warning(
                "topic %s holds messages that are no figures of workers of this version, which are left out; "
                "the first one is at %d:%d: %s",
                message.topic,
                message.partition,
                message.offset,
                error,
            )


def _of_worker(name: str) -> str:
    return f"worker {name}"[:_MAX_NAME]


async def read_group(kafka: KafkaSettings, topic: str, name: str) -> Group:
    """Read the group as its topic is now, and listen until each worker is heard of or silent.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    group = Group(name)
    async with open_topics(kafka, topic) as reader:
        async with aclosing(reader.existing()) as held:
            async for message, written in held:
                group.handle(message, written)
        await _listen(group, reader)
    return group


async def _listen(group: Group, reader: Reader) -> None:
    since = time.monotonic()
    if not group.awaits(since):
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(GONE_SECONDS), aclosing(reader.follow()) as new:
            async for message, written in new:
                group.handle(message, written)
                if not group.awaits(since):
                    return
