"""The cleaned document: what dehusk publishes for each page, and its JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

import orjson

from dehusk.schemas.metadata import Metadata
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.schemas.pickled import PickledByFields
from dehusk.schemas.reading import read

SCHEMA_VERSION = "1"
OPTIONAL_FIELDS = ("blocks", "links", "markdown", "html")
"""Fields of the JSON that are left out where they are null."""


class Comments(StrEnum):
    """Treatment of user comments below a page's content; posts of a forum are content."""

    SEPARATE = "separate"
    """A text of their own."""
    INCLUDE = "include"
    """Part of the text."""
    DROP = "drop"


class Missing(StrEnum):
    """Knowledge that a document is made without while a service is unavailable."""

    FREQUENCIES = "frequencies"
    """Statistics of the site, in Redis."""
    MODEL = "model"
    """Answers of the model, on Triton."""


class HeadlineTreatment(StrEnum):
    """Treatment of a page's headline; Markdown and HTML begin with it in any case."""

    SEPARATE = "separate"
    """A field of its own; the text has it only where the page's heading is part of its content."""
    INCLUDE = "include"
    """The text begins with it, unless it is part of the content."""


@dataclass(frozen=True, slots=True)
class CleanedBlock(PickledByFields):
    """One text block with its label."""

    text: str
    path: str
    """Tags from the root to the element that holds the block, e.g. html/body/p."""
    probability: float
    """Probability that the block is content."""
    content: bool
    """True if the block is part of the document's text."""
    comment: bool = False
    """True for a user comment that is no content."""
    frequency: int | None = None
    """Distinct pages of the site with this text; None if unknown."""
    xpath: str | None = None
    """XPath of that element in the page as HTML5 parsers read it, e.g. /html/body[1]/p[2].

    It is None for elements in more than 63 others, and where the page is not read as it is.
    """


@dataclass(frozen=True, slots=True)
class DocumentLink(PickledByFields):
    """A link of a document's text."""

    url: str
    """Absolute address, of at most 2,048 characters, as Markdown has it."""
    text: str
    """Part of the block's text that is the link."""
    block: int
    """Index of the block among all of the page, as in `blocks`, from 0 on."""


@dataclass(frozen=True, slots=True)
class Template:
    """The site's template as known when the page was cleaned."""

    pages_seen: int
    """Distinct pages of the site, this one included."""
    blocks_matched: int
    """Blocks of this page that were on at least one other page of the site."""
    blocks_dropped: int
    """Blocks that would be part of the text without the statistics of the site."""
    blocks_saved: int
    """Blocks of the text that would not be part of it without the statistics of the site."""


@dataclass(frozen=True, slots=True)
class Origin(PickledByFields):
    """Kafka record that the page came from."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def origin_of(message: Message) -> Origin:
    """Return the position of a message."""
    return Origin(message.topic, message.partition, message.offset)


@dataclass(frozen=True, slots=True)
class CleanedDocument(PickledByFields):
    """The main content of one page.

    The same input gives the same bytes for the same model version and statistics of the site.
    """

    id: str
    """The crawler's own id of the page, else its URL."""
    url: str
    """Address of the page."""
    site: str
    """Name that the page's texts are counted under.

    It is the URL's host, lower case, without port and www.; or, by --site-key, its registrable domain
    (.example.org), or host and first folder (example.org/blog).
    """
    fetched_at: datetime | None
    """Time of the crawl; None where the crawler does not tell it."""
    title: str
    """Text of the page's title element, which often has the site's name, too; may be empty."""
    text: str
    """Content, one line per block, a blank line between paragraphs; may be empty."""
    comments: str | None
    """User comments, in the same form.

    It is None where the model does not distinguish them, or where they are to be part of the text or dropped.
    """
    language: str | None
    """Primary language of the text, e.g. `en`: as detected, else as declared; None where neither is known."""
    raw_length: int
    """Bytes of the page's HTML in UTF-8."""
    text_length: int
    """Unicode characters of `text`."""
    model: ModelVersion
    """Model that labeled the page."""
    labeler: str
    """Runtime of the model, or the labeler that needs no model."""
    degraded: tuple[str, ...]
    """Services unavailable when the page was cleaned: `frequencies` (Redis), `model` (Triton)."""
    template: Template | None
    """Statistics of the site's template; None where frequencies are unknown."""
    source: Origin | None
    """Kafka record that the page came from; None for a page cleaned offline."""
    headline: str | None = None
    """Headline of the page: the heading that its title names, else its only heading of level 1, else what
    JSON-LD, Open Graph or the title say without the name of the site; None where nothing names it."""
    revision: int = 1
    """1 for the first cleaning of the page, 2 for the one repeated when more of its site was known."""
    declared_language: str | None = None
    """Language that the page declares, else its server, with script and region, e.g. `pt-BR`, `zh-Hant`."""
    language_probability: float | None = None
    """Probability of the detected language, or share of the letters in the script that tells it.

    It is None where the language is unknown, or as declared without being detected.
    """
    content_hash: str | None = None
    """BLAKE2b of the normalised text, 16 bytes in hexadecimal digits; None for an empty text.

    Normalised is the text in NFC and UTF-8, each run of white space one space, none at its ends.
    """
    simhash: str | None = None
    """Simhash of all runs of three words, 64 bits in hexadecimal digits; None for a text without words.

    Few bits differ between similar texts. It is there by default (--duplicates simhash).
    """
    minhash: str | None = None
    """MinHash of all runs of three words, where asked for (--duplicates minhash); None without words.

    In Base64, it is 128 numbers of four bytes, little-endian, each the least hash of a run under one
    permutation. Two texts have in common about as large a part of their runs as of these numbers.
    """
    metadata: Metadata | None = None
    """Metadata declared by the page; None where they were not asked for (--metadata none)."""
    expected_f1: float | None = None
    """F1 of the words of `text`, from 0 to 1, that its model's probabilities let expect, calibrated.

    It is None for an empty text, and where no model labeled the page.
    """
    page_kind: str | None = None
    """Likeliest kind of the page: article, collection, documentation, forum, listing, product or service.

    It is None where the model does not tell it, and for a page without blocks.
    """
    page_kind_probability: float | None = None
    """Probability of that kind."""
    blocks: tuple[CleanedBlock, ...] | None = None
    """Every text block of the page with its label, in document order; where asked for (--with-blocks)."""
    links: tuple[DocumentLink, ...] | None = None
    """Links of `text`, at most the first 5,000, in document order; where asked for (--with-links)."""
    markdown: str | None = None
    """Content as Markdown, where asked for (--with-markdown).

    It is CommonMark, with GitHub's tables, and TeX in dollar signs.
    """
    html: str | None = None
    """Content as HTML, the inside of a body, where asked for (--with-html)."""

    def to_json(self) -> str:
        """Return one JSON object; times in RFC 3339 UTC; what is there if asked for, only then."""
        return self.to_json_bytes().decode()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the JSON as a dict, whose times are text, too."""
        named: dict[str, Any] = orjson.loads(self.to_json_bytes())
        return named

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the document that was written as this JSON.

        Raises:
            ValueError: it is no JSON, or as for `from_dict`.
        """
        return cls.from_dict(orjson.loads(text))

    @classmethod
    def from_dict(cls, named: Mapping[str, Any]) -> Self:
        """Return the document of these fields; fields that it does not know are ignored.

        Raises:
            ValueError: a field is missing or of another type, or UTC does not have the time of the crawl.
        """
        document = read(cls, named)
        if document.fetched_at is not None:
            try:
                document.fetched_at.astimezone(UTC)
            except OverflowError as error:
                raise ValueError(f"fetched_at is {named['fetched_at']!r}, no time in UTC") from error
        return document

    def to_json_bytes(self) -> bytes:
        """Return the JSON in UTF-8."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in OPTIONAL_FIELDS:
            if named[name] is None:
                del named[name]
        if self.fetched_at is not None:
            named["fetched_at"] = self.fetched_at.astimezone(UTC)
        return orjson.dumps(named, option=orjson.OPT_UTC_Z)


@dataclass(frozen=True, slots=True)
class TextSample(PickledByFields):
    """Text of a block that many pages of its site have, or that the statistics of the site corrected."""

    fingerprint: int
    """As in `SiteKeys.texts`."""
    text: str
    """First characters of the text."""
    pages: int
    """Pages of the site with it, this one included."""
    dropped: bool = False
    """True if the statistics of the site removed it from the document."""
    saved: bool = False
    """True if the statistics of the site kept it in the document."""
