"""The probe of topics: a sample of their messages, prepared as a worker would, without touching them."""

from dataclasses import dataclass
from functools import partial
from typing import cast

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Message
from dehusk.streams.kafka.client import Topic, describe_worker_topics, missing_topics, open_client
from dehusk.streams.kafka.reader import read
from dehusk.streams.kafka.rights import Right, missing_rights, worker_rights
from dehusk.streams.preparation.pool import PreparationPool, open_pool
from dehusk.streams.probe.messages import (
    Finding,
    Preparation,
    Prepared,
    ProbeOutcome,
    Recognised,
    Recognition,
    finding,
    open_prober,
)
from dehusk.streams.settings import Guarantee, KafkaSettings, PageLimits, TopicSettings
from dehusk.streams.sources.registry import FORMATS, SourceSettings


@dataclass(frozen=True, slots=True)
class ProbedMessage:
    """One message of the sample."""

    topic: str
    partition: int
    offset: int
    bytes: int
    format: str | None
    """The crawler format that recognises it, several as `json or cdr`; None if none does."""
    framed: bool
    """True if it is framed by a schema registry, and what is in the frame can be read."""
    findings: tuple[Finding, ...]
    is_tombstone: bool = False
    """True if its value is null, which says that the page of its key is gone."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A sample of topics, and the topics that a worker on them would still need."""

    topics: tuple[Topic, ...]
    messages: tuple[ProbedMessage, ...]
    missing: tuple[Topic, ...]
    """The topics that the worker is to write to and that do not exist yet."""
    denied: tuple[Right, ...] = ()
    """The rights that a worker needs and the user lacks."""

    @property
    def format(self) -> str | None:
        """The format of all messages whose format is known; None if there are several."""
        formats = {message.format for message in self.messages if message.format}
        return formats.pop() if len(formats) == 1 and formats.issubset(FORMATS) else None

    @property
    def framed(self) -> bool:
        """True if every value of the sample is framed; a tombstone has none."""
        framed = [message.framed for message in self.messages if not message.is_tombstone]
        return bool(framed) and all(framed)

    @property
    def reasons_against(self) -> list[str]:
        """The reasons if every message but tombstones would become a dead letter; empty if one would not."""
        findings = [finding for message in self.messages for finding in message.findings]
        others = [each for each in findings if each.verdict is not ProbeOutcome.TOMBSTONE]
        if any(each.verdict is not ProbeOutcome.DEAD_LETTER for each in others):
            return []
        return sorted({(each.why or "").partition(":")[0] for each in others})


async def probe(
    kafka: KafkaSettings,
    topics: TopicSettings,
    source: str,
    source_settings: SourceSettings,
    delivery: Guarantee = Guarantee.AT_LEAST_ONCE,
    *,
    sample: int,
    limits: PageLimits,
) -> Probe:
    """Read the newest messages of the input topics, in no group, and prepare them as a worker would.

    Raises:
        ConfigurationError: a topic does not exist or may not be read, or the source's settings do not fit.
        UnavailableError: the brokers do not answer.
    """
    found = await describe_worker_topics(kafka, topics)
    open_one = partial(open_prober, source, source_settings, limits.max_blocks)
    probed = []
    async with open_pool(open_one, 1, limits) as pool:
        async for message, _ in read(kafka, *(topic.name for topic in found.inputs), newest=sample):
            probed.append(await probe_message(pool, message, source if source in FORMATS else None))
    largest = max((message.bytes for message in probed), default=0)
    probed.sort(key=lambda message: (message.topic, message.partition, message.offset))
    in_transactions = delivery is Guarantee.EXACTLY_ONCE
    rights = worker_rights(topics, [topic.name for topic in found.inputs], in_transactions=in_transactions)
    async with open_client(kafka) as client:
        denied = await missing_rights(client, rights)
    unknown = {right.name for right in denied}
    missing = [topic for topic in missing_topics(topics, found, largest) if topic.name not in unknown]
    return Probe(found.inputs, tuple(probed), tuple(missing), tuple(denied))


async def probe_message(pool: PreparationPool, message: Message, declared: str | None) -> ProbedMessage:
    """Tell what would become of a message; one that its process fails at is a dead letter.

    Args:
        pool: its processes were opened by `open_prober`.
        message: it may be of any kind.
        declared: the format that all messages are said to be of.
    """
    prepared = await pool.answer_alone(Preparation(message))
    if not isinstance(prepared, Prepared):
        prepared = Prepared((finding(cast("Broken", prepared)),))
    recognised = await pool.answer_alone(Recognition(message))
    if not isinstance(recognised, Recognised):
        recognised = Recognised()
    format_ = None if prepared.is_of_another_format or message.value is None else declared
    return ProbedMessage(
        message.topic,
        message.partition,
        message.offset,
        len(message.key or b"") + len(message.value or b""),
        format_ or " or ".join(recognised.formats) or None,
        recognised.framed,
        prepared.findings,
        message.value is None,
    )
