"""Dates of publication and of the last change: which of those that a page declares or shows counts."""

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime

from dehusk.inference.metadata import sources
from dehusk.inference.metadata.dated_blocks import Hints, may_show_dates
from dehusk.inference.metadata.dates import DayOrder, date_in_path, month_in_path, read_date
from dehusk.inference.metadata.headline import headline_block
from dehusk.inference.metadata.json_ld import Item, is_content, is_of_type, values
from dehusk.inference.metadata.sources import Sources
from dehusk.inference.metadata.values import agreed
from dehusk.inference.metadata.visible_dates import Dates, find_dates
from dehusk.inference.sites import host_of
from dehusk.schemas.metadata import day_of
from dehusk.schemas.pages import SegmentedPage

_PUBLISHED_CLASS = re.compile(r"publish|entry-date|post-date|pubdate|date-created|posted")
_MODIFIED_CLASS = re.compile(r"updated|modified|edited")
_MONTH_FIRST = frozenset({"en-us", "en", "en-ph"})
"""Languages whose dates begin with the month, where all are numbers."""
_DAY_FIRST_HOST = re.compile(r"\.(?:uk|au|nz|ie|in|za|sg|my|ng|ke|eu)$")
"""Countries where English is written and the day comes first."""
_PRODUCTS = ("Product", "ProductGroup", "IndividualProduct", "ProductModel", "Offer", "Vehicle", "Car")
_PRODUCT = re.compile(r"^(?:og:)?product(?:\.|$)|:(?:product|item)$")
"""Types of Open Graph that are something to buy."""
_QUESTIONS = ("Question", "DiscussionForumPosting")


def read_dates(page: Sources, language: str, shown: SegmentedPage | None, *, drop_hidden: bool) -> Dates:
    """Return the dates that a page declares, else those that its text blocks show near the headline."""
    tag = (language or next(page.meta(("og:locale",)), "")).lower().replace("_", "-")
    hints = Hints(
        language=tag[:2],
        order=_day_order(tag, page.url),
        times=[(text, when) for when, _, _, text in page.times],
        month=month_in_path(page.url),
        of_product=_is_of_product(page),
        drop_hidden=drop_hidden,
    )
    published, modified = _published(page, hints), _modified(page, hints)
    if (
        shown is not None
        and (published is None or modified is None)
        and not page.lists_others
        and may_show_dates(shown, hints)
    ):
        seen = find_dates(shown, headline_block(shown, page.url), hints)
        published = published or seen.published
        if (
            modified is None
            and seen.modified
            and (published is None or day_of(seen.modified) >= day_of(published))
        ):
            modified = seen.modified
    return Dates(published, modified)


def _is_of_product(page: Sources) -> bool:
    """Return True for a product by JSON-LD, else by Open Graph, and not for an article about one."""
    types = [name.lower() for name in page.meta(("og:type",))]
    if "article" in types:
        return False
    if page.main is not None and is_content(page.main.get("@type")):
        return is_of_type(page.main, _PRODUCTS)
    return any(map(_PRODUCT.search, types))


def _day_order(tag: str, url: str) -> DayOrder | None:
    """Return the order of day and month in a language, in the country that an address tells."""
    if tag in _MONTH_FIRST:
        host = host_of(url)
        return DayOrder.DAY_FIRST if _DAY_FIRST_HOST.search(host) else DayOrder.MONTH_FIRST
    return DayOrder.DAY_FIRST if tag else None


def _published(page: Sources, hints: Hints) -> date | datetime | None:
    times = agreed(
        when for when, classes, is_pubdate, _ in page.times if is_pubdate or _PUBLISHED_CLASS.search(classes)
    )
    declared = _first_date(
        hints,
        _of_content(page, "datePublished"),
        page.microdata.get("datepublished", ()),
        page.meta(sources.PUBLISHED),
        _of_questions(page),
        _of_content(page, "dateCreated"),
        _of_content(page, "uploadDate"),
        page.microdata.get("datecreated", ()),
        page.microdata.get("uploaddate", ()),
        times,
    )
    return declared or date_in_path(page.url)


def _modified(page: Sources, hints: Hints) -> date | datetime | None:
    times = agreed(
        when
        for when, classes, _, _ in page.times
        if _MODIFIED_CLASS.search(classes) and not _PUBLISHED_CLASS.search(classes)
    )
    return _first_date(
        hints,
        _of_content(page, "dateModified"),
        page.microdata.get("datemodified", ()),
        page.meta(sources.MODIFIED),
        times,
    )


def _of_content(page: Sources, name: str) -> Iterator[object]:
    """Yield a date of the object that describes the content in JSON-LD, else of those of the page itself."""
    yield from page.main_values(name)
    yield from _of_type(page.items, ("WebPage",), name)


def _of_questions(page: Sources) -> Iterator[object]:
    """Yield the dates of the question that a page is about, or of the first post of a discussion."""
    for name in ("datePublished", "dateCreated"):
        yield from _of_type(page.items, _QUESTIONS, name)


def _of_type(items: Iterable[Item], names: Iterable[str], name: str) -> Iterator[object]:
    for item in items:
        if is_of_type(item, names):
            yield from values(item.get(name))


def _first_date(hints: Hints, *candidates: Iterable[object]) -> date | datetime | None:
    for candidate in candidates:
        for value in candidate:
            if isinstance(value, str | int) and (found := read_date(str(value), hints.language, hints.order)):
                return found
    return None
