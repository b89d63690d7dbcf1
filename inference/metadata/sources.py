"""Declarations of a page for machines, by the place in which they are made."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from dehusk.inference.metadata.json_ld import Item, by_id, is_content, main_item, read_items, values
from dehusk.inference.metadata.values import join_address
from dehusk.inference.native.properties import Properties

# ruff: noqa: SIM905 -- a table of thirty names reads better as words than as thirty strings

# The names of `<meta>`, the most reliable first.
AUTHORS = tuple(
    """
    author article:author citation_author dc.creator dcterms.creator dc:creator
    dc.contributor.author parsely-author sailthru.author byl book:author article:author_name
    og:author cxenseparse:author
    """.split()
)
PUBLISHED = tuple(
    """
    article:published_time og:published_time og:article:published_time datepublished date.published
    citation_publication_date citation_date citation_online_date dc.date.issued dcterms.issued
    dcterms.created dc.date.created dc.date dcterms.date parsely-pub-date sailthru.date pubdate
    publishdate publish-date publish_date publication_date date cxenseparse:recs:publishtime ptime
    displaydate og:pubdate article.published bt:pubdate video:release_date originalpublicationdate
    article:published published published-date published_date publisheddate published_at date-published
    pub_date date-pub og:publish_date og:publication_time shareaholic:article_published_time
    cxenseparse:publishtime pdate dcsext.articlefirstpublished w-published-date
    """.split()
)
MODIFIED = tuple(
    """
    article:modified_time og:modified_time og:updated_time og:article:modified_time datemodified
    dcterms.modified dc.date.modified dc.modified last-modified lastmod revised modified utime
    article.updated lastmodifieddate date.modified article:modified modified_date last-modified-date
    last-updated updated_at updated_date shareaholic:article_modified_time
    """.split()
)
DESCRIPTIONS = tuple(
    """
    description og:description twitter:description dcterms.description dc.description
    dcterms.abstract
    """.split()
)
SITE_NAMES = tuple(
    """
    og:site_name application-name dc.publisher dcterms.publisher citation_journal_title
    """.split()
)
IMAGES = tuple(
    """
    og:image og:image:url og:image:secure_url twitter:image twitter:image:src thumbnail
    """.split()
)
TAGS = tuple(
    """
    article:tag og:article:tag video:tag news_keywords keywords parsely-tags citation_keywords
    dc.subject dcterms.subject
    """.split()
)
LICENSES = ("dcterms.license", "dc.rights.license", "license", "og:license")

_LIST = re.compile(
    r"https?://[^/?#]+(?:/?(?:index\.\w+)?|(?!\S*/(?:topic|threads?)/)(?:/[^?#]*)?/"
    r"(?:(?:tags?|categor(?:y|ies)|author)/(?![^/?#]+\.html?(?:[/#]|$))[^/?#]+/?|page/[0-9]+/?))(?:#.*)?$",
    re.IGNORECASE,
)
"""Address, without a query, of the front page of a site, or of an archive of a blog."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Declarations of a page, by place."""

    url: str
    """URL of the page, or empty."""
    base: str
    """Base of relative addresses."""
    metas: dict[str, list[str]]
    """Contents of `<meta>` by name."""
    links: list[tuple[str, str, str, bool]]
    """The `rel`, the address and the text of each link; True for `<a>`."""
    items: list[Item]
    """Objects in JSON-LD."""
    by_id: dict[str, Item]
    """Those of them that others can refer to."""
    main: Item | None
    """The object that describes the page."""
    microdata: dict[str, list[str]]
    times: list[tuple[str, str, bool, str]]
    """The time and the class of each `<time>`; True if it has `pubdate`; its text."""
    bylines: list[str]

    @property
    def lists_others(self) -> bool:
        """True for an address, without a query, under which sites list other pages."""
        return _LIST.match(self.url) is not None

    def meta(self, names: Iterable[str]) -> Iterator[str]:
        """Return the contents of `<meta>` of these names, in the order of the names."""
        return chain.from_iterable(filter(None, map(self.metas.get, names)))

    def main_values(self, name: str) -> list[object]:
        """Return the values of a property of the object that describes the page in JSON-LD."""
        return values(self.main.get(name)) if self.main is not None else []


def gather(properties: Properties, json_ld: Iterable[str], url: str) -> Sources:
    """Gather all declarations of a page at a URL."""
    metas: dict[str, list[str]] = {}
    for name, content in properties.metas:
        metas.setdefault(name, []).append(content)
    items = read_items(json_ld)
    base = join_address(url, properties.base) if properties.base else url
    return Sources(
        url=url,
        base=base,
        metas=metas,
        links=properties.links,
        items=items,
        by_id=by_id(items),
        main=main_item(items),
        microdata=_microdata(properties.items),
        times=properties.times,
        bylines=properties.bylines,
    )


def _microdata(items: list[tuple[str, str, str, int, str]]) -> dict[str, list[str]]:
    """Return the microdata that describe the page; none if they are of several articles.

    Where there is an article, properties of no type, such as those of a menu, are not its own.
    """
    own = [
        (names, value, of_type, number)
        for names, value, of_type, number, within in items
        if (not of_type or is_content(of_type)) and not is_content(within)
    ]
    of_content = [each for each in own if each[2]] or own
    if len({number for *_, number in of_content}) > 1:
        return {}
    properties: dict[str, list[str]] = {}
    for names, value, *_ in of_content:
        for name in names.lower().split():
            properties.setdefault(name, []).append(value)
    return properties
