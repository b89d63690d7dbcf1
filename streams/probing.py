"""What a worker would make of topics, found out without touching them."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from schemas.errors import UnavailableError
from schemas.outcomes import Broken, BrokenReason, Skipped, Tombstone
from schemas.pages import Message, RawPage
from streams.consuming import read
from streams.kafka import Topic, describe_worker_topics, missing_topics
from streams.preparation.isolation import open_pool
from streams.preparation.preparation import Outcome, Outcomes, PackedPage, Postponed
from streams.settings import KafkaSettings, PageLimits, TopicSettings
from streams.sources.auto import possible_formats
from streams.sources.confluent import is_framed
from streams.sources.registry import FORMATS, SourceSettings, open_registry, open_source


class Verdict(StrEnum):
    """What a message, or one page of it, would become."""

    PAGE = "page"
    SKIPPED = "skipped"
    DEAD_LETTER = "dead letter"
    TOMBSTONE = "tombstone"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Finding:
    """What would become of one page of a message."""

    verdict: Verdict
    why: str | None = None
    """The reason and the detail, where it would not be cleaned."""
    url: str | None = None
    encoding: str | None = None
    """The WHATWG name of the encoding that the page was decoded from."""
    html_bytes: int | None = None
    blocks: int | None = None
    """Text blocks that segmentation finds."""


@dataclass(frozen=True, slots=True)
class ProbedMessage:
    """One message of the sample."""

    topic: str
    partition: int
    offset: int
    bytes: int
    format: str | None
    """The crawler format that recognises it, those that do as `json or cdr`; None where none does."""
    framed: bool
    """Whether it is framed by a schema registry, and what is in the frame can be read."""
    findings: tuple[Finding, ...]

    @property
    def is_tombstone(self) -> bool:
        """Whether it has no value, but says that the page of its key is gone."""
        return any(finding.verdict is Verdict.TOMBSTONE for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Probe:
    """A sample of topics, and what a worker on them would still need."""

    topics: tuple[Topic, ...]
    messages: tuple[ProbedMessage, ...]
    missing: tuple[Topic, ...]
    """The output and dead-letter topics that do not exist yet."""

    @property
    def format(self) -> str | None:
        """The format of all messages whose format is known; None where there are several."""
        formats = {message.format for message in self.messages if message.format}
        return formats.pop() if len(formats) == 1 and formats.issubset(FORMATS) else None

    @property
    def framed(self) -> bool:
        """Whether every value of the sample is framed; a tombstone has none."""
        framed = [message.framed for message in self.messages if not message.is_tombstone]
        return bool(framed) and all(framed)


async def probe(
    kafka: KafkaSettings,
    topics: TopicSettings,
    source: str,
    source_settings: SourceSettings,
    *,
    sample: int,
    limits: PageLimits,
) -> Probe:
    """Reads the newest messages of the input topics, in no group, and prepares them as a worker would.

    Raises:
        ConfigurationError: a topic does not exist or may not be read, or the source's settings do not fit.
        UnavailableError: the brokers do not answer.
    """
    found = await describe_worker_topics(kafka, topics)
    prober = _Prober(source, source_settings)
    probed = []
    async with open_pool(partial(open_source, source, source_settings), 1, limits) as pool:
        async for message, _ in read(kafka, *(topic.name for topic in found.inputs), newest=sample):
            outcomes = await pool.prepare_alone(message)
            probed.append(prober.probed(message, outcomes))
    largest = max((message.bytes for message in probed), default=0)
    probed.sort(key=lambda message: (message.topic, message.partition, message.offset))
    return Probe(found.inputs, tuple(probed), tuple(missing_topics(topics, found, largest)))


class _Prober:
    """Tells of a message what its outcomes do not: its format and its encodings."""

    def __init__(self, source: str, settings: SourceSettings) -> None:
        self._source = open_source(source, settings)
        self._formats = [open_source(name, settings) for name in FORMATS]
        self._registry = open_registry(settings)

    def probed(self, message: Message, outcomes: Outcomes) -> ProbedMessage:
        return ProbedMessage(
            message.topic,
            message.partition,
            message.offset,
            len(message.key or b"") + len(message.value or b""),
            self._format(message, outcomes),
            is_framed(message, self._registry),
            tuple(self._findings(message, outcomes)),
        )

    def _findings(self, message: Message, outcomes: Outcomes) -> Iterator[Finding]:
        if isinstance(outcomes, Postponed):
            yield Finding(Verdict.WAITS, outcomes.detail)
            return
        prepared = any(isinstance(outcome, PackedPage) for outcome in outcomes)
        pages = self._source.decode(message) if prepared else ()
        for place, outcome in enumerate(outcomes):
            page = pages[place] if place < len(pages) else None
            yield _finding(outcome, page.encoding if isinstance(page, RawPage) else None)

    def _format(self, message: Message, outcomes: Outcomes) -> str | None:
        """The declared format, if the message is of it; else what recognises it."""
        if message.value is None:
            return None
        if self._source.name in FORMATS and not _is_of_another(outcomes):
            return self._source.name
        with suppress(UnavailableError):
            return " or ".join(each.name for each in possible_formats(self._formats, message)) or None
        return None


def _is_of_another(outcomes: Outcomes) -> bool:
    return not isinstance(outcomes, Postponed) and any(
        isinstance(outcome, Broken) and outcome.reason is BrokenReason.WRONG_FORMAT for outcome in outcomes
    )


def _finding(outcome: Outcome, encoding: str | None) -> Finding:
    match outcome:
        case PackedPage(identity, encoded):
            return Finding(Verdict.PAGE, None, identity.url, encoding, identity.raw_length, len(encoded))
        case Tombstone():
            return Finding(Verdict.TOMBSTONE)
        case Skipped(reason, detail, url):
            return Finding(Verdict.SKIPPED, f"{reason}: {detail}", url)
        case Broken(reason, detail, url):
            return Finding(Verdict.DEAD_LETTER, f"{reason}: {detail}", url)
