"""The times that crawlers write, in the forms they write them."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

_JAVA = "%a %b %d %H:%M:%S %Y"
"""Java's `Date.toString()` without its zone, which stands before the year."""
_MILLISECONDS_FROM = 1e11
"""A count from here on is of milliseconds: as seconds it would be after the year 5000."""
_ZONES = {"UTC": 0, "GMT": 0, "Z": 0, "CET": 1, "CEST": 2, "EST": -5, "EDT": -4, "PST": -8, "PDT": -7}
"""Hours from UTC of the zones that Java abbreviates without ambiguity."""


def parse_time(value: object) -> datetime | None:
    """The time that a value tells, with its zone, or None where it tells none.

    Reads RFC 3339, HTTP dates, Java's `Date.toString()`, and seconds or milliseconds since 1970. A time
    without a zone is taken as UTC.
    """
    try:
        if isinstance(value, str) and not value.strip().replace(".", "", 1).isdigit():
            return _in_zone(_parse_text(value.strip()))
        return _since_1970(value)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _since_1970(value: object) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    count = float(value)
    seconds = count / 1000 if count >= _MILLISECONDS_FROM else count
    return datetime.fromtimestamp(seconds, UTC)


def _parse_text(value: str) -> datetime:
    words = value.split()
    if len(words) == 6 and words[3].count(":") == 2:
        return _parse_java(words)
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return parsedate_to_datetime(value)


def _parse_java(words: list[str]) -> datetime:
    time = datetime.strptime(" ".join([*words[:4], words[5]]), _JAVA)  # noqa: DTZ007 the zone follows
    hours = _ZONES.get(words[4])
    return time if hours is None else time.replace(tzinfo=timezone(timedelta(hours=hours)))


def _in_zone(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
