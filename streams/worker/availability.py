"""Whether the parts that a worker talks to are there, as its log, its metrics and its readiness tell."""

import logging
import time
from dataclasses import dataclass, field

from schemas.errors import ConfigurationError, UnavailableError

ABSENCE = (UnavailableError, ConfigurationError)
"""What a part raises while it is away; a refusal ends too, when somebody repairs a password or a model."""
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Part:
    """A part that a worker talks to: Kafka, Redis, Triton, a schema registry."""

    name: str
    consequence: str
    """What happens while the part is away, as the log says it."""
    away_since: float | None = field(default=None, init=False)
    """The monotonic time when it was first missed; None while it answers."""
    _next_trial: float = field(default=0.0, init=False)

    def missed(self, error: Exception, *, retry_after: float = 0.0) -> None:
        """Note that it did not answer; `due` says when `retry_after` seconds have passed."""
        now = time.monotonic()
        self._next_trial = now + retry_after
        if self.away_since is None:
            self.away_since = now
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

    @property
    def due(self) -> bool:
        """Whether it is there, or it is time to ask it again."""
        return self.away_since is None or time.monotonic() >= self._next_trial
