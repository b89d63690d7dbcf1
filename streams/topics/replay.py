"""Search of dead letters, and their replay: putting their messages back on their topics."""

from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.kafka.client import Topic, check_rights, describe_topics
from dehusk.streams.kafka.producer import Outgoing, send
from dehusk.streams.kafka.reader import read, record_time
from dehusk.streams.kafka.rights import Operation, Right
from dehusk.streams.settings import Compression, KafkaSettings
from dehusk.streams.topics.dead_letters import (
    DeadLetter,
    read_dead_letter,
    read_replay_mark,
    replay,
    replay_mark,
)


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """A selection of dead letters; None for any."""

    reason: str | None = None
    stage: str | None = None
    url: str | None = None
    """A part of the URL."""

    def matches(self, letter: DeadLetter) -> bool:
        """Return True if the letter is selected."""
        return (
            self.reason in (None, letter.reason)
            and self.stage in (None, letter.stage)
            and (self.url is None or self.url in (letter.url or ""))
        )


class Obstacle(StrEnum):
    """Reasons why a dead letter is not put back."""

    REPLAYED = "put back already"
    SUPERSEDED = "a later dead letter of the same message"
    REPLAYED_OFTEN = "replayed as often as allowed"
    NOT_WHOLE = "too large for the dead-letter topic, which holds no value of it"
    NO_TOPIC = "its topic does not exist any more"
    REFUSED = "too large for its topic"


_Planned = tuple[Origin, Outgoing | Obstacle]
"""The location of a letter, and what is to be sent of it, or why nothing is."""
SETTLED = frozenset({Obstacle.REPLAYED, Obstacle.SUPERSEDED})
"""Obstacles of letters whose message need not be dealt with any more."""


@dataclass(frozen=True, slots=True)
class FoundLetter:
    """A dead letter and its location on the dead-letter topic."""

    letter: DeadLetter
    location: Origin
    failed_at: datetime
    settled: Obstacle | None
    """One of `SETTLED`, or None if the message is yet to be dealt with."""


async def find_letters(
    kafka: KafkaSettings, topic: str, selection: LetterFilter
) -> AsyncGenerator[FoundLetter, None]:
    """Yield the letters that are on the topic now, in order per partition, and no records of another kind.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    history = await _read_history(kafka, topic)
    async with aclosing(read(kafka, topic)) as messages:
        async for message, milliseconds in messages:
            letter = read_dead_letter(message)
            if letter is not None and selection.matches(letter):
                location, time = origin_of(message), record_time(milliseconds)
                yield FoundLetter(letter, location, time, history.settled(letter, location, milliseconds))


@dataclass(slots=True)
class _History:
    """Failures and replays, as a topic tells them; it takes some 125 bytes of memory for each letter."""

    replayed: set[Origin] = field(default_factory=set)
    """The locations of letters that were put back."""
    latest: dict[int, int] = field(default_factory=dict)
    """Of each message, by its hash: the time of its latest letter, in milliseconds."""

    def add(self, letter: DeadLetter, milliseconds: int) -> None:
        """Take note of a letter."""
        message = _hash(letter)
        self.latest[message] = max(milliseconds, self.latest.get(message, milliseconds))

    def settled(self, letter: DeadLetter, location: Origin, milliseconds: int) -> Obstacle | None:
        """Return the reason why the letter need not be dealt with; None if it does."""
        if milliseconds < self.latest.get(_hash(letter), milliseconds):
            return Obstacle.SUPERSEDED
        return Obstacle.REPLAYED if location in self.replayed else None


def _hash(letter: DeadLetter) -> int:
    """Return a hash of a message and its replays; if its topic is made again, its place has another one."""
    return hash((letter.first_origin, letter.original.key, letter.original.value))


async def _read_history(kafka: KafkaSettings, topic: str) -> _History:
    history = _History()
    async for message, milliseconds in read(kafka, topic):
        letter = read_dead_letter(message)
        if letter is not None:
            history.add(letter, milliseconds)
        elif (replayed := read_replay_mark(message)) is not None:
            history.replayed.add(replayed)
    return history


@dataclass(slots=True)
class ReplayCounts:
    """Counts of the letters that were selected."""

    replayed: int = 0
    kept: Counter[Obstacle] = field(default_factory=Counter)


async def replay_letters(
    kafka: KafkaSettings,
    topic: str,
    wanted: LetterFilter,
    *,
    limit: int | None = None,
    most_replays: int = 3,
    again: bool = False,
    dry_run: bool = False,
    compression: Compression = "none",
) -> ReplayCounts:
    """Put the letters' original records back on the topics and partitions where they failed.

    A letter stays on its topic, and once all are put back, marks say so: it is not put back another time, but
    with `again`. A message that failed again after its replay, or was delivered twice, has several letters,
    of which only the latest is replayed; none is that was replayed `most_replays` times already.

    Raises:
        ConfigurationError: the topic does not exist, or the brokers refuse the user; what was put back before
            is marked.
        UnavailableError: the brokers do not answer.
    """
    counts = ReplayCounts()
    locations: deque[Origin] = deque()
    replayed: list[Origin] = []
    refusals: list[ConfigurationError] = []

    async def records() -> AsyncGenerator[Outgoing, None]:
        planned = 0
        async with aclosing(_plan(kafka, topic, wanted, most_replays, again=again)) as plan:
            async for location, outgoing in _until_refused(plan, refusals):
                if isinstance(outgoing, Obstacle):
                    counts.kept[outgoing] += 1
                    continue
                locations.append(location)
                yield outgoing
                planned += 1
                if planned == limit:
                    return

    await check_rights(kafka, [Right(operation, topic) for operation in (Operation.READ, Operation.WRITE)])
    async with aclosing(records()) as originals:
        if dry_run:
            counts.replayed = len([None async for _ in originals])
        else:
            async for sent in send(kafka, originals, compression):
                location = locations.popleft()
                if sent.refusal is None:
                    counts.replayed += 1
                    replayed.append(location)
                else:
                    counts.kept[Obstacle.REFUSED] += 1
    if replayed:
        await _mark(kafka, replayed)
    if refusals:
        raise refusals[0]
    return counts


async def _until_refused(
    plan: AsyncIterator[_Planned], refusals: list[ConfigurationError]
) -> AsyncGenerator[_Planned, None]:
    """Yield what is planned, up to what the brokers refuse; keep their error until the others are marked."""
    try:
        async for planned in plan:
            yield planned
    except ConfigurationError as refusal:
        refusals.append(refusal)


async def _mark(kafka: KafkaSettings, replayed: Sequence[Origin]) -> None:
    """Mark the letters at these locations, each on its partition, where the mark outlives the letter."""

    async def marks() -> AsyncIterator[Outgoing]:
        for location in replayed:
            yield Outgoing(location.topic, replay_mark(location), location.partition)

    async for _ in send(kafka, marks()):
        pass


async def _plan(
    kafka: KafkaSettings, topic: str, wanted: LetterFilter, most_replays: int, *, again: bool
) -> AsyncGenerator[_Planned, None]:
    """Yield for each selected letter its location and what is to be sent, or why nothing is."""
    sources: dict[str, Topic | None] = {}
    async with aclosing(find_letters(kafka, topic, wanted)) as letters:
        async for found in letters:
            settled = None if again and found.settled is Obstacle.REPLAYED else found.settled
            if settled:
                yield found.location, settled
                continue
            name = found.letter.origin.topic
            if name not in sources:
                sources[name] = (await describe_topics(kafka, [name], Operation.WRITE)).get(name)
            yield found.location, _decide(found.letter, sources[name], most_replays)


def _decide(letter: DeadLetter, source: Topic | None, most_replays: int) -> Outgoing | Obstacle:
    if letter.replays >= most_replays:
        return Obstacle.REPLAYED_OFTEN
    if not letter.is_whole:
        return Obstacle.NOT_WHOLE
    if source is None:
        return Obstacle.NO_TOPIC
    partition = letter.origin.partition if letter.origin.partition < source.partitions else None
    return Outgoing(source.name, replay(letter), partition)
