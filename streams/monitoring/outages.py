"""Outages of the last hour: of dependencies as one worker has met them, and of a group together."""

from collections import deque
from collections.abc import Iterable

from dehusk.streams.monitoring.history import HOUR_SECONDS
from dehusk.streams.monitoring.state import Outage

MAX_OUTAGES = 20
_MAX_REASON = 100
"""Characters of a reason that are kept."""
_JOINED_SECONDS = 10.0
"""Largest pause between outages that workers have met and that are one."""


class OutageLog:
    """Outages that a worker has met."""

    def __init__(self) -> None:
        self._open: dict[str, Outage] = {}
        self._over: deque[Outage] = deque(maxlen=MAX_OUTAGES)

    def note(self, lasting: Iterable[Outage], now: float) -> None:
        """Note the outages that last at a time in seconds since 1970."""
        missing = {each.name: each for each in lasting}
        for name in self._open.keys() - missing.keys():
            outage = self._open.pop(name)
            self._over.append(Outage(name, outage.since, max(now, outage.since), outage.reason))
        for name, outage in missing.items():
            since = self._open[name].since if name in self._open else outage.since
            self._open[name] = Outage(name, since, None, outage.reason[:_MAX_REASON])

    def of_the_hour(self, now: float) -> tuple[Outage, ...]:
        """Return the latest outages of the hour before a time, those that last included, oldest first."""
        return latest([*self._over, *self._open.values()], now)


def latest(outages: Iterable[Outage], now: float) -> tuple[Outage, ...]:
    """Return the latest outages of the hour before a time, oldest first."""
    found = [each for each in outages if each.until is None or each.until > now - HOUR_SECONDS]
    return tuple(sorted(found, key=lambda each: each.since)[-MAX_OUTAGES:])


def merge(outages: Iterable[Outage]) -> list[Outage]:
    """Join the outages of the same name that overlap: workers meet an outage each at its own moment."""
    merged: dict[str, list[Outage]] = {}
    for each in sorted(outages, key=lambda each: each.since):
        known = merged.setdefault(each.name, [])
        before = known[-1] if known else None
        if before is None or (before.until is not None and each.since > before.until + _JOINED_SECONDS):
            known.append(each)
        else:
            ends = (before.until, each.until)
            until = None if None in ends else max(end for end in ends if end is not None)
            known[-1] = Outage(each.name, before.since, until, before.reason)
    return [each for known in merged.values() for each in known]
