"""Feed of the live page: the last hour and the state of the worker, of its group, or of another worker."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import orjson
from aiohttp import web

from dehusk.streams.monitoring.drops import GroupDrops
from dehusk.streams.monitoring.group import Group
from dehusk.streams.monitoring.history import HOUR_SECONDS, SLOT_SECONDS, History, with_quantiles
from dehusk.streams.monitoring.state import Point, State
from dehusk.streams.worker.monitoring.drops import DropsByReason, DropsOfReason
from dehusk.streams.worker.monitoring.monitor import Monitor, measure_footprint

MAX_CLIENTS = 16
STUCK_SECONDS = 30.0
"""Time after which a client that does not read is disconnected."""
RECORD_SECONDS = 1.0
_GROUP = "group"
"""Name of all workers together."""
_ALONE = "worker"
"""Name of a worker without a group."""


class Feed:
    """Feed of events to a few clients at once; a slow one misses states, and takes no memory."""

    def __init__(self, history: Callable[[str], bytes], state: Callable[[str], bytes]) -> None:
        """Take functions that return a history and a state as JSON, of the worker or group in `?of=`."""
        self._history = history
        self._state = state
        self._newest: dict[str, bytes] = {}
        self._changed = asyncio.Event()
        self._clients: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        """Count the clients."""
        return len(self._clients)

    def publish(self) -> None:
        """Send the newest state to each client, once that is ready for it."""
        self._newest.clear()
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Disconnect all clients."""
        for client in self._clients:
            client.cancel()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Send events until the client leaves."""
        task = asyncio.current_task()
        if task is None or len(self) >= MAX_CLIENTS:
            text = f"{MAX_CLIENTS} clients are connected already\n"
            return web.Response(text=text, status=503, headers={"Retry-After": "10"})
        self._clients.add(task)
        try:
            return await self._serve(request)
        finally:
            self._clients.discard(task)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        # keep proxies from buffering the events
        headers = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
        response = web.StreamResponse(headers=headers)
        of = request.query.get("of", "")
        with suppress(ConnectionError, TimeoutError):
            await response.prepare(request)
            await _send(response, b"history", self._history(of))
            while True:
                changed = self._changed
                await _send(response, b"state", self._newest_state(of))
                await changed.wait()
        return response

    def _newest_state(self, of: str) -> bytes:
        if of not in self._newest:
            self._newest[of] = self._state(of)
        return self._newest[of]


async def _send(response: web.StreamResponse, name: bytes, data: bytes) -> None:
    """Send an event, whose data have no line breaks, and wait until the client has nearly all of it.

    Raises:
        ConnectionError: the client is gone.
        TimeoutError: it does not read.
    """
    async with asyncio.timeout(STUCK_SECONDS):
        await response.write(b"event: %b\ndata: %b\n\n" % (name, data))


class Live:
    """Live view of a worker: its history, and the feed of the clients that watch it or its group."""

    def __init__(self, monitor: Monitor, group: Group | None = None) -> None:
        self.monitor = monitor
        self._group = group
        self._own = group.own or _ALONE if group else _ALONE
        self._history = History()
        self.record()
        self.feed = Feed(self._history_as_json, self._state_as_json)

    @property
    def state(self) -> State:
        """The worker's own state."""
        return self.monitor.state(self._point)

    @property
    def points(self) -> list[Point]:
        """The worker's own last hour, oldest first; the last point is that of the current slot."""
        return self._history.points

    async def run(self) -> None:
        """Record every second, for as long as this runs."""
        while True:
            self.monitor.footprint = await asyncio.to_thread(measure_footprint)
            for _ in range(SLOT_SECONDS):
                self.record()
                self.feed.publish()
                await asyncio.sleep(RECORD_SECONDS)

    def record(self) -> None:
        """Add a point to the history."""
        self._point = self.monitor.record(time.time())
        self._history.add(self._point)

    def _history_as_json(self, name: str) -> bytes:
        of, _ = self._select(name)
        if self._group is None or of == self._own:
            points = self.points
        else:
            points = self._group.points(None if of == _GROUP else of)
        return orjson.dumps(
            {
                "of": of,
                "slot_seconds": SLOT_SECONDS,
                "seconds": HOUR_SECONDS,
                "points": [with_quantiles(point) for point in points],
            }
        )

    def _state_as_json(self, name: str) -> bytes:
        of, state = self._select(name)
        return orjson.dumps(
            {
                "of": of,
                "own": self._own,
                "point": with_quantiles(state.point),
                "state": state,
                "skipped": self._with_examples("skipped", state.counts.skipped),
                "dead_letters": self._with_examples("dead_letters", state.counts.dead_letters),
                "group": self._group and _describe(self._group),
                "rollout": self.monitor.rollout(),
            }
        )

    def _select(self, name: str) -> tuple[str, State]:
        """Return the name and state of the selected worker, else of the group, else of this worker."""
        if self._group is None or name == self._own or self._group.silent_since is not None:
            return self._own, self.state
        if name != _GROUP and (state := self._group.state_of(name)):
            return name, state
        state = self._group.state
        return (_GROUP, state) if state else (self._own, self.state)

    def _with_examples(self, kind: str, counts: Mapping[str, int]) -> DropsByReason:
        """Add the latest drops of the group to counts, of any worker; without a group, those of this one."""
        own = self.monitor.drops.latest
        group = self._group.drops if self._group else GroupDrops()
        return {
            reason: DropsOfReason(count, group.latest((kind, reason), own.get((kind, reason), ())))
            for reason, count in counts.items()
        }


def _describe(group: Group) -> dict[str, object]:
    return {"name": group.name, "silent_since": group.silent_since, "workers": group.rows}
