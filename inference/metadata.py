"""What a page says of itself, from all places: JSON-LD, Open Graph, Dublin Core, microdata, `<time>`, links.

Of several that answer, the most reliable one is taken; what is no sensible value counts as no answer.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime

from dehusk.inference import metadata_sources as said
from dehusk.inference.bylines import authors_in, date_in
from dehusk.inference.dates import date_in_path, read_date
from dehusk.inference.json_ld import Item, by_id, is_content, strings, type_name, values
from dehusk.inference.metadata_sources import Sources
from dehusk.inference.metadata_values import (
    author_name,
    cleaned,
    description,
    license_name,
    only,
    short_text,
    unique,
    web_address,
)
from dehusk.inference.native.properties import Properties
from dehusk.schemas.metadata import Metadata

_MOST_AUTHORS = 10
_MOST_TAGS = 50
_MOST_DIRECTIVES = 20
_LONGEST_DIRECTIVES = 2_048
_PUBLISHED_CLASS = re.compile(r"publish|entry-date|post-date|pubdate|date-created|posted")
_MODIFIED_CLASS = re.compile(r"updated|modified")


def read_metadata(found: Properties, json_ld: Iterable[str], url: str) -> Metadata:
    """The metadata of a page at an address, which may be empty; nothing raised, whatever the page says."""
    page = said.gather(found, json_ld, url)
    return Metadata(
        author=_author(page),
        published=_published(page),
        modified=_modified(page),
        description=_first(
            description,
            page.meta(said.DESCRIPTIONS),
            page.of_main("description"),
            page.microdata.get("description", ()),
        ),
        site_name=_first(
            short_text, page.meta(said.SITE_NAMES[:1]), _names_of_site(page), page.meta(said.SITE_NAMES[1:])
        ),
        canonical_url=_canonical_url(page),
        image=_image(page),
        tags=_tags(page),
        page_type=_page_type(page),
        license=_license(page),
        robots=_robots(page),
    )


def _first(read: Callable[[str], str | None], *sources: Iterable[object]) -> str | None:
    """The first value that can be read."""
    for source in sources:
        for value in source:
            if isinstance(value, str) and (found := read(value)):
                return found
    return None


def _author(page: Sources) -> str | None:
    """The names from the first place that has any."""
    known = by_id(page.items)
    sources: tuple[Iterable[str], ...] = (
        _names(page.of_main("author") or page.of_main("creator"), known),
        page.microdata.get("author", ()),
        page.meta(said.AUTHORS),
        only(
            author_name(text)
            for rel, _, text, is_anchor in page.links
            if is_anchor and "author" in rel.split()
        ),
        authors_in(page.bylines),
    )
    for source in sources:
        if names := unique(map(author_name, source), _MOST_AUTHORS):
            return "; ".join(names)
    return None


def _names(persons: Iterable[object], known: dict[str, Item]) -> Iterator[str]:
    """The names of persons or organisations, given as names, as objects, or by the id of an object."""
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
    yield from _names(page.of_main("publisher"), known)


def _published(page: Sources) -> date | datetime | None:
    times = only(
        when for when, classes, is_pubdate in page.times if is_pubdate or _PUBLISHED_CLASS.search(classes)
    )
    declared = _first_date(
        _dates(page, "datePublished"),
        page.microdata.get("datepublished", ()),
        page.meta(said.PUBLISHED),
        _dates(page, "dateCreated"),
        times,
    )
    return declared or date_in_path(page.url) or date_in([*page.bylines, *page.dates])


def _modified(page: Sources) -> date | datetime | None:
    times = only(
        when
        for when, classes, _ in page.times
        if _MODIFIED_CLASS.search(classes) and not _PUBLISHED_CLASS.search(classes)
    )
    return _first_date(
        _dates(page, "dateModified"),
        page.microdata.get("datemodified", ()),
        page.meta(said.MODIFIED),
        times,
    )


def _dates(page: Sources, name: str) -> Iterator[object]:
    """A date of what describes the page in JSON-LD, else of what describes the page alone."""
    yield from page.of_main(name)
    yield from (
        value for item in page.items if item.get("@type") == "WebPage" for value in values(item.get(name))
    )


def _first_date(*sources: Iterable[object]) -> date | datetime | None:
    for source in sources:
        for value in source:
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
        for each in page.of_main("image") or page.of_main("thumbnailUrl")
    )
    return _first(
        lambda text: web_address(text, page.base),
        page.meta(said.IMAGES),
        images,
        page.microdata.get("image", ()),
        links,
    )


def _tags(page: Sources) -> tuple[str, ...]:
    """The tags of all places; keywords are separated by commas or semicolons."""
    tags = (text for rel, _, text, is_anchor in page.links if is_anchor and rel == "tag")
    keywords = (
        *page.meta(said.TAGS),
        *strings(page.of_main("keywords")),
        *page.microdata.get("keywords", ()),
        *tags,
    )
    return unique((short_text(tag) for text in keywords for tag in re.split("[,;、，]", text)), _MOST_TAGS)


def _page_type(page: Sources) -> str | None:
    """The type of the content, else what Open Graph says, else the type of the page."""
    types = [] if page.main is None else [type_name(name) for name in strings(page.main.get("@type"))]
    declared = [name.lower() for name in page.meta(("og:type",))]
    is_telling = page.main is not None and is_content(page.main.get("@type"))
    return _first(short_text, types, declared) if is_telling else _first(short_text, declared, types)


def _license(page: Sources) -> str | None:
    """The address of the licence, else what it is called."""
    links = (href for rel, href, _, _ in page.links if "license" in rel.split())
    named = [
        each.get("url") or each.get("@id") if isinstance(each, dict) else each
        for each in page.of_main("license")
    ]
    told = [*named, *page.microdata.get("license", ()), *page.meta(said.LICENSES)]
    return _first(lambda text: web_address(text, page.base), links) or _first(
        lambda text: web_address(text, "") or license_name(text), told
    )


def _robots(page: Sources) -> tuple[str, ...]:
    """What robots are asked, `none` in full."""
    asked = (
        word
        for text in page.meta(("robots",))
        for word in cleaned(text[:_LONGEST_DIRECTIVES]).lower().split(",")
    )
    words = (
        each
        for word in asked
        for each in (("noindex", "nofollow") if word.strip() == "none" else (word.strip(),))
    )
    return unique(map(short_text, words), _MOST_DIRECTIVES)
