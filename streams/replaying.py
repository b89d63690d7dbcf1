"""Dead letters found again: which ones are there, and which can be put back on their topic."""

from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from dehusk.schemas.documents import Origin
from dehusk.schemas.pages import Message
from dehusk.streams.consuming import read
from dehusk.streams.dead_letters import DeadLetter, read_dead_letter, read_replay_mark, replay, replay_mark
from dehusk.streams.kafka import Topic, describe_topics
from dehusk.streams.producing import Outgoing, send
from dehusk.streams.settings import Compression, KafkaSettings


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which dead letters are meant; None for any."""

    reason: str | None = None
    stage: str | None = None
    url: str | None = None
    """A part of the URL."""

    def matches(self, letter: DeadLetter) -> bool:
        """Whether the letter is meant."""
        return (
            self.reason in (None, letter.reason)
            and self.stage in (None, letter.stage)
            and (self.url is None or self.url in (letter.url or ""))
        )


class Obstacle(StrEnum):
    """Why a dead letter is not put back."""

    REPLAYED = "put back already"
    SUPERSEDED = "a later dead letter of the same message"
    REPLAYED_OFTEN = "replayed as often as allowed"
    NOT_WHOLE = "too large for the dead-letter topic, which holds no value of it"
    NO_TOPIC = "its topic does not exist any more"
    REFUSED = "too large for its topic"


SETTLED = frozenset({Obstacle.REPLAYED, Obstacle.SUPERSEDED})
"""Of letters whose message is no more to be dealt with by them."""


@dataclass(frozen=True, slots=True)
class FoundLetter:
    """A dead letter and its location on the dead-letter topic."""

    letter: DeadLetter
    location: Origin
    failed_at: datetime
    settled: Obstacle | None
    """One of `SETTLED`, or None where the message is yet to be dealt with."""


async def find_letters(kafka: KafkaSettings, topic: str, wanted: Wanted) -> AsyncGenerator[FoundLetter, None]:
    """The letters that are on the topic now, in order per partition; records of another kind are passed over.

    Raises:
        ConfigurationError: the topic does not exist, or may not be read.
        UnavailableError: the brokers do not answer.
    """
    history = await _read_history(kafka, topic)
    async with aclosing(read(kafka, topic)) as messages:
        async for message, milliseconds in messages:
            letter = read_dead_letter(message)
            if letter is not None and wanted.matches(letter):
                location, time = _location(message), datetime.fromtimestamp(milliseconds / 1000, UTC)
                yield FoundLetter(letter, location, time, history.settled(letter, location))


@dataclass(slots=True)
class _History:
    """What a topic tells of replays."""

    replayed: set[Origin] = field(default_factory=set)
    """The locations of letters that were put back."""
    latest: dict[Origin, tuple[int, Origin]] = field(default_factory=dict)
    """Of each message that failed again after a replay: its replays, and where its latest letter is."""

    def add(self, letter: DeadLetter, location: Origin) -> None:
        """Take note of a letter, where its message was replayed before."""
        before, _ = self.latest.get(letter.first_origin, (1, location))
        if letter.replays >= before:
            self.latest[letter.first_origin] = (letter.replays, location)

    def settled(self, letter: DeadLetter, location: Origin) -> Obstacle | None:
        """Why the letter need not be dealt with."""
        _, latest = self.latest.get(letter.first_origin, (0, location))
        if latest != location:
            return Obstacle.SUPERSEDED
        return Obstacle.REPLAYED if location in self.replayed else None


async def _read_history(kafka: KafkaSettings, topic: str) -> _History:
    history = _History()
    async for message, _ in read(kafka, topic):
        letter = read_dead_letter(message)
        if letter is not None:
            history.add(letter, _location(message))
        elif (replayed := read_replay_mark(message)) is not None:
            history.replayed.add(replayed)
    return history


def _location(message: Message) -> Origin:
    return Origin(message.topic, message.partition, message.offset)


@dataclass(slots=True)
class ReplayCounts:
    """What became of the letters that were meant."""

    replayed: int = 0
    kept: Counter[Obstacle] = field(default_factory=Counter)


async def replay_letters(
    kafka: KafkaSettings,
    topic: str,
    wanted: Wanted,
    *,
    limit: int | None = None,
    most_replays: int = 3,
    again: bool = False,
    dry_run: bool = False,
    compression: Compression = "none",
) -> ReplayCounts:
    """Put the letters' original records back on the topics and partitions where they failed.

    A letter stays on its topic, and once all are put back, marks say so: it is not put back another time, but
    with `again`. A message that failed, was replayed and failed again has two letters, of which only the
    latest is replayed; none is that was replayed `most_replays` times already.

    Raises:
        ConfigurationError: the topic does not exist, or the brokers refuse the user.
        UnavailableError: the brokers do not answer.
    """
    counts = ReplayCounts()
    locations: deque[Origin] = deque()
    replayed: list[Origin] = []

    async def records() -> AsyncIterator[Outgoing]:
        planned = 0
        async with aclosing(_plan(kafka, topic, wanted, most_replays, again=again)) as plan:
            async for location, outgoing in plan:
                if isinstance(outgoing, Obstacle):
                    counts.kept[outgoing] += 1
                    continue
                locations.append(location)
                yield outgoing
                planned += 1
                if planned == limit:
                    return

    if dry_run:
        async for _ in records():
            counts.replayed += 1
        return counts
    async for sent in send(kafka, records(), compression):
        location = locations.popleft()
        if sent.refusal is None:
            counts.replayed += 1
            replayed.append(location)
        else:
            counts.kept[Obstacle.REFUSED] += 1
    await _mark(kafka, replayed)
    return counts


async def _mark(kafka: KafkaSettings, replayed: Sequence[Origin]) -> None:
    """Marks the letters at these locations, each on its partition, where the mark outlives the letter."""

    async def marks() -> AsyncIterator[Outgoing]:
        for location in replayed:
            yield Outgoing(location.topic, replay_mark(location), location.partition)

    async for _ in send(kafka, marks()):
        pass


async def _plan(
    kafka: KafkaSettings, topic: str, wanted: Wanted, most_replays: int, *, again: bool
) -> AsyncGenerator[tuple[Origin, Outgoing | Obstacle], None]:
    """For each letter that is meant, its location and what is to be sent, or why nothing is."""
    sources: dict[str, Topic | None] = {}
    async with aclosing(find_letters(kafka, topic, wanted)) as letters:
        async for found in letters:
            name = found.letter.origin.topic
            if name not in sources:
                sources[name] = (await describe_topics(kafka, [name])).get(name)
            settled = None if again and found.settled is Obstacle.REPLAYED else found.settled
            yield found.location, settled or _decide(found.letter, sources[name], most_replays)


def _decide(letter: DeadLetter, source: Topic | None, most_replays: int) -> Outgoing | Obstacle:
    if letter.replays >= most_replays:
        return Obstacle.REPLAYED_OFTEN
    if not letter.is_whole:
        return Obstacle.NOT_WHOLE
    if source is None:
        return Obstacle.NO_TOPIC
    partition = letter.origin.partition if letter.origin.partition < source.partitions else None
    return Outgoing(source.name, replay(letter), partition)
