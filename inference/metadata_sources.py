"""What a page says of itself to machines, by where it says it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dehusk.inference.json_ld import Item, is_content, main_item, read_items, values
from dehusk.inference.metadata_values import joined
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
    """.split()
)
MODIFIED = tuple(
    """
    article:modified_time og:modified_time og:updated_time og:article:modified_time datemodified
    dcterms.modified dc.date.modified dc.modified last-modified lastmod revised modified utime
    article.updated lastmodifieddate date.modified
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


@dataclass(frozen=True, slots=True)
class Sources:
    """All that a page says, by where it says it."""

    url: str
    """The page's own address, or empty."""
    base: str
    """What relative addresses are relative to."""
    metas: dict[str, list[str]]
    links: list[tuple[str, str, str, bool]]
    items: list[Item]
    main: Item | None
    microdata: dict[str, list[str]]
    times: list[tuple[str, str, bool]]
    bylines: list[str]
    dates: list[str]

    def meta(self, names: Iterable[str]) -> Iterator[str]:
        """What `<meta>` of these names say, by the order of the names."""
        for name in names:
            yield from self.metas.get(name, ())

    def of_main(self, name: str) -> list[object]:
        """The values of a property of what describes the page in JSON-LD."""
        return values(self.main.get(name)) if self.main is not None else []


def gather(found: Properties, json_ld: Iterable[str], url: str) -> Sources:
    """All that is found on a page at an address."""
    metas: dict[str, list[str]] = {}
    for name, content in found.metas:
        metas.setdefault(name, []).append(content)
    items = read_items(json_ld)
    base = joined(url, found.base) if found.base else url
    return Sources(
        url,
        base,
        metas,
        found.links,
        items,
        main_item(items),
        _microdata(found.items),
        found.times,
        found.bylines,
        found.dates,
    )


def _microdata(items: list[tuple[str, str, str, int]]) -> dict[str, list[str]]:
    """What the microdata of a page say of the page: nothing where they are of several articles."""
    told = [
        (names, value, number)
        for names, value, of_type, number in items
        if not of_type or is_content(of_type)
    ]
    if len({number for _, _, number in told}) > 1:
        return {}
    properties: dict[str, list[str]] = {}
    for names, value, _ in told:
        for name in names.lower().split():
            properties.setdefault(name, []).append(value)
    return properties
