"""What the live page shows."""

import asyncio
import time
from collections.abc import Mapping

import orjson

from dehusk.streams.group.figures import State
from dehusk.streams.group.group import Group
from dehusk.streams.worker.drops import DropsByReason, DropsOfReason
from dehusk.streams.worker.live.feed import Feed
from dehusk.streams.worker.live.footprint import Footprint, footprint
from dehusk.streams.worker.live.history import HOUR_SECONDS, SLOT_SECONDS, History, Point
from dehusk.streams.worker.live.recorder import Recorder
from dehusk.streams.worker.live.state import Watched

_RECORD_SECONDS = 1.0
_GROUP = "group"
"""What is shown of all workers, beside their names."""
_ALONE = "worker"
"""The name of a worker that shares its figures with nobody."""


class Live:
    """Records a worker and feeds those who watch it, or its group."""

    def __init__(self, recorder: Recorder, watched: Watched, group: Group | None = None) -> None:
        self._recorder = recorder
        self._watched = watched
        self._group = group
        self._own = group.own or _ALONE if group else _ALONE
        self._footprint: Footprint | None = None
        self._history = History()
        self.record()
        self.feed = Feed(self._history_as_json, self._state_as_json)

    @property
    def state(self) -> State:
        """The worker's own state."""
        return self._watched.state(self._point, self._footprint)

    @property
    def points(self) -> list[Point]:
        """The worker's own last hour, oldest first; the last point is of ten seconds that are not over."""
        return self._history.points

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

    def _history_as_json(self, wanted: str) -> bytes:
        of, _ = self._found(wanted)
        if self._group is None or of == self._own:
            points = self.points
        else:
            points = self._group.points(None if of == _GROUP else of)
        shown = [point.shown() for point in points]
        return orjson.dumps(
            {"of": of, "slot_seconds": SLOT_SECONDS, "seconds": HOUR_SECONDS, "points": shown}
        )

    def _state_as_json(self, wanted: str) -> bytes:
        of, state = self._found(wanted)
        report = self._watched.report() if of in (self._own, _GROUP) else None
        return orjson.dumps(
            {
                "of": of,
                "own": self._own,
                "point": state.point.shown(),
                "state": state,
                "skipped": _with_examples(state.counts.skipped, report.skipped if report else {}),
                "dead_letters": _with_examples(
                    state.counts.dead_letters, report.dead_letters if report else {}
                ),
                "group": self._group and _about(self._group),
            }
        )

    def _found(self, wanted: str) -> tuple[str, State]:
        """Who is shown to those who want to see somebody, or nobody named, and how they are.

        The worker itself where nothing is known of others.
        """
        if self._group is None or wanted == self._own or self._group.silent_since is not None:
            return self._own, self.state
        if wanted != _GROUP and (state := self._group.state_of(wanted)):
            return wanted, state
        state = self._group.state
        return (_GROUP, state) if state else (self._own, self.state)


def _with_examples(counts: Mapping[str, int], own: DropsByReason) -> DropsByReason:
    """Counts with the examples that this worker has: others tell theirs on their own pages."""
    return {
        reason: DropsOfReason(count, own[reason].latest if reason in own else ())
        for reason, count in counts.items()
    }


def _about(group: Group) -> dict[str, object]:
    return {"name": group.name, "silent_since": group.silent_since, "workers": group.rows}
