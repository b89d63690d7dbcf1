"""Crawler formats: the interface of all, and the base of those whose messages are JSON."""

import codecs
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import unquote_plus

from dehusk.schemas.errors import PageError, UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import Fields, has_keys, message_object
from dehusk.streams.sources.page import Answer, Outcome, html_page, known_url

Decoded = Outcome | Tombstone
_SHOWN = 200
_PERCENT = "dehusk-percent"
_QUOTED = re.compile(r"(?:https?|file)%3A%2F%2F", re.IGNORECASE)
"""Start of a URL that is percent-encoded as a whole, as ACHE writes its keys."""


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record to be written."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def url(self) -> str:
        """The URL that is its key; empty without one."""
        return (self.key or b"").decode(errors="replace")


class MissingSchemaError(UnavailableError):
    """A schema that the registry does not give, as it does not answer at all."""

    def __init__(self, message: str, reference: str) -> None:
        super().__init__(message)
        self.reference = reference


class RefusedSchemaError(MissingSchemaError):
    """A schema for which the registry gives an error, nonsense or nothing; it may answer for others."""


class Source(Protocol):
    """A way to read messages: a crawler format, or what wraps one."""

    name: str
    """The value of `--source`, and of a crawler format also that of `--as`."""

    @abstractmethod
    def recognises(self, message: Message) -> bool:
        """Return True if the message bears the marks of this format, which no other format bears."""

    @abstractmethod
    def decode(self, message: Message) -> Sequence[Decoded]:
        """Return one outcome for each page of a message, in its order.

        Raises:
            UnavailableError: what the message needs to be read (a schema registry) does not answer. The
                message is not wrong: decoding it again later gives its pages. Nothing else is raised.
        """


class CrawlerFormat(Source):
    """Base of the crawler formats, which read a message or raise PageError."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def decode(self, message: Message) -> Sequence[Decoded]:
        """Return one outcome for each page of the message."""
        try:
            return self._read(message)
        except PageError as error:
            return [Broken(error.reason, str(error))]

    @abstractmethod
    def encode(self, page: RawPage) -> Record:
        """Return the record that the crawler would have written for this page (`dehusk feed --as`)."""

    @abstractmethod
    def _read(self, message: Message) -> Sequence[Decoded]:
        """Return one outcome for each page.

        Raises:
            PageError: the message cannot be read.
        """

    def _page(self, answer: Answer) -> Outcome:
        return html_page(answer, self.name, self._max_bytes)


class JsonFormat(CrawlerFormat):
    """Base of the formats whose messages are JSON objects, one for each page."""

    marks: tuple[str, ...]
    """Fields that tell messages of the format from all others, where all are there."""
    required: tuple[str, ...] = ()
    """Fields of which an object that is read has at least one."""

    def recognises(self, message: Message) -> bool:
        """Return True if the value is an object with all marks of the format."""
        return has_keys(message.value or b"", *self.marks)

    def _read(self, message: Message) -> Sequence[Decoded]:
        return [self._read_object(message_object(message.value or b"", *self.required))]

    @abstractmethod
    def _read_object(self, fields: Fields) -> Outcome:
        """Return the page of an object.

        Raises:
            PageError: the object cannot be read.
        """


def named_urls(message: Message) -> Iterator[str]:
    """Yield the texts that may be the URL of the message's page, the most reliable first."""
    for name in (message.header("url"), message.key):
        if name:
            yield _decode_name(name)


def named_url(message: Message) -> str | None:
    """Return the URL of the message's page as it is keyed, or None if header and key hold none."""
    return next(filter(None, map(known_url, named_urls(message))), None)


def fetch_time(page: RawPage) -> datetime:
    """Return the time in UTC when a page was fetched: now, if the page does not tell it."""
    return (page.fetched_at or datetime.now(UTC)).astimezone(UTC)


def outcome_without_value(message: Message) -> Decoded | None:
    """Return the outcome of a message without a value, in any format; None if there is a value.

    Null says that the page of the message's URL is gone.
    """
    if message.value:
        return None
    if message.value is not None:
        return Skipped(SkipReason.NO_BODY, "the value is empty")
    url = named_url(message)
    if url is not None:
        return Tombstone(url.encode())
    if message.key is None:
        return Broken(BrokenReason.MALFORMED_MESSAGE, "neither a key nor a value")
    key = message.key[:_SHOWN].decode("utf-8", "backslashreplace")
    return Broken(BrokenReason.MISSING_URL, f"a page is gone, but the key {key!r} is no URL that tells which")


def _decode_name(name: bytes) -> str:
    """Return a name as text; bytes that are no UTF-8 are percent-encoded, so no two names become one."""
    text = name.decode("utf-8", _PERCENT)
    return unquote_plus(text, errors=_PERCENT) if _QUOTED.match(text) else text


def _percent_encode(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(f"%{byte:02X}" for byte in error.object[error.start : error.end]), error.end


codecs.register_error(_PERCENT, _percent_encode)
