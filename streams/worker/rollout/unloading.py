"""Versions that a roll-out has left, which one worker has Triton unload once nobody labels with them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.rollout import Rollout
from dehusk.streams.models.serving import Moved
from dehusk.streams.models.store import Guard
from dehusk.streams.worker.rollout.steering import RETRY_SECONDS, StateReader

QUIET_SECONDS = 10.0
"""Time for which all workers have to follow a state before versions are unloaded; begun batches end in it."""
_CHECK_SECONDS = 1.0
_log = logging.getLogger(__name__)
Unload = Callable[[set[str], Moved, Guard], Awaitable[None]]
"""Has Triton unload versions, and move its trusted version, as `unload`, unless the guard raises an error."""


class Unloading:
    """Loop that follows the states of a roll-out; that of the group's first worker has versions unloaded."""

    def __init__(self, reader: StateReader, worker: str, unload: Unload) -> None:
        self._reader = reader
        self._worker = worker
        self._unload = unload
        self._state = reader.state
        self._served = self._state.serving if self._state else ""
        """Version that served when Triton was last told."""
        self._left: set[str] = set()
        self._due = 0.0

    async def run(self) -> None:
        """Have versions unloaded that are left, until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            await self.look(asyncio.get_running_loop().time())

    async def look(self, now: float) -> None:
        """Note what the state has left, and have it unloaded if that is due at a time in seconds."""
        if self._note() or not self._is_followed():
            self._due = now + QUIET_SECONDS
        elif now >= self._due:
            self._due = now + RETRY_SECONDS
            await self._act()

    def _note(self) -> bool:
        """Note what a new state has left; return True if there is one."""
        before, self._state = self._state, self._reader.state
        if self._state is None or self._state == before:
            return False
        self._served = self._served or self._state.serving
        self._left = (self._left | (before.kept if before else set())) - self._state.kept
        return True

    def _is_followed(self) -> bool:
        """Return True if all live workers of the group follow the state, and this one is the first."""
        reports, state = self._reader.live_reports(), self._state
        if state is None or not reports or reports[0].worker != self._worker:
            return False
        return all(each.revision >= state.revision for each in reports)

    async def _act(self) -> None:
        """Have Triton told what is new and, each time, of versions taken back: a restart loads them again."""
        state, taken_back = self._state, self._reader.taken_back()
        if state is None:
            return
        is_new = bool(self._left) or self._served != state.serving
        gone = {each for each in self._left | taken_back if self._reader.is_free(each)}
        if not is_new and not gone:
            return
        try:
            self._check_alone()
            await self._unload(gone, Moved(self._served, state.serving), self._check_alone)
        except ConflictError:
            return
        except UnavailableError as error:
            if is_new:
                _log.warning("Triton does not unload what the roll-out has left: %s", error)
            return
        except ConfigurationError as error:
            if is_new:
                _log.warning("Triton refuses to unload what the roll-out has left: %s", error)
            gone = set()
        if is_new:
            self._told(state, gone)

    def _check_alone(self) -> None:
        """Check that the state is as it was, and no command has versions served: it may have loaded others.

        Raises:
            ConflictError: it is not, or one has.
        """
        if self._reader.state != self._state or self._reader.is_claimed(datetime.now(UTC)):
            raise ConflictError(f"the roll-out of {self._reader.scope} is being changed")

    def _told(self, state: Rollout, gone: set[str]) -> None:
        if gone:
            _log.info("Triton was told to unload version %s", ", ".join(sorted(gone, key=int)))
        self._left, self._served = set(), state.serving
