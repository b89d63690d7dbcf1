"""A Triton server with explicit model control: what it serves, loads and unloads, and how fast it answers."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from dehusk.inference.labelers.triton_client import READY, ServedVersion, TritonClient, ready_in, trusted_of
from dehusk.schemas.errors import LateError

_GONE = {"", "UNAVAILABLE"}
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts and mean times of a version since it was loaded."""

    requests: int
    failures: int
    executions: int
    queue_ms: float
    """Mean time that a request waited."""
    compute_ms: float
    """Mean time that a request was computed, with the others of its batch."""

    @property
    def batch_size(self) -> float:
        """Mean requests per execution."""
        return self.requests / self.executions if self.executions else 0.0


class ModelServer(TritonClient):
    """A Triton server, as an async context manager."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def index(self) -> list[ServedVersion]:
        """Return the versions that it knows, by model and number; also those that were loaded from memory.

        Its own index has only those of the repository, its statistics all that are ready.
        """
        found, ready = await super().index(), await self.statistics()
        known = {(each.model, each.version) for each in found}
        found += [
            ServedVersion(each.name, each.version, READY, "")
            for each in ready
            if (each.name, each.version) not in known
        ]
        return sorted(found, key=lambda each: (each.model, int(each.version or 0)))

    async def ready(self, model: str) -> list[str]:
        """Return the ready versions of a model, oldest first."""
        return ready_in(await self.index(), model)

    async def trusted(self, model: str, ready: Sequence[str]) -> str:
        """Return the trusted one of the ready versions of a model; empty where none is ready."""
        return trusted_of(await self.parameters(model), ready) if ready else ""

    async def unload(self, model: str) -> None:
        """Unload all versions of a model; return when they are gone.

        Raises:
            LateError: a version is still there after the timeout.
        """
        await super().unload(model)
        try:
            async with asyncio.timeout(self.timeout):
                await self._wait_until_gone(model)
        except TimeoutError as error:
            raise LateError(f"Triton at {self.address} has not unloaded {model!r} yet") from error

    async def _wait_until_gone(self, model: str) -> None:
        while True:
            states = {each.state for each in await self.index() if each.model == model}
            if states <= _GONE:
                return
            if READY in states:  # a load that nobody waits for any more ended after the unload
                await super().unload(model)
            await asyncio.sleep(_PAUSE)

    async def statistics_of(self, model: str, version: str) -> Statistics:
        """Return the statistics of a served version."""
        (found,) = await self.statistics(model, version)
        counts = found.inference_stats
        return Statistics(
            found.inference_count,
            counts.fail.count,
            found.execution_count,
            _mean_ms(counts.queue),
            _mean_ms(counts.compute_input) + _mean_ms(counts.compute_infer) + _mean_ms(counts.compute_output),
        )


def _mean_ms(duration: Any) -> float:  # noqa: ANN401 a `StatisticDuration` of Triton's, which has no types
    return float(duration.ns / duration.count / 1e6) if duration.count else 0.0
