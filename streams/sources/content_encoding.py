"""Messages that are compressed as a whole: their header `content-encoding` tells it, or the mark of gzip.

A value of any format may be: it is inflated first, and then recognised and read like any other. What is
recognised as it is stays as it is, for crawlers also copy the header of an answer whose body they inflated.
"""

from collections.abc import Sequence
from dataclasses import replace

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.compression import inflate, is_binary, start_of_gzip
from dehusk.streams.sources.source import Decoded, Record, Source

HEADER = "content-encoding"


class Compressed:
    """A source whose messages may be compressed."""

    def __init__(self, source: Source, max_bytes: int) -> None:
        self._source = source
        self._max_bytes = max_bytes
        self.name = source.name

    def recognises(self, message: Message) -> bool:
        """Whether the source recognises the message, as it is or inflated."""
        try:
            return self._source.recognises(self._inflated(message))
        except PageError:
            return False

    def decode(self, message: Message) -> Sequence[Decoded]:
        """What the source makes of the message, as it is or inflated."""
        try:
            inflated = self._inflated(message)
        except PageError as error:
            return [Broken(error.reason, str(error))]
        return self._source.decode(inflated)

    def encode(self, page: RawPage) -> Record:
        """The record of the source, which is not compressed."""
        return self._source.encode(page)

    def _inflated(self, message: Message) -> Message:
        encoding = self._encoding(message)
        if encoding is None or not message.value or self._source.recognises(message):
            return message
        value = inflate(message.value, encoding, self._max_bytes)
        others = tuple(header for header in message.headers if header[0].lower() != HEADER)
        return replace(message, value=value, headers=others)

    def _encoding(self, message: Message) -> str | None:
        """The content coding that the header tells; without one, gzip that holds text or a known format."""
        header = message.header(HEADER)
        if header is not None:
            return header.decode("utf-8", "replace")
        start = start_of_gzip(message.value or b"")
        if not start or (is_binary(start) and not self._source.recognises(replace(message, value=start))):
            return None
        return "gzip"
