"""Values of metadata as documents have them: short clean texts, absolute addresses, dates in UTC."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from functools import lru_cache
from html import unescape
from urllib.parse import urljoin

_MAX_DESCRIPTION = 2_000
_MAX_NAME = 200
"""Characters of the longest name of an author, a tag or a licence."""
_MAX_ADDRESS = 2_048
_NOT_LICENSES = ("all rights reserved",)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_ABSOLUTE = re.compile(r"https?://[^/?#\s\[]", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_BY = re.compile(
    r"^authors?\s*:\s*|^(?:written |posted |published )?by\b[\s:]+|^(?:von|par|por|автор)\s*:?\s+",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"^(?:https?:)?//|^www\.|@\w+\.\w|\.(?:com|org|net)/", re.IGNORECASE)

_MAX_DATE = 64
"""Characters in which a date is searched for."""
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_EPOCH = date(1970, 1, 1)
"""Date of a time that was never set."""
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
"""Names of months: English in full and short, German, French, Spanish, Italian, Portuguese, Dutch in full."""
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


def description(text: str) -> str | None:
    """Return a text without markup, or its first 2,000 characters."""
    text = clean(_TAG.sub(" ", text[: 4 * _MAX_DESCRIPTION]))
    return text[:_MAX_DESCRIPTION].rstrip() or None


def short_text(text: str) -> str | None:
    """Return a name, a tag or a type; None if it is empty or too long."""
    text = clean(text[: 4 * _MAX_NAME])
    return text if 0 < len(text) <= _MAX_NAME else None


def author_name(text: str) -> str | None:
    """Return a name without markup or a leading `by`; None for an address, or without a letter."""
    name = clean(_TAG.sub(" ", clean(text[: 4 * _MAX_NAME])))
    author = short_text(_BY.sub("", name))
    if author is None or _ADDRESS.search(author) or not re.search(r"[^\W\d_]", author):
        return None
    return author


def license_name(text: str) -> str | None:
    """Return the name of a licence; None if nothing is licensed."""
    name = short_text(text)
    return None if name is None or name.lower().rstrip(".") in _NOT_LICENSES else name


def web_address(text: str, base: str) -> str | None:
    """Return an absolute address of the web, None for any other."""
    text = text.strip()
    if not text or len(text) > _MAX_ADDRESS or _UNSAFE.search(text):
        return None
    address = text if _ABSOLUTE.match(text) else join_address(base, text)
    address = address.replace(" ", "%20")
    return address if _ABSOLUTE.match(address) and len(address) <= _MAX_ADDRESS else None


def join_address(base: str, address: str) -> str:
    """Return an address relative to another; empty if it is malformed."""
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def clean(text: str) -> str:
    """Return a text without invisible characters, white space folded, character references resolved."""
    if "&" in text:
        text = unescape(text)
    if text.isprintable():
        return " ".join(text.split())
    return " ".join(_UNSAFE.sub(" ", text).split())


def unique(names: Iterable[str | None], limit: int) -> tuple[str, ...]:
    """Return the first names, ignoring those that differ in case alone."""
    kept: dict[str, str] = {}
    for name in names:
        if name:
            kept.setdefault(name.casefold(), name)
            if len(kept) == limit:
                break
    return tuple(kept.values())


def agreed(candidates: Iterable[str | None]) -> Iterable[str]:
    """Return the only value, though it may be repeated; none if values differ, as on a list of pages."""
    different = {candidate for candidate in candidates if candidate}
    return different if len(different) == 1 else ()


@lru_cache(1024)
def read_date(text: str) -> date | datetime | None:
    """Return the day that a text names, or the time in UTC if it has a zone; None without a date.

    Years from 1900 to 2099 are taken for real, but for the first day of 1970.
    """
    text = text.strip()[:_MAX_DATE]
    day = _from_iso(text) or _from_epoch(text) or _from_words(text)
    return day if day is not None and _is_plausible(day) else None


def date_in_path(url: str) -> date | None:
    """Return the day in the path of an address, as in `/2024/05/01/`."""
    match = _IN_PATH.search(url)
    day = None if match is None else _day(int(match["year"]), int(match["month"]), int(match["day"]))
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
    """Return the time of seconds or milliseconds since 1970."""
    if not (text.isascii() and text.isdecimal() and len(text) in (10, 13)):
        return None
    return datetime.fromtimestamp(int(text[:10]), UTC)


def _from_words(text: str) -> date | datetime | None:
    """Return a date written in any other way, such as `Mon, 01 Jan 2024 10:00:00 GMT`."""
    for pattern in _PATTERNS:
        if (match := pattern.search(text)) and (day := _named_day(match)):
            return _with_time(day, match)
    return None


def _named_day(match: re.Match[str]) -> date | None:
    named = match.groupdict()
    month = named.get("month") or _MONTH_OF[named["name"].lower()]
    return _day(int(named["year"]), int(month), int(named["day"]))


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _with_time(day: date, match: re.Match[str]) -> date | datetime:
    """Return the time of a day if it is there with its zone, else the day."""
    zone = _zone(match["zone"])
    if match["hour"] is None or zone is None:
        return day
    half = (match["half"] or "").lower()
    hour = int(match["hour"]) % 12 + 12 * half.startswith("p") if half else int(match["hour"])
    try:
        time = datetime(
            day.year, day.month, day.day, hour, int(match["minute"]), int(match["second"] or 0), tzinfo=zone
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
