"""Dead letters: messages that could not be cleaned, with the error headers of Kafka Connect (KIP-298).

A dead letter is the original record, untouched, with headers added after its own. No header tells a time:
that is the Kafka record's, so a message that fails twice gives the same bytes twice.
"""

from dataclasses import dataclass
from functools import cache

from dehusk.schemas.documents import Origin
from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.pages import Message
from dehusk.streams.settings import KIB
from dehusk.streams.sources.registry import SourceSettings, open_source
from dehusk.streams.sources.source import Record, Source, named_url


def url_in(message: Message) -> str | None:
    """Return the URL in the message as its format has it, else in its header `url` or its key; or None."""
    pages = (page for page in _source().decode(message) if isinstance(page, Skipped | Broken))
    return next(filter(None, (page.url for page in pages)), None) or named_url(message)


@cache
def _source() -> Source:
    """Open all formats; as no page may have a single byte, each is named and none is read."""
    return open_source("auto", SourceSettings(max_bytes=0))


PREFIX = ("__connect.errors.", "dehusk.")
"""Beginnings of the headers that dead letters add."""
_CONNECT = PREFIX[0]
_TOPIC = _CONNECT + "topic"
_REASON = "dehusk.reason"
_URL = "dehusk.url"
_VALUE_BYTES = "dehusk.value-bytes"
_REPLAYS = "dehusk.replays"
_REPLAY_OF = "dehusk.replay-of"
_REPLAYED = "dehusk.replayed"
_CONNECT_NAMES = ("topic", "partition", "offset", "stage", "exception.class.name", "exception.message")
Headers = tuple[tuple[str, bytes | None], ...]
_PARTITIONS = range(1 << 31)
_OFFSETS = range(1 << 63)
_MAX_DIGITS = 9
"""Digits of the largest number of replays."""
_MAX_TEXT = 2000
"""Characters of a header's text, which may quote a page at any length."""
MAX_BARE_BYTES = 20 * KIB
"""More than the record of a dead letter takes without key, value and headers of its message."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A dead letter as it was read from its topic."""

    original: Record
    """The crawler's record, without the headers of dead letters and replays."""
    origin: Origin
    """Location of the message that failed."""
    stage: str
    reason: str
    """A `BrokenReason`, or the exception's class if another program wrote the letter."""
    detail: str
    stated_url: str | None
    """The page's URL, if the letter states it."""
    is_whole: bool
    """True if the value is there; the dead-letter topic may have refused it for its size."""
    replays: int
    """Number of times that the message was put back on its topic before it failed here."""
    first_origin: Origin
    """Location of the first failure: the same for all letters of a message that was replayed."""

    @property
    def url(self) -> str | None:
        """The page's URL, as the letter states it or the original record gives it."""
        original = self.original
        return self.stated_url or url_in(Message(original.key, original.value, original.headers))


def dead_letter(message: Message, broken: Broken, stage: str) -> Record:
    """Return the record for the dead-letter topic: the message as it was, with error headers added."""
    headers = {
        _TOPIC: message.topic,
        _CONNECT + "partition": str(message.partition),
        _CONNECT + "offset": str(message.offset),
        _CONNECT + "connector.name": "dehusk",
        _CONNECT + "stage": stage,
        _CONNECT + "exception.class.name": broken.reason.value,
        _CONNECT + "exception.message": broken.detail,
        _REASON: broken.reason.value,
    }
    if broken.url is not None:
        headers[_URL] = broken.url
    if message.value is not None:
        headers[_VALUE_BYTES] = str(len(message.value))
    return Record(message.key, message.value, (*message.headers, *_encoded(headers)))


def read_dead_letter(message: Message) -> DeadLetter | None:
    """Return the dead letter that a message is, or None if its headers do not make it one."""
    names = [name for name, _ in message.headers]
    if _TOPIC not in names:
        return None
    start = len(names) - 1 - names[::-1].index(_TOPIC)
    try:
        return _read(message, message.headers[:start], message.headers[start:])
    except ValueError:
        return None


def _read(message: Message, before: Headers, added: Headers) -> DeadLetter:
    """Read the letter from the headers that the message had before and those that were added."""
    error = Message(None, None, added)
    connect = {name: _text(error, _CONNECT + name) for name in _CONNECT_NAMES}
    origin = _position(connect["topic"], connect["partition"], connect["offset"])
    kept = tuple(header for header in before if header[0] not in (_REPLAYS, _REPLAY_OF))
    replays, first_origin = _replayed(Message(None, None, before)) or (0, origin)
    return DeadLetter(
        original=Record(message.key, message.value, kept),
        origin=origin,
        stage=connect["stage"],
        reason=_text(error, _REASON) or connect["exception.class.name"],
        detail=connect["exception.message"],
        stated_url=_text(error, _URL) or None,
        is_whole=len(message.value or b"") >= int(_text(error, _VALUE_BYTES) or "0"),
        replays=replays,
        first_origin=first_origin,
    )


def _replayed(message: Message) -> tuple[int, Origin] | None:
    """Return how often a message was put back, and its first failure; None if `replay` has not marked it."""
    count = _text(message, _REPLAYS)
    try:
        first = _origin(_text(message, _REPLAY_OF))
    except ValueError:
        return None
    return (int(count), first) if first and count.isdecimal() and len(count) <= _MAX_DIGITS else None


def replay(letter: DeadLetter) -> Record:
    """Return the original record, with headers that count its replays and name its first failure."""
    marks = {_REPLAYS: str(letter.replays + 1), _REPLAY_OF: str(letter.first_origin)}
    original = letter.original
    return Record(original.key, original.value, (*original.headers, *_encoded(marks)))


def replay_mark(letter: Origin) -> Record:
    """Return the record that says on the dead-letter topic that the letter at this location was put back.

    Its key is its own, so that compaction takes it for nothing else.
    """
    location = str(letter)
    return Record(location.encode(), b"", _encoded({_REPLAYED: location}))


def read_replay_mark(message: Message) -> Origin | None:
    """Return the location of the letter that was put back, or None if the message is no mark."""
    try:
        return _origin(_text(message, _REPLAYED))
    except ValueError:
        return None


def _encoded(headers: dict[str, str]) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, value[:_MAX_TEXT].encode("utf-8", "replace")) for name, value in headers.items())


def _text(message: Message, name: str) -> str:
    return (message.header(name) or b"").decode("utf-8", "replace")


def _origin(text: str) -> Origin | None:
    if not text:
        return None
    topic, partition, offset = text.split("/")
    return _position(topic, partition, offset)


def _position(topic: str, partition: str, offset: str) -> Origin:
    """Return the position of these texts.

    Raises:
        ValueError: no record of Kafka can have it.
    """
    origin = Origin(topic, int(partition), int(offset))
    if origin.partition not in _PARTITIONS or origin.offset not in _OFFSETS:
        raise ValueError(f"{origin} is no position")
    return origin
