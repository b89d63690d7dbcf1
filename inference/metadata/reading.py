"""Metadata of a page from all places: JSON-LD, Open Graph, Dublin Core, microdata, `<time>`, links, bylines.

Of several answers, the most reliable one is taken; a value that makes no sense counts as no answer.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime

from dehusk.inference.metadata import sources
from dehusk.inference.metadata.json_ld import Item, by_id, is_content, strings, type_name, values
from dehusk.inference.metadata.sources import Sources
from dehusk.inference.metadata.values import (
    agreed,
    author_name,
    clean,
    date_in_path,
    description,
    license_name,
    read_date,
    short_text,
    unique,
    web_address,
)
from dehusk.inference.native.properties import Properties
from dehusk.schemas.metadata import Metadata

_MAX_BYLINE = 100
"""Characters of the longest byline; a longer text is a teaser or a biography."""
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
"""Text after the names: a date, a place, another part of the line."""
_DIGITS = re.compile(r"\d{4}")
_BY = re.compile(r"^(?:(?:written|posted|published)\s+)?(?:by|von|por|par)\b", re.IGNORECASE)
_NO_NAME = frozenset(
    {
        *("about", "author", "authors", "by", "posted", "written", "view", "share", "read", "more"),
        *("follow", "sign", "log", "in", "staff", "editor", "news", "reviewed"),
    }
)

_MAX_AUTHORS = 10
_MAX_TAGS = 50
_MAX_DIRECTIVES = 20
_MAX_DIRECTIVES_LENGTH = 2_048
_PUBLISHED_CLASS = re.compile(r"publish|entry-date|post-date|pubdate|date-created|posted")
_MODIFIED_CLASS = re.compile(r"updated|modified")


def authors_in(bylines: Iterable[str]) -> list[str]:
    """Return the names in the first text that has any."""
    for text in bylines:
        if len(text) <= _MAX_BYLINE and (names := _names_in(text)):
            return names
    return []


def date_in(texts: Iterable[str]) -> date | datetime | None:
    """Return the one day that short texts name; None if they name several."""
    dated = (text for text in texts if len(text) <= _MAX_BYLINE and _DIGITS.search(text))
    days = [day for text in dated if (day := read_date(text))]
    return days[0] if len({day.timetuple()[:3] for day in days}) == 1 else None


def _names_in(byline: str) -> list[str]:
    """Return the names after `by`, or a text that is a name and nothing else."""
    line = _MORE.sub("", _BY.sub("by", byline))
    if found := _SAID.search(line):
        return [name for name in _AND.split(found["names"]) if _is_name(name)]
    return [line] if _WHOLE.fullmatch(line) and _is_name(line) else []


def _is_name(text: str) -> bool:
    return _NO_NAME.isdisjoint(text.lower().split())


def read_metadata(properties: Properties, json_ld: Iterable[str], url: str) -> Metadata:
    """Return the metadata of a page at a URL, which may be empty; no page raises an error."""
    page = sources.gather(properties, json_ld, url)
    return Metadata(
        author=_author(page),
        published=_published(page),
        modified=_modified(page),
        description=_first(
            description,
            page.meta(sources.DESCRIPTIONS),
            page.main_values("description"),
            page.microdata.get("description", ()),
        ),
        site_name=_first(
            short_text,
            page.meta(sources.SITE_NAMES[:1]),
            _names_of_site(page),
            page.meta(sources.SITE_NAMES[1:]),
        ),
        canonical_url=_canonical_url(page),
        image=_image(page),
        tags=_tags(page),
        page_type=_page_type(page),
        license=_license(page),
        robots=_robots(page),
    )


def _first(read: Callable[[str], str | None], *candidates: Iterable[object]) -> str | None:
    for candidate in candidates:
        for value in candidate:
            if isinstance(value, str) and (found := read(value)):
                return found
    return None


def _author(page: Sources) -> str | None:
    """Return the names from the first place that has any."""
    items_by_id = by_id(page.items)
    candidates: tuple[Iterable[str], ...] = (
        _names(page.main_values("author") or page.main_values("creator"), items_by_id),
        page.microdata.get("author", ()),
        page.meta(sources.AUTHORS),
        agreed(
            author_name(text)
            for rel, _, text, is_anchor in page.links
            if is_anchor and "author" in rel.split()
        ),
        authors_in(page.bylines),
    )
    for candidate in candidates:
        if names := unique(map(author_name, candidate), _MAX_AUTHORS):
            return "; ".join(names)
    return None


def _names(persons: Iterable[object], known: dict[str, Item]) -> Iterator[str]:
    """Yield the names of persons or organisations, given as names, as objects, or by the id of an object."""
    for person in persons:
        if isinstance(person, str):
            yield from strings(known[person].get("name")) if person in known else [person]
        elif isinstance(person, dict):
            identity = person.get("@id")
            referred = known.get(identity, {}) if isinstance(identity, str) else {}
            yield from strings(person.get("name") or referred.get("name"))


def _names_of_site(page: Sources) -> Iterator[str]:
    known = by_id(page.items)
    yield from (
        name for item in page.items if item.get("@type") == "WebSite" for name in strings(item.get("name"))
    )
    yield from _names(page.main_values("publisher"), known)


def _published(page: Sources) -> date | datetime | None:
    times = agreed(
        when for when, classes, is_pubdate in page.times if is_pubdate or _PUBLISHED_CLASS.search(classes)
    )
    declared = _first_date(
        _dates(page, "datePublished"),
        page.microdata.get("datepublished", ()),
        page.meta(sources.PUBLISHED),
        _dates(page, "dateCreated"),
        times,
    )
    return declared or date_in_path(page.url) or date_in([*page.bylines, *page.dates])


def _modified(page: Sources) -> date | datetime | None:
    times = agreed(
        when
        for when, classes, _ in page.times
        if _MODIFIED_CLASS.search(classes) and not _PUBLISHED_CLASS.search(classes)
    )
    return _first_date(
        _dates(page, "dateModified"),
        page.microdata.get("datemodified", ()),
        page.meta(sources.MODIFIED),
        times,
    )


def _dates(page: Sources, name: str) -> Iterator[object]:
    """Yield a date of the object that describes the content in JSON-LD, else of those of the page itself."""
    yield from page.main_values(name)
    yield from (
        value for item in page.items if item.get("@type") == "WebPage" for value in values(item.get(name))
    )


def _first_date(*candidates: Iterable[object]) -> date | datetime | None:
    for candidate in candidates:
        for value in candidate:
            if isinstance(value, str | int) and (found := read_date(str(value))):
                return found
    return None


def _canonical_url(page: Sources) -> str | None:
    links = (href for rel, href, _, is_anchor in page.links if not is_anchor and "canonical" in rel.split())
    return _first(lambda text: web_address(text, page.base), links, page.meta(("og:url",)))


def _image(page: Sources) -> str | None:
    links = (href for rel, href, _, is_anchor in page.links if not is_anchor and rel == "image_src")
    images = (
        each.get("url") or each.get("contentUrl") if isinstance(each, dict) else each
        for each in page.main_values("image") or page.main_values("thumbnailUrl")
    )
    return _first(
        lambda text: web_address(text, page.base),
        page.meta(sources.IMAGES),
        images,
        page.microdata.get("image", ()),
        links,
    )


def _tags(page: Sources) -> tuple[str, ...]:
    """Return the tags of all places; keywords are separated by commas or semicolons."""
    tags = (text for rel, _, text, is_anchor in page.links if is_anchor and rel == "tag")
    keywords = (
        *page.meta(sources.TAGS),
        *strings(page.main_values("keywords")),
        *page.microdata.get("keywords", ()),
        *tags,
    )
    return unique((short_text(tag) for text in keywords for tag in re.split("[,;、，]", text)), _MAX_TAGS)


def _page_type(page: Sources) -> str | None:
    """Return the type of the content, else that of Open Graph, else the type of the page."""
    types = [] if page.main is None else [type_name(name) for name in strings(page.main.get("@type"))]
    declared = [name.lower() for name in page.meta(("og:type",))]
    is_telling = page.main is not None and is_content(page.main.get("@type"))
    return _first(short_text, types, declared) if is_telling else _first(short_text, declared, types)


def _license(page: Sources) -> str | None:
    """Return the address of the licence, else its name."""
    links = (href for rel, href, _, _ in page.links if "license" in rel.split())
    objects = [
        each.get("url") or each.get("@id") if isinstance(each, dict) else each
        for each in page.main_values("license")
    ]
    names = [*objects, *page.microdata.get("license", ()), *page.meta(sources.LICENSES)]
    return _first(lambda text: web_address(text, page.base), links) or _first(
        lambda text: web_address(text, "") or license_name(text), names
    )


def _robots(page: Sources) -> tuple[str, ...]:
    """Return the directives for robots, `none` in full."""
    directives = (
        word
        for text in page.meta(("robots",))
        for word in clean(text[:_MAX_DIRECTIVES_LENGTH]).lower().split(",")
    )
    words = (
        each
        for word in directives
        for each in (("noindex", "nofollow") if word.strip() == "none" else (word.strip(),))
    )
    return unique(map(short_text, words), _MAX_DIRECTIVES)
