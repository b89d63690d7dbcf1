"""The record of a worker that its live page shows."""

import asyncio
import time

import orjson

from dehusk.streams.worker.live.feed import Feed
from dehusk.streams.worker.live.footprint import Footprint, footprint
from dehusk.streams.worker.live.history import HOUR_SECONDS, SLOT_SECONDS, History
from dehusk.streams.worker.live.recorder import Recorder
from dehusk.streams.worker.live.state import Watched

_RECORD_SECONDS = 1.0


class Live:
    """Records a worker and feeds those who watch it."""

    def __init__(self, recorder: Recorder, watched: Watched) -> None:
        self._recorder = recorder
        self._watched = watched
        self._footprint: Footprint | None = None
        self._history = History()
        self.record()
        self.feed = Feed(self._history_as_json, self._state_as_json)

    async def run(self) -> None:
        """Record every second, for as long as this runs."""
        while True:
            self._footprint = await asyncio.to_thread(footprint)
            for _ in range(SLOT_SECONDS):
                self.record()
                self.feed.publish()
                await asyncio.sleep(_RECORD_SECONDS)

    def record(self) -> None:
        """Add a point to the history."""
        memory = self._footprint.bytes if self._footprint else None
        self._point = self._recorder.record(time.time(), memory)
        self._history.add(self._point)

    def _history_as_json(self) -> bytes:
        return orjson.dumps(
            {"slot_seconds": SLOT_SECONDS, "seconds": HOUR_SECONDS, "points": self._history.points}
        )

    def _state_as_json(self) -> bytes:
        return orjson.dumps(self._watched.state(self._point, self._footprint))
