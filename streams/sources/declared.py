"""`--source NAME`: all messages are said to be of one format, and one that is not becomes a dead letter."""

from collections.abc import Sequence

from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.source import Decoded, Record, Source


class Declared:
    """A format, and the others by which a message is known that is not of it."""

    def __init__(self, source: Source, others: Sequence[Source], *, takes_any: bool) -> None:
        """`takes_any`: any value could be of the format, so what another format recognises is none of it."""
        self._source = source
        self._others = others
        self._takes_any = takes_any
        self.name = source.name

    def recognises(self, message: Message) -> bool:
        """Whether the format recognises the message."""
        return self._source.recognises(message)

    def decode(self, message: Message) -> Sequence[Decoded]:
        """What the format makes of the message; of one of another format, which one that is."""
        outcomes = self._source.decode(message)
        if not self._takes_any and not all(map(_is_of_another, outcomes)):
            return outcomes
        names = [other.name for other in self._others if other.recognises(message)]
        if not names:
            return outcomes
        detail = f"a message of {' or '.join(names)}, not of {self.name}: see --source"
        return [Broken(BrokenReason.WRONG_FORMAT, detail)]

    def encode(self, page: RawPage) -> Record:
        """The record of the format."""
        return self._source.encode(page)


def _is_of_another(outcome: Decoded) -> bool:
    return isinstance(outcome, Broken) and outcome.reason is BrokenReason.WRONG_FORMAT
