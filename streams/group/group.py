"""The workers of a consumer group, as their topic tells of them."""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dehusk.schemas.pages import Message
from dehusk.streams.group.curves import Curve, summed_hour
from dehusk.streams.group.figures import Counts, SharedPoint, SharedState, State
from dehusk.streams.group.messages import Shared, read_shared
from dehusk.streams.group.summing import partitions_of, summed_counts, summed_states, with_lost
from dehusk.streams.worker.live.history import HOUR_SECONDS, SLOT_SECONDS, Point, slot_of

SHARE_SECONDS = 2.0
"""How often each worker tells how it is."""
_MISSED_SECONDS = 10.0
"""After how long without a word a worker counts as gone."""
_LOST_SECONDS = _MISSED_SECONDS + 60.0
"""After how long without a word a worker is no longer shown as gone."""
_CLOCKS_SECONDS = 15.0
"""How far the clocks of hosts may be apart."""
_LATE_SECONDS = 5.0
"""How long the points of a slot may take to come."""
MOST_WORKERS = 256
"""Workers that are kept, those that have ended within the hour included: some 20 MB."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Row:
    """A worker among others."""

    worker: str
    host: str
    page: str | None
    version: str
    model: str | None
    started: float
    """Seconds since 1970, as `gone_since`."""
    gone_since: float | None
    """When it was last heard; None while it works."""
    pages_per_second: float
    bytes_per_second: float
    lag: int | None
    partitions: int
    in_flight: int
    memory: int | None
    unavailable: tuple[str, ...]
    """The dependencies that do not answer it."""


@dataclass(slots=True)
class _Worker:
    shared: SharedState | None = None
    """What it said last; None before that, and once it has stopped."""
    heard: float = 0.0
    """When it last said how it is, in monotonic seconds."""
    told: float = 0.0
    """When the newest of its counts and points is of, in seconds since 1970."""
    counts: Counts | None = None
    curve: Curve = field(default_factory=Curve)


class Group:
    """Keeps what the workers of a group have said in the last hour, in bounded memory."""

    def __init__(
        self,
        name: str,
        own: str | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.own = own
        """The name of the worker that keeps it, if one does."""
        self.malformed = 0
        """Messages of the topic that no worker of this version wrote."""
        self._clock = clock
        self._monotonic = monotonic
        self._heard = monotonic()
        self._workers: dict[str, _Worker] = {}

    def handle(self, message: Message, milliseconds: int) -> None:
        """Take note of a message of the topic, written at that time since 1970."""
        try:
            shared = read_shared(message, self.name)
        except ValueError as error:
            self._note_malformed(message, error)
            return
        if shared is None:
            return
        self._heard = self._monotonic()
        age = self._clock() - milliseconds / 1000
        if age < HOUR_SECONDS:
            self._note(shared, age if age > _CLOCKS_SECONDS else 0.0)

    @property
    def silent_since(self) -> float | None:
        """Since when nothing was heard, not even of the worker itself, in seconds since 1970."""
        silence = self._monotonic() - self._heard
        return self._clock() - silence if silence > _MISSED_SECONDS else None

    @property
    def state(self) -> State | None:
        """The running workers together, with the counts of those that ended within the hour; None without."""
        running = self._heard_within(-math.inf, _MISSED_SECONDS)
        lost = self._heard_within(_MISSED_SECONDS, _LOST_SECONDS)
        return with_lost(summed_states(running, self.counts, self._clock()), lost) if running else None

    @property
    def counts(self) -> Counts:
        """What became of the pages of all workers of the last hour, since each of them started."""
        self._forget()
        return summed_counts([each.counts for each in self._workers.values() if each.counts])

    @property
    def rows(self) -> list[Row]:
        """The workers that run, and those that were lost a moment ago."""
        return [
            self._row(name, worker, worker.shared)
            for name, worker in sorted(self._workers.items())
            if worker.shared is not None and self._silence(worker) <= _LOST_SECONDS
        ]

    def state_of(self, name: str) -> State | None:
        """What a worker said last; None once it has stopped."""
        worker = self._workers.get(name)
        return worker.shared.state if worker and worker.shared else None

    def points(self, name: str | None = None) -> list[Point]:
        """The last hour of a worker, or of all, until the last slot of which all points have come."""
        self._forget()
        curves = [each.curve for key, each in self._workers.items() if name in (None, key)]
        return summed_hour(curves, slot_of(self._clock() - _LATE_SECONDS) - 1)

    def _note(self, shared: Shared, age: float) -> None:
        worker = self._workers.get(shared.worker) or self._admit(shared.worker)
        match shared.content:
            case SharedState(state=state):
                worker.shared, worker.heard = shared.content, self._monotonic() - age
                self._count(worker, state.counts, state.point.time)
            case SharedPoint(point=point, counts=counts):
                if -_CLOCKS_SECONDS < self._clock() - point.time < HOUR_SECONDS + _CLOCKS_SECONDS:
                    worker.curve.add(point)
                    self._count(worker, counts, point.time)
            case None:
                worker.shared = None

    def _count(self, worker: _Worker, counts: Counts, time: float) -> None:
        """Keep the newest counts: points are sent again, and held ones come after newer states."""
        if time >= worker.told:
            worker.counts, worker.told = counts, min(time, self._clock())

    def _admit(self, name: str) -> _Worker:
        """A new worker, in the place of the one that has been quiet for the longest where there are many."""
        if len(self._workers) >= MOST_WORKERS:
            del self._workers[min(self._workers, key=lambda each: self._workers[each].told)]
        self._workers[name] = _Worker()
        return self._workers[name]

    def _forget(self) -> None:
        """Drop the workers of which nothing is younger than an hour."""
        oldest = self._clock() - HOUR_SECONDS - SLOT_SECONDS
        for name in [name for name, worker in self._workers.items() if worker.told < oldest]:
            del self._workers[name]

    def _heard_within(self, least: float, most: float) -> dict[str, State]:
        """The states of workers that have been silent for more than so many seconds, and not for more."""
        return {
            name: worker.shared.state
            for name, worker in sorted(self._workers.items())
            if worker.shared is not None and least < self._silence(worker) <= most
        }

    def _silence(self, worker: _Worker) -> float:
        return self._monotonic() - worker.heard

    def _row(self, name: str, worker: _Worker, shared: SharedState) -> Row:
        state, silence = shared.state, self._silence(worker)
        return Row(
            worker=name,
            host=shared.host,
            page=shared.page,
            version=state.version,
            model=state.model,
            started=state.started,
            gone_since=self._clock() - silence if silence > _MISSED_SECONDS else None,
            pages_per_second=state.point.pages_per_second,
            bytes_per_second=state.point.bytes_per_second,
            lag=state.point.lag,
            partitions=partitions_of(state),
            in_flight=state.point.in_flight,
            memory=state.point.memory,
            unavailable=tuple(each.name for each in state.dependencies if each.unavailable_since is not None),
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
