"""The cleaned document: what dehusk publishes for each page, and its JSON."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum

import orjson

from dehusk.schemas.metadata import Metadata
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.schemas.pickled import PickledByFields

SCHEMA_VERSION = "1"
_OPTIONAL = ("blocks", "markdown", "html")


class Comments(StrEnum):
    """Treatment of user comments below a page's content; posts of a forum are content."""

    SEPARATE = "separate"
    """A text of their own."""
    INCLUDE = "include"
    """Part of the text."""
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class CleanedBlock:
    """One text block with its label."""

    text: str
    path: str
    probability: float
    content: bool
    comment: bool = False
    """True for a user comment that is no content."""
    frequency: int | None = None
    """Distinct pages of the site with this text; None if unknown."""


@dataclass(frozen=True, slots=True)
class Template:
    """The site's template as known when the page was cleaned."""

    pages_seen: int
    blocks_matched: int
    """Blocks of this page that were on at least one other page of the site."""
    blocks_dropped: int
    """Blocks that would be part of the text without the statistics of the site."""
    blocks_saved: int
    """Blocks of the text that would not be part of it without them."""


@dataclass(frozen=True, slots=True)
class Origin(PickledByFields):
    """Kafka record that the page came from."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def origin_of(message: Message) -> Origin:
    """Return the place of a message."""
    return Origin(message.topic, message.partition, message.offset)


@dataclass(frozen=True, slots=True)
class CleanedDocument:
    """The main content of one page.

    The same input gives the same bytes for the same model version and statistics of the site.
    """

    id: str
    """The crawler's own id of the page, else its URL."""
    url: str
    site: str
    fetched_at: datetime | None
    title: str
    text: str
    """Content, one line per block, a blank line between paragraphs."""
    comments: str | None
    """User comments, in the same form; None where they are not distinguished, or not a text of their own."""
    language: str | None
    """Primary language of the text, e.g. `en`: as detected, else as declared."""
    raw_length: int
    """Bytes of the page's HTML in UTF-8."""
    text_length: int
    """Characters of `text`."""
    model: ModelVersion
    labeler: str
    degraded: tuple[str, ...]
    """Services unavailable when the page was cleaned: `frequencies` (Redis), `model` (Triton)."""
    template: Template | None
    source: Origin | None
    revision: int = 1
    """1 for the first cleaning of the page, 2 for the one repeated when more of its site was known."""
    declared_language: str | None = None
    """Primary language that the page declares, else its server."""
    content_hash: str | None = None
    """128 bits of the normalised text in hexadecimal digits; None for an empty text."""
    simhash: str | None = None
    """64 bits in hexadecimal digits, few of which differ between similar texts; None without words."""
    metadata: Metadata | None = None
    """Declarations of the page; None where they were not asked for."""
    blocks: tuple[CleanedBlock, ...] | None = None
    """Every block of the page with its label, where asked for."""
    markdown: str | None = None
    """Content as Markdown, where asked for."""
    html: str | None = None
    """Content as HTML, the inside of a body, where asked for."""

    def to_json(self) -> bytes:
        """Return one JSON object; times in RFC 3339 UTC; `blocks`, `markdown`, `html` only where present."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in _OPTIONAL:
            if named[name] is None:
                del named[name]
        if self.fetched_at is not None:
            named["fetched_at"] = self.fetched_at.astimezone(UTC)
        return orjson.dumps(named, option=orjson.OPT_UTC_Z)


@dataclass(frozen=True, slots=True)
class TextSample(PickledByFields):
    """Text of a block that many pages of its site have, or that the statistics of the site corrected."""

    fingerprint: int
    """As in `EncodedPage.fingerprints`."""
    text: str
    """First characters of the text."""
    pages: int
    """Pages of the site with it, this one included."""
    dropped: bool = False
    """True if the statistics of the site removed it from the document."""
    saved: bool = False
    """True if the statistics of the site kept it in the document."""
