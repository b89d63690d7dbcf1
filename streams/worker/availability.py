"""Whether the dependencies of a worker answer, as its log, its metrics and its readiness tell."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dehusk.schemas.errors import ConfigurationError, UnavailableError

UNAVAILABLE = (UnavailableError, ConfigurationError)
"""What an unavailable dependency raises; a refusal ends too, when somebody repairs a password or a model."""
Check = Callable[[], Awaitable[object]]
"""Asks a dependency for no page's sake; raises one of UNAVAILABLE while it is unavailable."""
_ASK_SECONDS = 5.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Dependency:
    """A dependency that a worker talks to: Kafka, Redis, Triton, a schema registry."""

    name: str
    consequence: str
    """What happens while the dependency is unavailable, as the log says it."""
    unavailable_since: float | None = field(default=None, init=False)
    """The monotonic time when it was first missed; None while it answers."""
    reason: str = field(default="", init=False)
    """Why it was last missed, in a line."""

    def missed(self, error: Exception) -> None:
        """Note that it did not answer; the log says so once, and again what somebody has to do about it."""
        before, self.reason = self.reason, " ".join(str(error).split())
        is_new_refusal = isinstance(error, ConfigurationError) and self.reason != before
        if self.unavailable_since is None or is_new_refusal:
            _log.warning("%s is unavailable, %s: %s", self.name, self.consequence, self.reason)
        if self.unavailable_since is None:
            self.unavailable_since = time.monotonic()

    def answered(self) -> None:
        """Note that it answered."""
        if self.unavailable_since is not None:
            _log.info(
                "%s is available again after %.1f s", self.name, time.monotonic() - self.unavailable_since
            )
            self.unavailable_since = None

    @property
    def unavailable(self) -> bool:
        """Whether it did not answer when it was last asked."""
        return self.unavailable_since is not None


async def watch(dependency: Dependency, check: Check) -> None:
    """Note every few seconds whether the dependency is there: a worker without pages would not notice."""
    while True:
        try:
            await check()
        except UNAVAILABLE as error:
            dependency.missed(error)
        else:
            dependency.answered()
        await asyncio.sleep(_ASK_SECONDS)
