"""Who wrote a page, and when, as readers see it: texts such as `By Ann Lee, May 1, 2024`."""

import re
from collections.abc import Iterable
from datetime import date, datetime

from dehusk.inference.dates import read_date

_LONGEST = 100
"""Characters of a text that is a byline; a longer one is a teaser or a biography."""
_WORD = r"[^\W\d_a-z][\w’'.-]*"
_NAME = rf"{_WORD}(?:\s+(?:(?:de|del|da|van|von|der|den|la|le|al|bin)\s+)*{_WORD}){{1,3}}"
_SAID = re.compile(
    rf"\b(?:by|von|por|par|di)\b\s*:?\s+(?P<names>{_NAME}(?:(?:,\s*|\s+(?:and|und|y|et|&)\s+){_NAME})*)"
)
_WHOLE = re.compile(_NAME)
_AND = re.compile(r",\s*|\s+(?:and|und|y|et|&)\s+")
_MORE = re.compile(
    r"\s*(?:\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s*\d"
    r"|\b(?:updated|published|posted|on|in)\b|[|•·–—]|\d).*$",
    re.DOTALL | re.IGNORECASE,
)
"""What follows the names: a date, a place, another part of the line."""
_DIGITS = re.compile(r"\d{4}")
_BY = re.compile(r"^(?:(?:written|posted|published)\s+)?(?:by|von|por|par)\b", re.IGNORECASE)
_NO_NAME = frozenset(
    {
        *("about", "author", "authors", "by", "posted", "written", "view", "share", "read", "more"),
        *("follow", "sign", "log", "in", "staff", "editor", "news", "reviewed"),
    }
)


def authors_in(bylines: Iterable[str]) -> list[str]:
    """The names in the first text that has any."""
    for text in bylines:
        if len(text) <= _LONGEST and (names := _names(text)):
            return names
    return []


def date_in(texts: Iterable[str]) -> date | datetime | None:
    """The one day that short texts name; None where they name several."""
    dated = (text for text in texts if len(text) <= _LONGEST and _DIGITS.search(text))
    days = [day for text in dated if (day := read_date(text))]
    return days[0] if len({day.timetuple()[:3] for day in days}) == 1 else None


def _names(byline: str) -> list[str]:
    """The names that stand behind `by`, or a text that is a name and nothing else."""
    line = _MORE.sub("", _BY.sub("by", byline))
    if found := _SAID.search(line):
        return [name for name in _AND.split(found["names"]) if _is_name(name)]
    return [line] if _WHOLE.fullmatch(line) and _is_name(line) else []


def _is_name(text: str) -> bool:
    return _NO_NAME.isdisjoint(text.lower().split())
