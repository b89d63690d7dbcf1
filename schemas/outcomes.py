"""Outcomes of a message other than a document: each drop has a named reason that is counted."""

from dataclasses import dataclass
from enum import StrEnum


class SkipReason(StrEnum):
    """Reason for which a message is not a page; it is counted and passed over."""

    NOT_HTML = "not-html"
    """The content type or the bytes are of something else: an image, a PDF, plain text, JSON, binary data."""
    ERROR_STATUS = "error-status"
    """The server answered with a status outside 200–299."""
    NO_BODY = "no-body"
    """The crawler stored no content with the message."""
    NOT_A_PAGE = "not-a-page"
    """A record of another kind: a WARC request, a frontera offset message, a DNS answer."""


class BrokenReason(StrEnum):
    """Reason for which a message or page cannot be cleaned; it becomes a dead letter."""

    MALFORMED_MESSAGE = "malformed-message"
    """The message claims or looks to be of a format whose rules it breaks."""
    UNKNOWN_FORMAT = "unknown-format"
    """No crawler format recognises the message."""
    WRONG_FORMAT = "wrong-format"
    """The message is not of the crawler format that all messages are declared to have."""
    MISSING_URL = "missing-url"
    """The page has no URL: it could be neither keyed nor attributed to a site."""
    UNKNOWN_SCHEMA = "unknown-schema"
    """The schema registry does not know, or could not give, the schema of the message."""
    RECORD_NOT_FOUND = "record-not-found"
    """A message names a WARC record, a file or an object that is not where it says, or may not be read."""
    HOLDS_ONLY_A_REFERENCE = "holds-only-a-reference"
    """The message names the place of a page, from which nothing may be read."""
    MALFORMED_COMPRESSION = "malformed-compression"
    """The compressed body ends early or is not what its label says."""
    INFLATES_TOO_LARGE = "inflates-too-large"
    """The compressed body grows beyond the page size limit."""
    PAGE_TOO_LARGE = "page-too-large"
    """The page has more bytes than the limit."""
    TOO_MANY_BLOCKS = "too-many-blocks"
    """The page has more blocks of text than the limit."""
    TIME_BUDGET_EXCEEDED = "time-budget-exceeded"
    """A step took more CPU time than a page may take, or waited for much longer."""
    MEMORY_BUDGET_EXCEEDED = "memory-budget-exceeded"
    """A step needed more memory than a page may have."""
    PROCESS_CRASHED = "process-crashed"
    """The process that worked on this page died."""
    INTERNAL_ERROR = "internal-error"
    """A step raised what it never should: a bug worth reporting, with this page."""
    REJECTED_BY_MODEL = "rejected-by-model"
    """The labeler failed for this page, or gave it no valid probabilities, while it labeled others."""
    DOCUMENT_TOO_LARGE = "document-too-large"
    """The cleaned document has more bytes than two of the largest pages, or than the broker takes."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A message, or one page of it, that is no HTML page."""

    reason: SkipReason
    detail: str
    url: str | None = None
    id: str | None = None
    """Identifier in its input, where known."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Broken:
    """A message, or one page of it, that cannot be cleaned."""

    reason: BrokenReason
    detail: str
    url: str | None = None
    id: str | None = None
    """Identifier in its input, where known."""

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class Damaged(Broken):
    """Place from which an input cannot be read: all pages after it are lost."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Tombstone:
    """Null value: the crawler reports that a page is gone."""

    key: bytes
    """Key of the page's document: its URL."""
