"""How a worker is doing: a line in its log every few seconds, and a report for its monitoring pages."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from dehusk.streams.worker.counts import Totals
from dehusk.streams.worker.dependencies import Dependencies
from dehusk.streams.worker.drops import DropLog, DropsByReason
from dehusk.streams.worker.metrics import Metrics

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Report:
    """A worker's state."""

    totals: Totals
    pages_per_second: float
    """Over the last interval, as `bytes_per_second`."""
    bytes_per_second: float
    in_flight: int
    lag: int | None
    """Messages of its partitions yet to be read; None while it waits for its partitions."""
    unavailable: dict[str, str]
    """The dependencies that do not answer, each with the reason."""
    skipped: DropsByReason
    dead_letters: DropsByReason
    notes: list[str]
    """What somebody should know that keeps no page waiting, in words."""

    @property
    def hindrances(self) -> list[str]:
        """What keeps the worker from its work, in words."""
        waits = ["waits for its partitions"] if self.lag is None else []
        return waits + [f"{name} is unavailable: {reason}" for name, reason in self.unavailable.items()]

    def __str__(self) -> str:
        to_come = "" if self.lag is None else f", {self.lag:,} to come"
        return (
            f"{self.pages_per_second:.0f} pages/s, {self.bytes_per_second / 1e6:.1f} MB/s; {self.totals}; "
            f"{'; '.join([f'{self.in_flight:,} in flight{to_come}', *self.hindrances, *self.notes])}"
        )


class Progress:
    """Measures how fast a worker is, interval by interval."""

    def __init__(
        self,
        metrics: Metrics,
        dependencies: Dependencies,
        drops: DropLog,
        in_flight: Callable[[], int],
        lag: Callable[[], int | None],
        *,
        notes: Callable[[], list[str]] = list,
    ) -> None:
        self._metrics = metrics
        self._dependencies = dependencies
        self._drops = drops
        self._in_flight = in_flight
        self._lag = lag
        self._notes = notes
        self._before = metrics.totals
        self._since = time.monotonic()
        self._rates = (0.0, 0.0)

    async def log_every(self, seconds: float) -> None:
        """Log a line every few seconds, for as long as this runs."""
        while True:
            await asyncio.sleep(seconds)
            self._measure()
            _log.info("%s", self.report())

    def report(self) -> Report:
        """The state now, with the rates of the last interval."""
        unavailable = {dependency.name: dependency.reason for dependency in self._dependencies.unavailable}
        return Report(
            self._metrics.totals,
            *self._rates,
            self._in_flight(),
            self._lag(),
            unavailable,
            self._drops.skipped,
            self._drops.dead_letters,
            self._notes(),
        )

    def _measure(self) -> None:
        now, totals = time.monotonic(), self._metrics.totals
        seconds = now - self._since
        pages, volume = totals.pages - self._before.pages, totals.bytes - self._before.bytes
        self._rates = (pages / seconds, volume / seconds)
        self._since, self._before = now, totals
