"""Services of the local stack that fail while it runs are started again."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.local.process import Service

_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Seconds before a service is started again, by how often it failed in a row."""
_STEADY_SECONDS = 60.0
"""A service that has run so long has not failed in a row."""


class Restarts:
    """Starts failed services again at their addresses, with growing pauses, until that is hopeless."""

    def __init__(self, failures: Callable[[], Mapping[Service, str]], tell: Callable[[str], None]) -> None:
        self._failures = failures
        """Answers which services have failed, and how, in words."""
        self._tell = tell
        """Told in a line what failed and that it runs again."""
        self._in_a_row: defaultdict[str, int] = defaultdict(int)
        self._started: dict[str, float] = {}

    def look(self) -> None:
        """Start each service again that has failed since the last look, and wait until it is ready.

        Raises:
            ConfigurationError: its files can no longer be written.
            UnavailableError: it failed again and again, each time soon after its start.
        """
        for service, how in self._failures().items():
            self._restart(service, how)

    def _restart(self, service: Service, how: str) -> None:
        pause = self._pause(service)
        again = f"in {pause:.0f} s" if pause else "now"
        self._tell(f"{service.name} failed: {how}. It is started again {again}; its log: {service.log}")
        service.kill()
        time.sleep(pause)
        try:
            service.start()
        except UnavailableError:
            service.kill()  # the next look finds it ended
        else:
            self._tell(f"{service.name} is ready again, at the same address")
        self._started[service.name] = time.monotonic()

    def _pause(self, service: Service) -> float:
        if time.monotonic() - self._started.get(service.name, 0.0) > _STEADY_SECONDS:
            self._in_a_row[service.name] = 0
        failures = self._in_a_row[service.name]
        if failures == len(_PAUSES):
            raise UnavailableError(f"{service.name} keeps failing; {service.last_words()}")
        self._in_a_row[service.name] += 1
        return _PAUSES[failures]
