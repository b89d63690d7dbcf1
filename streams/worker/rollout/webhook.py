"""Webhook of a group of workers, which tells others what happens without them."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

import aiohttp
import orjson

from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.availability import UNAVAILABLE
from dehusk.streams.kafka.reader import record_time
from dehusk.streams.rollout.control import LIVE_SECONDS, REPORT_SECONDS, ControlKey
from dehusk.streams.worker.rollout.steering import StateReader
from dehusk.streams.worker.rollout.stepping import TURN_SECONDS

Event = Mapping[str, object]
PAUSES = (1.0, 2.0, 4.0, 8.0)
"""Seconds between the attempts to send an event."""
_MAX_WAITING = 20
"""Events that may wait; further ones are not sent."""
_TIMEOUT_SECONDS = 10.0
_CLOSE_SECONDS = 2.0
"""Time limit for what still waits when the worker ends."""
_RETRIED = {408, 425, 429}
"""Statuses below 500 after which an attempt is repeated."""
_CHECK_SECONDS = 1.0
_log = logging.getLogger(__name__)


class Webhook:
    """Sender of events to a URL, of which logs name no more than the host, as its path may be a secret."""

    def __init__(self, url: str) -> None:
        self._url = url
        parts = urlsplit(url)
        self.host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._waiting: asyncio.Queue[Event] = asyncio.Queue(_MAX_WAITING)

    def send(self, event: Event) -> None:
        """Queue an event, without waiting."""
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            _log.warning("the webhook at %s is too slow: %s is not sent", self.host, event["event"])

    async def run(self) -> None:
        """Send events until cancelled."""
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                event = await self._waiting.get()
                try:
                    await self._deliver(session, event)
                finally:
                    self._waiting.task_done()

    async def close(self) -> None:
        """Wait a little until all is sent."""
        try:
            await asyncio.wait_for(self._waiting.join(), _CLOSE_SECONDS)
        except TimeoutError:
            _log.warning("the webhook at %s has not taken all events before the end", self.host)

    async def _deliver(self, session: aiohttp.ClientSession, event: Event) -> None:
        for pause in (*PAUSES, None):
            failure, is_final = await self._post(session, event)
            if failure is None:
                _log.info("the webhook at %s was told of %s", self.host, event["event"])
                return
            if is_final or pause is None:
                _log.warning("the webhook at %s was not told of %s: %s", self.host, event["event"], failure)
                return
            await asyncio.sleep(pause)

    async def _post(self, session: aiohttp.ClientSession, event: Event) -> tuple[str | None, bool]:
        """Post an event; return the failure, if any, and True if another attempt is useless."""
        headers = {"Content-Type": "application/json"}
        try:
            async with session.post(
                self._url, data=orjson.dumps(event), headers=headers, allow_redirects=False
            ) as answer:
                if answer.status < 300:
                    return None, False
                return f"status {answer.status}", answer.status < 500 and answer.status not in _RETRIED
        except aiohttp.ClientConnectorError as error:
            return str(error.os_error), False
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            return type(error).__name__, False  # whose text may hold the URL


def changed(scope: Scope, state: Rollout) -> Event:
    """Return the event of a version that a worker has taken back, or not promoted further, by its state."""
    change = state.change
    is_back = change.taken_back is not None
    version = change.taken_back if is_back else state.canary and state.canary.version
    return {
        "event": "version-taken-back" if is_back else "promotion-stalled",
        "id": f"{scope.model}/{scope.group}/{state.revision}",
        "text": f"{scope}: {change.reason}; version {state.serving} serves",
        "at": change.at,
        "model": scope.model,
        "group": scope.group,
        "by": change.by,
        "version": version,
        "serving": state.serving,
        "revision": state.revision,
        "reason": change.reason,
    }


def worker_gone(scope: Scope, worker: str, last_report: int, by: str) -> Event:
    """Return the event of a worker that reports no more, since a time in milliseconds since 1970."""
    last = record_time(last_report)
    return {
        "event": "worker-gone",
        "id": f"{scope.model}/{scope.group}/{worker}/{last_report}",
        "text": f"{scope}: worker {worker} was killed, or hangs; its last report is of {last:%H:%M:%S} UTC",
        "at": datetime.now(UTC),
        "model": scope.model,
        "group": scope.group,
        "by": by,
        "worker": worker,
        "last_report": last,
    }


@dataclass(slots=True, eq=False)
class GoneWorkers:
    """Finder of workers that report no more and have not said goodbye.

    The first live worker by name removes the report, so that no other one finds it, and then tells it; each
    other one does so a while later, if the report is still there. A worker that was cut off itself waits
    until the others have had time to report again.
    """

    _reader: StateReader
    _worker: str
    _remove: Callable[[ControlKey], Awaitable[None]]
    _send: Callable[[Event], None]
    _since: float | None = field(default=None, init=False)
    """Time from which this worker has seen its own reports without a gap, in seconds since 1970."""

    async def run(self) -> None:
        """Look for gone workers until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            await self.look(time.time())

    async def look(self, now: float) -> None:
        """Tell each worker that has been silent for longer than live workers are."""
        reports = self._reader.last_reports()
        if now - reports.get(self._worker, 0) / 1000 > 2 * REPORT_SECONDS:
            self._since = None
            return
        self._since = now if self._since is None else self._since
        live = [name for name, last in reports.items() if now - last / 1000 <= LIVE_SECONDS]
        limit = LIVE_SECONDS + TURN_SECONDS * sum(name < self._worker for name in live)
        for worker, last in reports.items():
            if now - max(last / 1000, self._since) > limit:
                await self._tell(worker, last)

    async def _tell(self, worker: str, last: int) -> None:
        scope = self._reader.scope
        try:
            await self._remove(ControlKey(scope, worker))
        except (*UNAVAILABLE, TimeoutError) as error:
            _log.warning("worker %s of %s is gone, which cannot be noted: %s", worker, scope, error)
        else:
            _log.warning("worker %s of %s is gone", worker, scope)
            self._send(worker_gone(scope, worker, last, self._worker))
