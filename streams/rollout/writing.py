"""Making a state of a roll-out the current one, unless somebody else was faster."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from dehusk.schemas.errors import ConfigurationError, ConflictError
from dehusk.schemas.rollout import Rollout, Scope
from dehusk.streams.consuming import read
from dehusk.streams.producing import Outgoing, send
from dehusk.streams.rollout.control import Control
from dehusk.streams.rollout.keys import ControlKey
from dehusk.streams.rollout.reading import read_control
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record

_HEADERS = (("content-type", b"application/json"),)


async def change_state(kafka: KafkaSettings, topic: str, scope: Scope, state: Rollout) -> None:
    """Write a state, whose revision is one greater than that of the state it was made from.

    Kafka writes whatever comes, so the topic is read again behind it: of two states of a revision the first
    counts, also where a further one has followed already. The other one would outlive those that count when
    the topic is compacted, so who wrote that writes the current one once more.

    Raises:
        ConflictError: the current state is another one than it was made from.
        ConfigurationError: the topic does not exist, or refuses the record.
        UnavailableError: the brokers do not answer; the state may have been written.
    """
    before = (await read_control(kafka, topic)).states.get(scope)
    if (before.revision if before else 0) != state.revision - 1:
        raise _conflict(scope, before)
    await _write(kafka, topic, scope, state)
    was_current, after = await _read_again(kafka, topic, scope, state)
    if was_current:
        return
    if after is not None:
        await _write(kafka, topic, scope, after)
    raise _conflict(scope, after)


async def _read_again(
    kafka: KafkaSettings, topic: str, scope: Scope, state: Rollout
) -> tuple[bool, Rollout | None]:
    """Whether a state was the current one at any time, and the one that is."""
    control, was_current = Control(), False
    async with aclosing(read(kafka, topic)) as messages:
        async for message, time in messages:
            if control.take(message, time) == scope:
                was_current = was_current or control.states.get(scope) == state
    return was_current, control.states.get(scope)


async def _write(kafka: KafkaSettings, topic: str, scope: Scope, state: Rollout) -> None:
    async def records() -> AsyncIterator[Outgoing]:
        yield Outgoing(topic, state_record(scope, state))

    async for sent in send(kafka, records()):
        if sent.refusal is not None:
            raise ConfigurationError(sent.refusal)


def state_record(scope: Scope, state: Rollout) -> Record:
    """The record of a state."""
    return Record(ControlKey(scope).written(), state.written(), _HEADERS)


def _conflict(scope: Scope, current: Rollout | None) -> ConflictError:
    if current is None:
        return ConflictError(f"the roll-out of {scope} was removed meanwhile; look at it and try again")
    change = current.change
    return ConflictError(
        f"the roll-out of {scope} was changed meanwhile by {change.by} ({change.reason}, revision "
        f"{current.revision}); look at it and try again"
    )
