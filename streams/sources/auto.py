"""`auto`: each message is read as the format that recognises it."""

import re
from collections.abc import Sequence

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.compression import is_binary
from dehusk.streams.sources.fields import parse_json, shown_names
from dehusk.streams.sources.html import Html, is_answer
from dehusk.streams.sources.page import other_format
from dehusk.streams.sources.source import Decoded, Record, Source

_JSON_OBJECT = re.compile(rb'\s*\[?\s*\{\s*"')
_SHOWN = 60
_BYTES_SHOWN = 8
_ADVICE = "name yours with --source"


class Auto:
    """Asks all formats: what a message is depends on nothing but itself."""

    name = "auto"

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources

    def recognises(self, message: Message) -> bool:
        """Whether one format recognises the message, and no other."""
        return len(_recognising(self._sources, message)) == 1

    def decode(self, message: Message) -> Sequence[Decoded]:
        """What the format that recognises the message makes of it."""
        recognising = possible_formats(self._sources, message)
        if len(recognising) == 1:
            return recognising[0].decode(message)
        if recognising:
            names = " and ".join(source.name for source in recognising)
            return [Broken(BrokenReason.UNKNOWN_FORMAT, f"it could be {names}: {_ADVICE}")]
        return [_unknown(message.value or b"")]

    def encode(self, page: RawPage) -> Record:
        """The record of the first of the formats."""
        return self._sources[0].encode(page)


def possible_formats(sources: Sequence[Source], message: Message) -> list[Source]:
    """The formats that recognise a message, else `html` where its headers tell of a web server's answer."""
    recognising = _recognising(sources, message)
    if recognising or not is_answer(message):
        return recognising
    return [source for source in sources if source.name == Html.name]


def _recognising(sources: Sequence[Source], message: Message) -> list[Source]:
    return [source for source in sources if source.recognises(message)]


def _unknown(value: bytes) -> Broken:
    """What was seen of a message that no format recognises."""
    if not _JSON_OBJECT.match(value):
        return Broken(
            BrokenReason.UNKNOWN_FORMAT, f"no crawler format begins with {_beginning(value)}: {_ADVICE}"
        )
    try:
        content = parse_json(value)
    except PageError as error:
        return Broken(error.reason, str(error))
    return Broken(BrokenReason.UNKNOWN_FORMAT, f"no crawler format has {_fields(content)}: {_ADVICE}")


def _beginning(value: bytes) -> str:
    """How a value begins, and what it is where that cannot be read."""
    if not is_binary(value):
        return repr(value[:_SHOWN])
    return f"{value[:_BYTES_SHOWN].hex(' ')} ({other_format(value) or 'no text'}, {len(value):,} bytes)"


def _fields(content: object) -> str:
    """The names of the fields of an object, or of the first of an array."""
    item = content[0] if isinstance(content, list) else content
    return f"the fields {shown_names(item if isinstance(item, dict) else {})}"
