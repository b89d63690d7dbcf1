"""Which topics a worker reads: named ones, or all that match a pattern, those to come included."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.settings import TopicSettings

_PATTERN_MARK = "^"
"""No topic's name holds it."""


@dataclass(frozen=True, slots=True)
class InputTopics:
    """Names, or a pattern."""

    names: tuple[str, ...]
    pattern: re.Pattern[str] | None = None
    """Matched at the start of a name, as Kafka's C clients do."""

    def match(self, name: str) -> bool:
        """Whether a topic of this name is read."""
        return name in self.names if self.pattern is None else self.pattern.match(name) is not None

    def among(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are read, sorted."""
        return sorted(name for name in names if self.match(name))


def input_topics(topics: TopicSettings) -> InputTopics:
    """The input of a worker.

    Raises:
        ConfigurationError: it is no pattern and no names, or the worker would read what it writes.
    """
    inputs = _parse(topics.input)
    if topics.output == topics.dead_letters:
        raise ConfigurationError(
            f"documents and dead letters need a topic each, and both go to {topics.output}"
        )
    if topics.revisits in (topics.output, topics.dead_letters):
        raise ConfigurationError(
            f"revisits need a topic of their own, and {topics.revisits} has other records"
        )
    if topics.audit in (topics.output, topics.dead_letters, topics.revisits) and topics.audit:
        raise ConfigurationError(
            f"audit records need a topic of their own, and {topics.audit} has other records"
        )
    for own in inputs.among(topics.written):
        advice = f"; a pattern that begins with ^(?!{own}$) leaves it out" if inputs.pattern else ""
        raise ConfigurationError(f"the input {topics.input} holds {own}, which the worker writes to{advice}")
    return inputs


def is_pattern(text: str) -> bool:
    """Whether an input is a pattern; commas in it belong to it."""
    return text.startswith(_PATTERN_MARK)


def _parse(text: str) -> InputTopics:
    if is_pattern(text):
        try:
            return InputTopics((), re.compile(text))
        except re.error as error:
            raise ConfigurationError(f"the input {text} is no regular expression: {error}") from error
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or any(map(is_pattern, names)):
        raise ConfigurationError(
            f"the input {text!r} is neither names separated by commas nor one pattern that begins with ^"
        )
    return InputTopics(names)
