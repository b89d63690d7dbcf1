"""Metadata of a page from all places: JSON-LD, Open Graph, Dublin Core, microdata, `<time>`, links, bylines.

Of several answers, the most reliable one is taken; a value that makes no sense counts as no answer.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from dehusk.inference.markup.pictures import fills_place
from dehusk.inference.metadata import sources
from dehusk.inference.metadata.authors import author_name, authors_in, declared_name, split_names
from dehusk.inference.metadata.json_ld import Item, is_content, is_of_type, strings, type_name, values
from dehusk.inference.metadata.page_dates import read_dates
from dehusk.inference.metadata.sources import Sources
from dehusk.inference.metadata.values import (
    agreed,
    clean,
    description,
    license_name,
    short_text,
    unique,
    web_address,
)
from dehusk.inference.native.properties import Properties
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.pages import SegmentedPage

_MAX_AUTHORS = 10
_MAX_TAGS = 50
_NO_CATEGORY = frozenset(
    {
        *("uncategorized", "uncategorised", "sin categoría", "sin categoria", "sem categoria"),
        *("non classé", "non classifié(e)", "senza categoria", "geen categorie", "без рубрики"),
        *("未分類", "未分类", "미분류"),
    }
)
"""Names that WordPress gives the category of posts without one, in lower case."""
_MAX_KEYWORDS = 20_000
"""Characters of a text in which tags are looked for."""
_MAX_DIRECTIVES = 20
_MAX_DIRECTIVES_LENGTH = 2_048


def read_metadata(
    properties: Properties,
    json_ld: Iterable[str],
    url: str,
    *,
    language: str,
    shown: SegmentedPage | None,
    drop_hidden: bool,
) -> Metadata:
    """Return the metadata of a page at a URL, which may be empty; no page raises an error.

    `language` is the language tag that the page declares. If it declares no dates, they are looked for in the
    text blocks of the page as it is `shown`; with `drop_hidden`, not in hidden ones.
    """
    page = sources.gather(properties, json_ld, url)
    dates = read_dates(page, language, shown, drop_hidden=drop_hidden)
    return Metadata(
        author=_author(page),
        published=dates.published,
        modified=dates.modified,
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
    for candidate in _authors(page):
        if names := unique((name for text in candidate if text for name in split_names(text)), _MAX_AUTHORS):
            return "; ".join(names)
    return None


def _authors(page: Sources) -> Iterator[Iterable[str | None]]:
    """Yield the names in each place, the most reliable one first."""
    persons = page.main_values("author") or page.main_values("creator")
    yield map(declared_name, _names(persons, page.by_id))
    yield map(author_name, page.microdata.get("author", ()))
    yield map(author_name, page.meta(sources.AUTHORS))
    links = (text for rel, _, text, is_anchor in page.links if is_anchor and "author" in rel.split())
    yield map(author_name, agreed(map(author_name, links)))
    if not page.lists_others:
        yield map(author_name, authors_in(page.bylines))


def _names(persons: Iterable[object], known: dict[str, Item]) -> Iterator[str]:
    """Yield the names of persons or organisations, given as names, as objects, or by the id of an object."""
    for person in persons:
        if isinstance(person, str):
            yield from strings(known[person].get("name")) if person in known else [person]
        elif isinstance(person, dict):
            yield from strings(person.get("name") or _referred(person, known).get("name"))


def _referred(item: Item, known: dict[str, Item]) -> Item:
    """Return the object that another one refers to by its id; an empty one without it."""
    identity = item.get("@id")
    return known.get(identity, {}) if isinstance(identity, str) else {}


def _names_of_site(page: Sources) -> Iterator[str]:
    yield from (
        name for item in page.items if is_of_type(item, ("WebSite",)) for name in strings(item.get("name"))
    )
    yield from _names(page.main_values("publisher"), page.by_id)


def _canonical_url(page: Sources) -> str | None:
    links = (href for rel, href, _, is_anchor in page.links if not is_anchor and "canonical" in rel.split())
    return _first(lambda text: web_address(text, page.base), links, page.meta(("og:url",)))


def _image(page: Sources) -> str | None:
    links = (href for rel, href, _, is_anchor in page.links if not is_anchor and rel == "image_src")
    images = (
        address
        for each in page.main_values("image") or page.main_values("thumbnailUrl")
        for item in _objects(each, page.by_id)
        for address in (*values(item.get("url")), *values(item.get("contentUrl")))
    )
    return _first(
        lambda text: _image_address(text, page.base),
        page.meta(sources.IMAGES),
        images,
        page.microdata.get("image", ()),
        links,
    )


def _image_address(text: str, base: str) -> str | None:
    """Return the absolute address of an image, None for a file that is named after showing nothing."""
    address = web_address(text, base)
    return None if address is None or fills_place(address) else address


def _objects(value: object, known: dict[str, Item]) -> tuple[Item, ...]:
    """Return the objects that a value is or refers to; for an address, one with it."""
    if isinstance(value, dict):
        return value, _referred(value, known)
    return (known[value] if isinstance(value, str) and value in known else {"url": value},)


def _tags(page: Sources) -> tuple[str, ...]:
    """Return the tags of all places; keywords are separated by commas or semicolons."""
    tags = (text for rel, _, text, is_anchor in page.links if is_anchor and rel == "tag")
    keywords = (
        *page.meta(sources.TAGS),
        *strings(page.main_values("keywords")),
        *page.microdata.get("keywords", ()),
        *tags,
    )
    texts = (clean(text[:_MAX_KEYWORDS]) for text in keywords)
    return unique((_tag(tag) for text in texts for tag in re.split("[,;、，]", text)), _MAX_TAGS)


def _tag(text: str) -> str | None:
    """Return a tag; None for one without a letter or digit, and for the category of what has none."""
    tag = short_text(text)
    return tag if tag and any(map(str.isalnum, tag)) and tag.lower() not in _NO_CATEGORY else None


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
        each.get("url") or each.get("@id") or each.get("name") if isinstance(each, dict) else each
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
