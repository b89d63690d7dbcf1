"""Dates as people and machines write them, in any of some seventy languages."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from dehusk.inference.metadata.folding import fold
from dehusk.inference.metadata.month_names import AMBIGUOUS, NAMES

_MAX_DATE = 64
"""Characters in which a declared date is searched for."""
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_EPOCH = date(1970, 1, 1)
"""Date of a time that was never set."""
_MAX_MINUTES = 14 * 60
"""Minutes between Greenwich and the zone farthest from it."""

_MONTH_OF = {name.replace("_", " "): month for month, names in enumerate(NAMES, 1) for name in names.split()}
_ZONES = {"z": 0, "utc": 0, "gmt": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420}
_ZONES |= {"mdt": -360, "pst": -480, "pdt": -420, "cet": 60, "cest": 120}
"""Minutes east of Greenwich."""
_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
"""Last year before each era of Japan."""
_BUDDHIST = 543
"""Years by which the calendar of Thailand is ahead."""
_CHINESE = {digit: value for value, digit in enumerate("〇一二三四五六七八九")} | {"零": 0, "○": 0}

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


class DayOrder(StrEnum):
    """Order of day and month where both are numbers, as in 5/1/2024."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"


class DateMention(NamedTuple):
    """A date in a text, and its place there."""

    when: date | datetime
    start: int
    end: int


_TIME = (
    r"(?:[T\s,]+(?:at\s+)?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"\s*(?P<half>[ap]\.?m\b\.?)?\s*(?P<zone>(?:GMT|UTC)?[+-]\d\d:?\d\d(?!\d)|(?:GMT|UTC)?[+-]\d\d\b"
    r"|(?:GMT|UTC)\s?[+-]\d{1,2}(?::?\d\d)?\b|[a-z]{1,4}\b(?!\s?[+-]\d))?)?"
)
_OFFSET = re.compile(r"(?:gmt|utc)?\s?(?P<sign>[+-])(?P<hours>\d{1,2}?)(?::?(?P<minutes>\d\d))?")
_WORD = r"[^\W\d_](?:[^\s\d.,،;:/\\()\[\]{}|<>–—_-]|\.(?=[^\W\d_])){0,20}"
_NAME = rf"(?P<name>{_WORD}(?:\s+ال[^\W\d_]{{1,8}})?)"
"""A word that may name a month; in Arabic, two words."""
_DAY = r"(?<!\d)(?P<day>\d{1,2})(?!\d)"
_MONTH = r"(?P<month>\d{1,2})(?!\d)"
_YEAR = r"(?<!\d)(?P<year>\d{4})(?!\d)"
_NTH = r"(?:st|nd|rd|th|er|º|°|ª)?"


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern + _TIME, re.IGNORECASE) for pattern in patterns)


_PATTERNS = _compiled(
    rf"(?<!\d[/.-]){_YEAR}\s?[-/.年년]\s?{_MONTH}\s?[-/.月월]\s?{_DAY}(?:\s?[日일])?",
    rf"{_DAY}{_NTH}(?:\s?[,،.]\s?|\s+){_YEAR}",  # after the name of a month
    rf"{_DAY}{_NTH}(?:[.,]?[\s/-]+|\.)(?:(?:de|of)\s+|d['’]\s?)?{_NAME}[.,،]*[\s/-]+(?:del?\s+)?{_YEAR}",
    rf"{_YEAR}\.?(?:\s*(?:m|г|ж)\b)?[.,]?[\s-]+{_NAME}\.?[\s-]+{_DAY}",
    rf"(?<!\d\.){_DAY}\.\s?{_MONTH}\.\s?{_YEAR}",
)
"""Ways to write a date, apart from those below."""
_LATVIAN = "gada"
_RARE_PATTERNS = _compiled(
    rf"{_YEAR}\.?\s*(?:{_LATVIAN}|ж\.)\s*{_DAY}\.?\s+{_NAME}",
    rf"{_DAY}\s+tháng\s+{_MONTH}(?:,?\s+năm\s+|,?\s+){_YEAR}",
    rf"(?P<era>明治|大正|昭和|平成|令和)\s?(?P<year>\d{{1,2}}|元)\s?年\s?{_MONTH}\s?月\s?{_DAY}\s?日",
    r"(?P<year>[〇零○一二三四五六七八九]{4})\s?年\s?(?P<month>[一二三四五六七八九十]{1,2})\s?月\s?"
    r"(?P<day>[一二三四五六七八九十]{1,3})\s?[日號号]",
)
"""Ways to write a date in Latvian and Kazakh, Vietnamese, Japanese, Chinese."""
_NAME_BEFORE = re.compile(rf"(?<![^\W\d_])({_WORD}(?:\s+ال[^\W\d_]{{1,8}})?)\.?\s+\Z")
_NAME_LENGTH = 36
_NUMBERS = re.compile(
    r"(?<![\d/-])(?P<one>\d{1,2})(?P<dash>[/-])(?P<other>\d{1,2})(?P=dash)(?P<year>\d{4})(?![\d/-])" + _TIME,
    re.IGNORECASE,
)
"""Day and month as numbers, in an order that is each country's own."""
_COMPACT = re.compile(r"(?<!\d)(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?!\d)" + _TIME, re.IGNORECASE)
_MONTH_IN_PATH = re.compile(r"/(?P<year>(?:19|20)\d\d)[/-](?P<month>0[1-9]|1[0-2])(?=/)")
_IN_PATH = re.compile(
    r"/(?P<year>(?:19|20)\d\d)(?P<dash>[/_-]?)(?P<month>0[1-9]|1[0-2])(?P=dash)(?P<day>[0-2]\d|3[01])(?=[/_.-]|$)"
)


def read_date(text: str, language: str = "", order: DayOrder | None = None) -> date | datetime | None:
    """Return the day that a text names, or the time if it has a zone; None without a date.

    Years from 1900 to 2099 are taken for real, but for the first day of 1970. The language decides between
    months of the same name, the order between 5/1/2024 in May and in January; without it, that is no date.
    """
    return _read_date(text.strip()[:_MAX_DATE], language[:_MAX_DATE], order)


@lru_cache(1024)
def _read_date(text: str, language: str, order: DayOrder | None) -> date | datetime | None:
    text = _seen(text)
    day = _from_iso(text) or _from_epoch(text) or _from_words(text, language, order)
    return day if day is not None and _is_plausible(day) else None


def dates_in(text: str, language: str = "", order: DayOrder | None = None) -> list[DateMention]:
    """Return the dates that a text names, by their places; those of digits alone are none."""
    found: list[DateMention] = []
    end = 0
    for mention in sorted(
        _mentions(text, language, order), key=lambda mention: (mention.start, -mention.end)
    ):
        if mention.start >= end and _is_plausible(mention.when):
            found.append(mention)
            end = mention.end
    return found


def has_two_orders(text: str) -> bool:
    """Return True for a text with a date whose day and month may be exchanged, as in 5/1/2024."""
    return _NUMBERS.search(text) is not None


def date_in_path(url: str) -> date | None:
    """Return the day in the path of an address, as in `/2024/05/01/`."""
    match = _IN_PATH.search(_path_of(url))
    day = None if match is None else _day(int(match["year"]), int(match["month"]), int(match["day"]))
    return day if day is not None and _is_plausible(day) else None


def month_in_path(url: str) -> tuple[int, int] | None:
    """Return the year and the month in the path of an address, as in `/2024/05/`."""
    match = _MONTH_IN_PATH.search(_path_of(url))
    return None if match is None else (int(match["year"]), int(match["month"]))


def _path_of(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]


def _seen(text: str) -> str:
    return text if text.isascii() else _UNSEEN.sub("", text)


def _is_plausible(day: date) -> bool:
    return _FIRST_YEAR <= day.year <= _LAST_YEAR and day.timetuple()[:3] != _EPOCH.timetuple()[:3]


def _from_iso(text: str) -> date | datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time.date() if time.tzinfo is None else _in_minutes(time)


def _from_epoch(text: str) -> datetime | None:
    """Return the time of seconds or milliseconds since 1970."""
    if not (text.isascii() and text.isdecimal() and len(text) in (10, 13)):
        return None
    return datetime.fromtimestamp(int(text[:10]), UTC)


def _from_words(text: str, language: str, order: DayOrder | None) -> date | datetime | None:
    """Return the first date written in any other way, such as `Mon, 01 Jan 2024 10:00:00 GMT`."""
    if mention := next(_mentions(text, language, order), None):
        return mention.when
    match = _COMPACT.search(text)
    day = None if match is None else _day(int(match["year"]), int(match["month"]), int(match["day"]))
    return None if match is None or day is None else _with_time(day, match)


def _mentions(text: str, language: str, order: DayOrder | None) -> Iterator[DateMention]:
    """Yield the dates in a text, one way of writing after the other."""
    rare = () if text.isascii() and _LATVIAN not in text else _RARE_PATTERNS
    for pattern in (*_PATTERNS, _NUMBERS, *rare):
        for match in pattern.finditer(text):
            start, end = match.span()
            named = match.groupdict()
            if "one" in named:
                day = _ordered_day(int(named["year"]), int(named["one"]), int(named["other"]), order)
            elif "month" in named:
                day = _day(_year(named), _number(named["month"]), _number(named["day"]))
            else:
                name = named.get("name")
                if name is None:
                    before = _NAME_BEFORE.search(text, max(0, start - _NAME_LENGTH), start)
                    if before is None:
                        continue
                    name, start = before[1], before.start(1)
                day = _day(_year(named), _month(name, language), _number(named["day"]))
            if day is not None:
                yield DateMention(_with_time(day, match), start, end)


def _ordered_day(year: int, one: int, other: int, order: DayOrder | None) -> date | None:
    """Return a day of two numbers, one of which can be no month, or is none by the order."""
    if one > 12 or one == other or (other <= 12 and order is DayOrder.DAY_FIRST):
        return _day(year, other, one)
    if other > 12 or order is DayOrder.MONTH_FIRST:
        return _day(year, one, other)
    return None


def _month(name: str, language: str) -> int:
    """Return the month of a name; 0 for any other word."""
    word = fold(" ".join(name.split()))
    return _MONTH_OF.get(word) or AMBIGUOUS.get(word, {}).get(language[:2], 0)


def _year(named: dict[str, str]) -> int:
    if era := named.get("era"):
        return _ERAS[era] + (1 if named["year"] == "元" else int(named["year"]))
    year = int("".join(str(_CHINESE.get(digit, digit)) for digit in named["year"]))
    return year - _BUDDHIST if year > _LAST_YEAR + 1 else year


def _number(digits: str) -> int:
    """Return a number of one or two digits, or up to 99 in Chinese."""
    if digits.isdecimal():
        return int(digits)
    tens, ten, ones = digits.rpartition("十")
    if len(tens) > 1 or len(ones) > 1:
        return 0
    return (_CHINESE.get(tens, 1) * 10 if ten else 0) + _CHINESE.get(ones, 0)


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
        return datetime(
            day.year, day.month, day.day, hour, int(match["minute"]), int(match["second"] or 0), tzinfo=zone
        )
    except ValueError:
        return day


def _zone(name: str | None) -> timezone | None:
    if name is None:
        return None
    minutes = _ZONES.get(name.lower())
    if minutes is None and (offset := _OFFSET.fullmatch(name.lower())):
        minutes = int(offset["hours"]) * 60 + int(offset["minutes"] or 0)
        minutes = -minutes if offset["sign"] == "-" else minutes
    return None if minutes is None or abs(minutes) > _MAX_MINUTES else timezone(timedelta(minutes=minutes))


def _in_minutes(time: datetime) -> date | datetime:
    """Return a time whose zone is whole minutes from Greenwich, or its day if no place has such a zone."""
    offset = time.utcoffset() or timedelta()
    minutes = round(offset / timedelta(minutes=1))
    if abs(minutes) > _MAX_MINUTES:
        return time.date()
    return time.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
