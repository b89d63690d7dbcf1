"""Steps of a promotion that the workers take, or give up, without the command that began it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dehusk.schemas.errors import ConflictError
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.availability import UNAVAILABLE
from dehusk.streams.rollout.steps import due_change
from dehusk.streams.worker.rollout.steering import StateReader

Change = Callable[[Scope, Rollout], Awaitable[None]]
"""Writer of a state to the control topic, as `change_state`."""
_log = logging.getLogger(__name__)
CHECK_SECONDS = 1.0
"""Interval at which the next step is looked for."""
TURN_SECONDS = 5.0
"""Time that a worker leaves to each one before it in the order of their names."""


@dataclass(slots=True, eq=False)
class Stepping:
    """Taker of the steps that are due, or of the pause where one has waited for too long.

    The first worker by name takes them, and each other one a while later, if no step was taken. Where two
    take one, the first one in the control topic counts. `notify` is called with each state by which this
    worker has paused the steps.
    """

    _reader: StateReader
    _change: Change
    _worker: str
    _notify: Callable[[Rollout], None]
    _due: tuple[int, float] = field(default=(0, 0.0), init=False)
    """Revision whose next step is due, and since when, on the clock of the event loop."""

    async def run(self) -> None:
        """Take steps until cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            await self.take_due(datetime.now(UTC))

    async def take_due(self, now: datetime) -> None:
        """Take the next step if it is due and the turn of this worker."""
        state, reports = self._reader.state, self._reader.live_reports()
        seen = self._reader.seen() if state and state.steps else []
        changed = state and due_change(state, reports, seen, now, self._worker)
        if state is None or changed is None:
            self._due = 0, 0.0
            return
        time = asyncio.get_running_loop().time()
        if self._due[0] != state.revision:
            self._due = state.revision, time
        before = sum(each.worker < self._worker for each in reports)
        if time - self._due[1] >= before * TURN_SECONDS:
            await self._take(changed)

    async def _take(self, changed: Rollout) -> None:
        try:
            await self._change(self._reader.scope, changed)
        except ConflictError as error:
            _log.info("no step is taken: %s", error)
        except (*UNAVAILABLE, TimeoutError) as error:
            _log.warning("no step of %s can be taken: %s", self._reader.scope, error)
        else:
            _log.info("%s: %s", self._reader.scope, changed.change.reason)
            if changed.steps and changed.steps.is_paused:
                self._notify(changed)
