"""The times that crawlers write, in the forms they write them."""

import re
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

_JAVA = re.compile(r"\w{3} (\w{3} \d{1,2} \d\d:\d\d:\d\d) (\S+) (\d{4})", re.ASCII)
"""Java's `Date.toString()`, whose zone stands before the year."""
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d\d?):?(\d\d)", re.ASCII)
_ZONES = {
    **dict.fromkeys(("UTC", "GMT", "UT", "Z", "WET"), 0),
    **dict.fromkeys(("CET", "WEST"), 1),
    **dict.fromkeys(("EET", "CEST"), 2),
    **dict.fromkeys(("MSK", "EEST"), 3),
    **dict.fromkeys(("JST", "KST"), 9),
    **dict(zip(("EDT", "EST", "MDT", "PDT", "PST"), range(-4, -9, -1), strict=True)),
}
"""Hours from UTC of the zones that Java abbreviates without ambiguity."""
_DIGITS = re.compile(r"\d{14}(?:\d{3})?", re.ASCII)
"""The times of crawl archives, to the second or the millisecond."""
_NUMBER = re.compile(r"\d{1,16}(?:\.\d{1,9})?", re.ASCII)
_MILLISECONDS_FROM = 1e11
"""A count from here on is of milliseconds: as seconds it would be after the year 5000."""


def parse_time(value: object) -> datetime | None:
    """The time that a value tells, with its zone, or None where it tells none that is certain.

    Reads RFC 3339, HTTP dates, Java's `Date.toString()`, the 14 or 17 digits of crawl archives, and seconds
    or milliseconds since 1970. A time without a zone is taken as UTC.
    """
    try:
        if isinstance(value, str):
            return _in_utc(_parse_text(value.strip()))
        return None if isinstance(value, bool) or not isinstance(value, int | float) else _since_1970(value)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _since_1970(count: float) -> datetime:
    return datetime.fromtimestamp(count / 1000 if count >= _MILLISECONDS_FROM else count, UTC)


def _parse_text(value: str) -> datetime:
    if java := _JAVA.fullmatch(value):
        time = datetime.strptime(f"{java[1]} {java[3]}", "%b %d %H:%M:%S %Y")  # noqa: DTZ007 the zone follows
        return time.replace(tzinfo=_zone(java[2]))
    if _DIGITS.fullmatch(value):
        return datetime.strptime(value.ljust(20, "0"), "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    if _NUMBER.fullmatch(value):
        return _since_1970(float(value))
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return parsedate_to_datetime(value)


def _zone(name: str) -> timezone:
    """The zone of a name or an offset; ValueError for a name that could be several."""
    if name in _ZONES:
        return timezone(timedelta(hours=_ZONES[name]))
    offset = _OFFSET.fullmatch(name)
    if not offset:
        raise ValueError(name)
    sign = -1 if offset[1] == "-" else 1
    return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3])))


def _in_utc(time: datetime) -> datetime:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
