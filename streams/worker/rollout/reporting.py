"""What a worker tells of the versions that it labels with, on the control topic."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from dehusk.schemas.comparison import WorkerReport
from dehusk.streams.producing import Outgoing, enqueue
from dehusk.streams.rollout.keys import ControlKey
from dehusk.streams.rollout.moving import REPORT_SECONDS
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.rollout.plan import Plans
from dehusk.streams.worker.rollout.seen import Seen
from dehusk.streams.worker.rollout.steering import Steering
from dehusk.streams.worker.rollout.versions import name_of

_LAST_SECONDS = 2.0
_KEPT_SECONDS = 3600.0
"""How old a report becomes that nobody withdraws."""
Stale = Callable[[int], Sequence[ControlKey]]
"""The reports that are older than a time, in milliseconds since 1970."""
_log = logging.getLogger(__name__)


class Reporting:
    """Writes a report every few seconds, and at once when the worker follows another state."""

    def __init__(
        self,
        producer: AIOKafkaProducer,
        topic: str,
        key: ControlKey,
        stale: Stale,
        *,
        steering: Steering,
        plans: Plans,
        seen: Seen,
        metrics: Metrics,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._key = key
        self._stale = stale
        self._steering = steering
        self._plans = plans
        self._seen = seen
        self._metrics = metrics

    async def run(self) -> None:
        """Report, for as long as this runs; first remove what workers left that were killed."""
        for key in self._stale(int(1000 * (time.time() - _KEPT_SECONDS))):
            await self._write(key, None)
        while True:
            self._steering.adopted.clear()
            await self._write(self._key, self.report().written())
            with suppress(TimeoutError):
                await asyncio.wait_for(self._steering.adopted.wait(), REPORT_SECONDS)

    async def withdraw(self) -> None:
        """Say that the worker labels no more, if Kafka answers soon."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._write(self._key, None), _LAST_SECONDS)

    def report(self) -> WorkerReport:
        """The report as it is now."""
        plan = self._plans.current
        answer = plan.serving.answer
        chosen = self._metrics.model or (answer and answer.model)
        return WorkerReport(
            worker=self._key.worker or "",
            revision=self._steering.revision,
            serving=plan.serving.version or (chosen.version if chosen else ""),
            canary=name_of(plan.canary),
            shadow=name_of(plan.shadow),
            refused=dict(self._steering.refused),
            figures=dict(self._seen.tally.figures),
            comparison=self._seen.shadow.comparison if plan.shadow else None,
        )

    async def _write(self, key: ControlKey, value: bytes | None) -> None:
        outgoing = Outgoing(self._topic, Record(key.written(), value))
        try:
            await (await enqueue(self._producer, outgoing))
        except (KafkaError, OSError) as error:
            _log.warning("no report to topic %s: %s", self._topic, error)
