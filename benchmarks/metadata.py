"""Metadata of pages compared with trafilatura's: how often each field is found, how often alike, the time."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from htmldate import find_date
from trafilatura.metadata import extract_metadata

from benchmarks.pages import Page
from benchmarks.steps import Step, best_times
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.metadata import Metadata, MetadataLevel
from dehusk.schemas.options import DocumentOptions

_THEIRS = {
    "author": "author",
    "published": "date",
    "description": "description",
    "site_name": "sitename",
    "canonical_url": "url",
    "image": "image",
    "tags": "tags",
    "page_type": "pagetype",
    "license": "license",
}
"""Our fields, and trafilatura's names of them; it has no date of modification, and no robots."""
_DAY = timedelta(days=1)
_DECLARATIONS = re.compile(
    rb"<script\b.*?</script\s*>|<meta\b[^>]*>|<link\b[^>]*>"
    rb"|\s(?:datetime|itemprop|pubdate)\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)",
    re.IGNORECASE | re.DOTALL,
)
"""Markup that declares dates to machines."""


@dataclass(slots=True)
class Counts:
    """Numbers of pages on which a field is found, by us, by trafilatura and by both, and is the same."""

    ours: int = 0
    theirs: int = 0
    both: int = 0
    same: int = 0


@dataclass(slots=True)
class ShownDates:
    """Numbers of pages that declare a date, and what is read of them once nothing is declared."""

    pages: int = 0
    ours: int = 0
    ours_right: int = 0
    theirs: int = 0
    theirs_right: int = 0
    """Of htmldate, within a day, like ours."""


@dataclass(slots=True)
class Comparison:
    """Result of the comparison of some pages."""

    pages: int
    fields: dict[str, Counts] = field(default_factory=lambda: {name: Counts() for name in _THEIRS})
    shown: ShownDates = field(default_factory=ShownDates)
    milliseconds: dict[str, float] = field(default_factory=dict)
    """CPU time per page: of segmenting it, with metadata of each level, and of trafilatura's metadata."""


def measure(pages: Sequence[Page], rounds: int) -> Comparison:
    """Compare metadata of the level `full`; the times are the best of some rounds, in turn."""
    result = Comparison(len(pages))
    for page in pages:
        _count(result.fields, _with_dehusk(page), _with_trafilatura(page))
        _count_shown(result.shown, page)
    steps = [Step(f"segment, metadata {level}", _segmenting(level)) for level in MetadataLevel]
    steps.append(Step("trafilatura, metadata", _with_trafilatura))
    result.milliseconds = best_times(steps, pages, rounds)
    return result


def report(title: str, result: Comparison) -> str:
    """Return the comparison as a table, in shares of the pages; of what both find, the share that agrees."""
    lines = [f"{title}: {result.pages} pages", f"{'':14} dehusk trafilatura   both  agree"]
    for name, counts in result.fields.items():
        ours, theirs, both = (each / result.pages for each in (counts.ours, counts.theirs, counts.both))
        lines.append(
            f"{name:14} {ours:6.1%} {theirs:11.1%} {both:6.1%} {counts.same / max(1, counts.both):6.1%}"
        )
    shown = result.shown
    lines.append(
        f"dates without declarations, {shown.pages} pages: dehusk {shown.ours_right} right of {shown.ours}, "
        f"htmldate {shown.theirs_right} of {shown.theirs}"
    )
    lines += [f"{name:28} {spent:7.3f} ms/page" for name, spent in result.milliseconds.items()]
    return "\n".join(lines)


def _segmenting(level: MetadataLevel) -> Callable[[Page], Metadata | None]:
    return lambda page: segment(page.html, url=page.url, options=DocumentOptions(metadata=level)).metadata


def _with_dehusk(page: Page) -> Mapping[str, Any]:
    found = _segmenting(MetadataLevel.FULL)(page)
    return {name: getattr(found, name) for name in _THEIRS}


def _with_trafilatura(page: Page) -> Mapping[str, Any]:
    found = extract_metadata(page.html, default_url=page.url or None)
    return {name: getattr(found, theirs, None) for name, theirs in _THEIRS.items()}


def _count(fields: dict[str, Counts], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    for name, counts in fields.items():
        one, other = ours[name], theirs[name]
        counts.ours += bool(one)
        counts.theirs += bool(other)
        counts.both += bool(one) and bool(other)
        counts.same += bool(one) and bool(other) and _agree(one, other)


def _count_shown(shown: ShownDates, page: Page) -> None:
    """Count what is read of a page whose declared date is taken away, with those of its address."""
    declared = segment(page.html, options=DocumentOptions(metadata=MetadataLevel.FAST)).metadata
    if declared is None or declared.published_day is None:
        return
    html = _DECLARATIONS.sub(b"", page.html)
    found = segment(html, options=DocumentOptions(metadata=MetadataLevel.FULL)).metadata
    theirs = find_date(html.decode("utf-8", "replace"), original_date=True)
    shown.pages += 1
    if found is not None and found.published_day is not None:
        shown.ours += 1
        shown.ours_right += abs(found.published_day - declared.published_day) <= _DAY
    if theirs:
        shown.theirs += 1
        shown.theirs_right += abs(date.fromisoformat(theirs) - declared.published_day) <= _DAY


def _agree(one: object, other: object) -> bool:
    """Return True if two values agree: dates may differ by one day, as trafilatura's have no time zone."""
    if isinstance(one, date):
        day = one.date() if isinstance(one, datetime) else one
        return abs(day - date.fromisoformat(str(other))) <= _DAY
    return _words(one) == _words(other)


def _words(value: object) -> list[str]:
    """Return the words of a value, whatever the case, the order of several, and what separates them."""
    text = ";".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return sorted(part.strip(" /").casefold() for part in text.replace(",", ";").split(";"))
