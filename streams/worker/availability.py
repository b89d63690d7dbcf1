"""Whether the parts that a worker talks to are there, as its log, its metrics and its readiness tell."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from schemas.errors import ConfigurationError, UnavailableError

ABSENCE = (UnavailableError, ConfigurationError)
"""What a part raises while it is away; a refusal ends too, when somebody repairs a password or a model."""
Check = Callable[[], Awaitable[object]]
"""Asks a part for no page's sake; raises one of ABSENCE while it is away."""
_ASK_SECONDS = 5.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Part:
    """A part that a worker talks to: Kafka, Redis, Triton, a schema registry."""

    name: str
    consequence: str
    """What happens while the part is away, as the log says it."""
    away_since: float | None = field(default=None, init=False)
    """The monotonic time when it was first missed; None while it answers."""

    def missed(self, error: Exception) -> None:
        """Note that it did not answer."""
        if self.away_since is None:
            self.away_since = time.monotonic()
            _log.warning("%s is away, %s: %s", self.name, self.consequence, error)

    def answered(self) -> None:
        """Note that it answered."""
        if self.away_since is not None:
            _log.info("%s is back after %.1f s", self.name, time.monotonic() - self.away_since)
            self.away_since = None

    @property
    def away(self) -> bool:
        """Whether it did not answer when it was last asked."""
        return self.away_since is not None


async def watch(part: Part, check: Check) -> None:
    """Note every few seconds whether the part is there: a worker without pages would not notice."""
    while True:
        try:
            await check()
        except ABSENCE as error:
            part.missed(error)
        else:
            part.answered()
        await asyncio.sleep(_ASK_SECONDS)
