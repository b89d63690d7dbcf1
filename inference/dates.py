"""The dates that pages declare, in the many ways in which they write them."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache

_LONGEST = 64
"""Characters in which a date is looked for."""
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_EPOCH = date(1970, 1, 1)
"""What a date becomes that was never set."""
_MONTHS = (
    "january jan januar jänner janvier enero gennaio janeiro januari",
    "february feb februar février fevrier febrero febbraio fevereiro februari",
    "march mar märz mars marzo março maart",
    "april apr avril abril aprile",
    "may mai mayo maggio maio mei",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août aout agosto augustus",
    "september sep sept septembre septiembre setiembre settembre setembro",
    "october oct oktober octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember décembre decembre diciembre dicembre dezembro",
)
"""Their names: English in full and short, German, French, Spanish, Italian, Portuguese and Dutch in full."""
_MONTH_OF = {name: month for month, names in enumerate(_MONTHS, 1) for name in names.split()}
_ZONES = {"z": 0, "utc": 0, "gmt": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420}
_ZONES |= {"mdt": -360, "pst": -480, "pdt": -420, "cet": 60, "cest": 120}
"""Minutes east of Greenwich."""

_TIME = (
    r"(?:[T\s,]+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"\s*(?P<half>[ap]\.?m\b\.?)?\s*(?P<zone>(?:GMT|UTC)?[+-]\d\d:?\d\d(?!\d)|(?:GMT|UTC)?[+-]\d\d\b|[a-z]{1,4}\b)?)?"
)
_NAME = rf"(?P<name>{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})\b"
_PATTERNS = tuple(
    re.compile(pattern + _TIME, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})[-/.年]\s?(?P<month>\d{1,2})[-/.月]\s?(?P<day>\d{1,2})(?!\d)日?",
        r"(?<!\d)(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?!\d)",
        rf"\b{_NAME}\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b",
        r"\b(?P<day>\d{1,2})(?:st|nd|rd|th|er|\.|º|°)?(?:[\s-]+|(?<=\.))(?:(?:de|of)\s+)?"
        rf"{_NAME}\.?,?[\s-]+(?:del?\s+)?(?P<year>\d{{4}})\b",
        r"\b(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})\b",
        r"(?<![\d/-])(?P<day>1[3-9]|2\d|3[01])(?P<dash>[/-])(?P<month>\d{1,2})(?P=dash)(?P<year>\d{4})(?![\d/-])",
        r"(?<![\d/-])(?P<month>\d{1,2})(?P<dash>[/-])(?P<day>1[3-9]|2\d|3[01])(?P=dash)(?P<year>\d{4})(?![\d/-])",
    )
)
_IN_PATH = re.compile(
    r"/(?P<year>(?:19|20)\d\d)(?P<dash>[/_-]?)(?P<month>0[1-9]|1[0-2])(?P=dash)(?P<day>[0-2]\d|3[01])(?=[/_.-]|$)"
)


@lru_cache(1024)
def read_date(text: str) -> date | datetime | None:
    """The day that a text names, or the time in UTC where it says it with its zone; None where it names none.

    Years from 1900 to 2099 are taken for real, but for the first day of 1970.
    """
    text = text.strip()[:_LONGEST]
    found = _from_iso(text) or _from_epoch(text) or _from_words(text)
    return found if found is not None and _is_plausible(found) else None


def date_in_path(url: str) -> date | None:
    """The day that stands in the path of an address, as in `/2024/05/01/`."""
    found = _IN_PATH.search(url)
    day = None if found is None else _day(int(found["year"]), int(found["month"]), int(found["day"]))
    return day if day is not None and _is_plausible(day) else None


def _is_plausible(day: date) -> bool:
    return _FIRST_YEAR <= day.year <= _LAST_YEAR and day.timetuple()[:3] != _EPOCH.timetuple()[:3]


def _from_iso(text: str) -> date | datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.date() if time.tzinfo is None else _in_utc(time)


def _from_epoch(text: str) -> datetime | None:
    """Seconds or milliseconds since 1970."""
    if not (text.isascii() and text.isdecimal() and len(text) in (10, 13)):
        return None
    return datetime.fromtimestamp(int(text[:10]), UTC)


def _from_words(text: str) -> date | datetime | None:
    """What is written in any other way, such as `Mon, 01 Jan 2024 10:00:00 GMT`."""
    for pattern in _PATTERNS:
        if (found := pattern.search(text)) and (day := _named_day(found)):
            return _with_time(day, found)
    return None


def _named_day(found: re.Match[str]) -> date | None:
    named = found.groupdict()
    month = named.get("month") or _MONTH_OF[named["name"].lower()]
    return _day(int(named["year"]), int(month), int(named["day"]))


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _with_time(day: date, found: re.Match[str]) -> date | datetime:
    """The time of a day, where it and its zone are told, else the day."""
    zone = _zone(found["zone"])
    if found["hour"] is None or zone is None:
        return day
    half = (found["half"] or "").lower()
    hour = int(found["hour"]) % 12 + 12 * half.startswith("p") if half else int(found["hour"])
    try:
        time = datetime(
            day.year, day.month, day.day, hour, int(found["minute"]), int(found["second"] or 0), tzinfo=zone
        )
    except ValueError:
        return day
    return _in_utc(time) or day


def _zone(name: str | None) -> timezone | None:
    if name is None:
        return None
    minutes = _ZONES.get(name.lower())
    name = name[3:] if name[3:4] in ("+", "-") else name
    if minutes is None and name[0] in "+-":
        minutes = (int(name[1:3]) * 60 + int(name[3:].lstrip(":") or 0)) * (1 if name[0] == "+" else -1)
    return None if minutes is None or abs(minutes) >= 1440 else timezone(timedelta(minutes=minutes))


def _in_utc(time: datetime) -> datetime | None:
    try:
        return time.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        return None
