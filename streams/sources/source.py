"""What a crawler format is: how a Kafka record of it is recognised, read and written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.keys import named_url

Decoded = RawPage | Skipped | Broken | Tombstone
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record to be written."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Source(Protocol):
    """A crawler format; each lives in a module of its own."""

    name: str
    """The value of `--source` and `--as`."""

    def recognises(self, message: Message) -> bool:
        """Whether the message is of this format, by marks that no other format bears."""
        ...

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The pages of a message, in its order; one outcome for each, none lost.

        Raises:
            UnavailableError: what the message needs to be read (a schema registry) does not answer. The
                message is not wrong: decoding it again later gives its pages. Nothing else is raised.
        """
        ...

    def encode(self, page: RawPage) -> Record:
        """The record that the crawler would have written for this page (`dehusk feed --as`)."""
        ...


def without_value(message: Message) -> Decoded | None:
    """What a message without a value says, in any format: null that the page of its URL is gone."""
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
