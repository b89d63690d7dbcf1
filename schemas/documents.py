"""The cleaned document: what dehusk publishes for each page, and its JSON."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum

import orjson

from dehusk.schemas.metadata import Metadata
from dehusk.schemas.pages import ModelVersion
from dehusk.schemas.pickled import PickledByFields

SCHEMA_VERSION = "1"
_OPTIONAL = ("blocks", "markdown", "html")


class Comments(StrEnum):
    """What becomes of user comments below a page's content; posts of a forum are content."""

    SEPARATE = "separate"
    """They are a text of their own."""
    INCLUDE = "include"
    """They are part of the text."""
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class CleanedBlock:
    """One text block with its label."""

    text: str
    path: str
    probability: float
    content: bool
    comment: bool = False
    """Whether it is a user comment, and no content."""
    frequency: int | None = None
    """Distinct pages of the site that hold this text; None where frequencies are unknown."""


@dataclass(frozen=True, slots=True)
class Template:
    """What was known of the site's template when the page was cleaned."""

    pages_seen: int
    blocks_matched: int
    """Blocks of this page that were on at least one other page of the site."""
    blocks_dropped: int
    """Blocks that would be part of the text, were nothing known of the site."""
    blocks_saved: int
    """Blocks of the text that would not be part of it then."""


@dataclass(frozen=True, slots=True)
class Origin(PickledByFields):
    """The Kafka record that the page came from."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


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
    """The content, one line per block, a blank line between paragraphs."""
    comments: str | None
    """The user comments, in the same form; None where they are not told apart, or no text of their own."""
    language: str | None
    """The primary language of the text, e.g. `en`: as detected, else as declared."""
    raw_length: int
    """Bytes of the page's HTML in UTF-8."""
    text_length: int
    """Characters of `text`."""
    model: ModelVersion
    labeler: str
    degraded: tuple[str, ...]
    """What was unavailable when the page was cleaned: `frequencies` (Redis), `model` (Triton)."""
    template: Template | None
    source: Origin | None
    revision: int = 1
    """1 for the first cleaning of the page, 2 where it was cleaned again when more of its site was known."""
    declared_language: str | None = None
    """The primary language that the page declares, else its server."""
    content_hash: str | None = None
    """128 bits of the normalised text in hexadecimal digits; None of an empty text."""
    simhash: str | None = None
    """64 bits in hexadecimal digits, few of which differ between similar texts; None without words."""
    metadata: Metadata | None = None
    """What the page says of itself; None where it was not asked for."""
    blocks: tuple[CleanedBlock, ...] | None = None
    """Every block of the page with its label, where asked for."""
    markdown: str | None = None
    """The content as Markdown, where asked for."""
    html: str | None = None
    """The content as HTML, what stands in its body, where it is written as HTML."""

    def to_json(self) -> bytes:
        """One JSON object; times in RFC 3339 UTC; `blocks`, `markdown` and `html` only where present."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in _OPTIONAL:
            if named[name] is None:
                del named[name]
        if self.fetched_at is not None:
            named["fetched_at"] = self.fetched_at.astimezone(UTC)
        return orjson.dumps(named, option=orjson.OPT_UTC_Z)
