"""Availability of a worker's dependencies, for its log, metrics and readiness; retries with back-off."""

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from dehusk.schemas.errors import ConfigurationError, UnavailableError

UNAVAILABLE = (UnavailableError, ConfigurationError)
"""Errors of an unavailable dependency; also refusals, as somebody may repair a password or model."""
Check = Callable[[], Awaitable[object]]
"""Checks a dependency; raises one of UNAVAILABLE while it is unavailable."""
_ASK_SECONDS = 5.0
_LIVE_SECONDS = 1.0
SILENT_SECONDS = 2.0
"""Time without an answer to a status request after which a dependency is silent."""
_FIRST_BACK_OFF = 0.05
MAX_BACK_OFF = 5.0
"""Longest wait between two attempts, in seconds."""
Answer = TypeVar("Answer")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Dependency:
    """A dependency that a worker talks to: Kafka, Redis, Triton, a schema registry."""

    name: str
    consequence: str
    """Effect while it is unavailable, for the log."""
    unavailable_since: float | None = field(default=None, init=False)
    """Monotonic time when it was first missed; None while it answers."""
    missed_at: float = field(default=-math.inf, init=False)
    """Monotonic time when it was last missed."""
    reason: str = field(default="", init=False)
    """Last error, in a line."""
    silent_since: float | None = field(default=None, init=False)
    """Monotonic time of the first status request without an answer; None while they are answered."""
    silence: str = field(default="", init=False)
    """Reason why there is no answer, in a line."""

    def missed(self, error: Exception) -> None:
        """Note that it did not answer; the first error and each new refusal are logged."""
        before, self.reason = self.reason, " ".join(str(error).split())
        is_new_refusal = isinstance(error, ConfigurationError) and self.reason != before
        if self.unavailable_since is None or is_new_refusal:
            _log.warning("%s is unavailable, %s: %s", self.name, self.consequence, self.reason)
        self.missed_at = time.monotonic()
        if self.unavailable_since is None:
            self.unavailable_since = self.missed_at

    def answered(self) -> None:
        """Note that it answered."""
        if self.unavailable_since is not None:
            _log.info(
                "%s is available again after %.1f s", self.name, time.monotonic() - self.unavailable_since
            )
            self.unavailable_since = None

    def fell_silent(self, since: float, reason: str) -> None:
        """Note that a status request of a monotonic time has no answer."""
        if self.silent_since is None:
            self.silent_since, self.silence = since, " ".join(reason.split())

    @property
    def unavailable(self) -> bool:
        """True if it did not answer when it was last asked."""
        return self.unavailable_since is not None

    @property
    def missing_since(self) -> float | None:
        """Monotonic time since which it is unavailable or silent; None while it answers."""
        return self.unavailable_since if self.unavailable else self.silent_since

    @property
    def trouble(self) -> str:
        """Reason why it is unavailable or silent; empty while it answers."""
        if self.unavailable:
            return self.reason
        return "" if self.silent_since is None else self.silence


def describe_unavailable(dependencies: Iterable[Dependency]) -> list[str]:
    """Return a sentence for each dependency that is unavailable, with the reason."""
    return [f"{each.name} is unavailable: {each.reason}" for each in dependencies if each.unavailable]


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Dependencies of a worker."""

    kafka: Dependency
    redis: Dependency
    labeler: Dependency
    schema_registry: Dependency
    has_registry: bool = True
    """True if there is a schema registry to ask."""

    def __iter__(self) -> Iterator[Dependency]:
        yield from (self.kafka, self.redis, self.labeler)
        if self.has_registry:
            yield self.schema_registry

    @property
    def missing(self) -> list[Dependency]:
        """Those that are unavailable or silent."""
        return [dependency for dependency in self if dependency.missing_since is not None]

    @property
    def waited_for(self) -> bool:
        """True if pages wait for an unavailable one; they do not wait for Redis."""
        return self.kafka.unavailable or self.labeler.unavailable or self.schema_registry.unavailable


async def watch(dependency: Dependency, check: Check, seconds: float = _ASK_SECONDS) -> None:
    """Check a dependency every few seconds, as a worker without pages would not notice."""
    while True:
        asked = time.monotonic()
        try:
            await check()
        except UNAVAILABLE as error:
            dependency.missed(error)
        else:
            if dependency.unavailable_since is None or dependency.unavailable_since < asked:
                dependency.answered()  # else it was missed by somebody who has asked later
        await asyncio.sleep(seconds)


async def watch_silence(dependency: Dependency, ask: Check) -> None:
    """Ask a dependency for a sign of life every second, and note when it gives none, for what is shown.

    What is asked for has to cost it little, as it is not to be late under load. Pages go on to wait for its
    answers as long as its time limit lets them.
    """
    while True:
        asked = time.monotonic()
        answering = asyncio.ensure_future(ask())
        try:
            answered, _ = await asyncio.wait([answering], timeout=SILENT_SECONDS)
            if not answered:
                dependency.fell_silent(asked, "it answers no status request")
            await answering
        except UnavailableError as error:
            dependency.fell_silent(asked, str(error))
        except ConfigurationError:
            dependency.silent_since = None  # a refusal is an answer
        else:
            dependency.silent_since = None
        finally:
            answering.cancel()
        await asyncio.sleep(_LIVE_SECONDS)


async def insist(dependency: Dependency, ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """Ask a dependency until it answers."""
    attempt = 0
    while True:
        try:
            answer = await ask()
        except UNAVAILABLE as error:
            dependency.missed(error)
            await back_off(attempt)
            attempt += 1
        else:
            dependency.answered()
            return answer


async def ask_if_there(dependency: Dependency, ask: Callable[[], Awaitable[Answer]]) -> Answer | None:
    """Ask a dependency unless it is known to be unavailable; return None where it does not answer."""
    if dependency.unavailable:
        return None
    try:
        answer = await ask()
    except UNAVAILABLE as error:
        dependency.missed(error)
        return None
    dependency.answered()
    return answer


async def back_off(attempt: int) -> None:
    """Wait after an attempt, counted from 0: twice as long each time, up to five seconds."""
    seconds = min(MAX_BACK_OFF, _FIRST_BACK_OFF * 2 ** min(attempt, 16))
    await asyncio.sleep(seconds * random.uniform(0.5, 1.0))  # noqa: S311 jitter
