"""The topics that a worker reads: named ones, or all that match a pattern, also those created later."""

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
        """Return True if a topic of this name is read."""
        return name in self.names if self.pattern is None else self.pattern.match(name) is not None

    def among(self, names: Iterable[str]) -> list[str]:
        """Return those of the names that are read, sorted."""
        return sorted(name for name in names if self.match(name))


def input_topics(topics: TopicSettings) -> InputTopics:
    """Parse the input of a worker.

    Raises:
        ConfigurationError: it is no pattern and no names, or the worker would read what it writes.
    """
    inputs = _parse(topics.input)
    options = _options(topics)
    for own in inputs.among(topics.written):
        advice = f"; a pattern that begins with ^(?!{own}$) leaves it out" if inputs.pattern else ""
        raise ConfigurationError(
            f"the input {topics.input} holds {own}, which the worker writes to ({options[own]}){advice}"
        )
    return inputs


def _options(topics: TopicSettings) -> dict[str, str]:
    """Return the option that names each topic which a worker writes to.

    Raises:
        ConfigurationError: two name the same.
    """
    written = {
        "--output": topics.output,
        "--dead-letters": topics.dead_letters,
        "--unsure-topic": topics.unsure,
        "--revisit-topic": topics.revisits,
        "--audit-topic": topics.audit,
        "--monitoring-topic": topics.monitoring,
        "--control-topic": topics.control,
    }
    options: dict[str, str] = {}
    for option, topic in written.items():
        if topic in options:
            raise ConfigurationError(
                f"{option} needs a topic of its own, and {topic} is that of {options[topic]}"
            )
        if topic is not None:
            options[topic] = option
    return options


def is_pattern(text: str) -> bool:
    """Return True if an input is a pattern; commas in it belong to it."""
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
