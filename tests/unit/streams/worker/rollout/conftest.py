"""Versions that answer what the test says, and the comparison of one with another."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from dehusk.schemas.errors import ConfigurationError, LateError, NotEncodedError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, Encoding, ModelVersion, Prediction
from dehusk.streams.local.folder import free_ports
from dehusk.streams.worker.rollout.observing import Observations
from dehusk.streams.worker.rollout.plan import OpenVersion


@dataclass
class Model:
    """A labeler of one version."""

    version: str
    probability: float = 0.9
    fault: str = ""
    """`nan`, `away`, `late`, `refused`, `lacks` or nothing."""
    asked: int = 0
    closed: bool = False
    once: list[str] = field(default_factory=list)
    """Faults of the next calls, before `fault`."""
    encodings: frozenset[Encoding] = frozenset()

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        self.asked += len(pages)
        fault = self.once.pop(0) if self.once else self.fault
        if fault == "away":
            raise UnavailableError(f"version {self.version} is away")
        if fault == "late":
            raise LateError(f"version {self.version} takes long")
        if fault == "refused":
            raise ConfigurationError(f"version {self.version} is not served")
        if fault == "lacks":
            raise NotEncodedError(Encoding.WEB2TEXT)
        if fault == "nan":
            return [Broken(BrokenReason.REJECTED_BY_MODEL, "NaN") for _ in pages]
        return [self._answer(page) for page in pages]

    def _answer(self, page: EncodedPage) -> Prediction:
        probabilities = np.full(len(page), self.probability, np.float32)
        return Prediction(probabilities, ModelVersion("m", self.version), "triton")

    async def close(self) -> None:
        self.closed = True

    def opened(self) -> OpenVersion:
        return OpenVersion(self.version, self, None)


@pytest.fixture
def models() -> dict[str, Model]:
    """Versions 7, 8 and 9, which label."""
    return {version: Model(version) for version in ("7", "8", "9")}


Compare = Callable[[Observations], Awaitable[None]]


@pytest.fixture
def finish_comparing() -> Compare:
    """Waits until all batches that were offered are compared."""

    async def finish(observations: Observations) -> None:
        for each in observations.comparing.values():
            while not each._waiting.empty():
                await each.compare_next()

    return finish


@pytest.fixture
def free_port() -> int:
    return free_ports(1)[0]
