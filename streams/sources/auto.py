"""`auto`: each message is read as the format that recognises it."""

from collections.abc import Sequence

from schemas.outcomes import Broken, BrokenReason
from schemas.pages import Message, RawPage
from streams.sources.source import Decoded, Record, Source

_SHOWN = 60


class Auto:
    """Asks the formats in turn, the one of the last message first: formats do not recognise each other's."""

    name = "auto"

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        self._simplest = sources[0]

    def recognises(self, message: Message) -> bool:
        """Whether any format recognises the message."""
        return self._recognising(message) is not None

    def decode(self, message: Message) -> Sequence[Decoded]:
        """What the format that recognises the message makes of it."""
        source = self._recognising(message)
        if source is None:
            return [Broken(BrokenReason.UNKNOWN_FORMAT, _seen(message.value))]
        return source.decode(message)

    def encode(self, page: RawPage) -> Record:
        """The record of the first of the formats."""
        return self._simplest.encode(page)

    def _recognising(self, message: Message) -> Source | None:
        for place, source in enumerate(self._sources):
            if source.recognises(message):
                self._sources.insert(0, self._sources.pop(place))
                return source
        return None


def _seen(value: bytes | None) -> str:
    return f"no crawler format begins with {(value or b'')[:_SHOWN]!r}; name yours with --source"
