"""Messages by which workers share their states, in JSON.

The key is `[group, worker]` for the state of a worker, which is null once it has stopped in order, and
`[group, worker, slot]` for a point of its history; slots repeat after an hour, so compaction keeps an hour.
"""

from dataclasses import dataclass, replace

import msgspec
import orjson

from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.history import SLOTS, slot_of
from dehusk.streams.monitoring.state import Counts, Point, State, Text
from dehusk.streams.sources.source import Record

_LAYOUT = 1
"""Layout of the values; others are refused."""
_MAX_BYTES = 1 << 16
_MAX_KEY_BYTES = 1 << 10
_MAX_REASON = 300
"""Characters of an error that are shared."""


@dataclass(frozen=True, slots=True)
class SharedState:
    """State of a worker, as others read it."""

    host: Text
    page: Text | None
    """URL of the worker's live page for others; None where it has none."""
    state: State


@dataclass(frozen=True, slots=True)
class SharedPoint:
    """Point of a worker's history, and its counts when the point was sent."""

    point: Point
    counts: Counts


@dataclass(frozen=True, slots=True)
class Shared:
    """Content of a message."""

    worker: str
    content: SharedState | SharedPoint | None
    """None where the worker has stopped."""


def state_record(group: str, worker: str, shared: SharedState) -> Record:
    """Return the record of a worker's state."""
    short = replace(shared, state=_shortened(shared.state))
    return Record(orjson.dumps([group, worker]), _value(short))


def point_record(group: str, worker: str, shared: SharedPoint) -> Record:
    """Return the record of a point of a worker's history."""
    return Record(orjson.dumps([group, worker, slot_of(shared.point.time) % SLOTS]), _value(shared))


def end_record(group: str, worker: str) -> Record:
    """Return the tombstone of a worker that stops."""
    return Record(orjson.dumps([group, worker]), None)


def read_shared(message: Message, group: str) -> Shared | None:
    """Read a message of the topic; return None if it is of another group, or has expired.

    Raises:
        ValueError: no worker of this version wrote it.
    """
    if len(message.key or b"") > _MAX_KEY_BYTES:
        raise ValueError("its key is long")
    key = orjson.loads(message.key or b"")
    match key:
        case [str(named), str(worker)] | [str(named), str(worker), int()]:
            return _read(worker, message.value, is_state=len(key) == 2) if named == group else None
        case _:
            raise ValueError("its key names no worker")


def _read(worker: str, value: bytes | None, *, is_state: bool) -> Shared | None:
    if value is None:
        return Shared(worker, None) if is_state else None
    if len(value) > _MAX_BYTES:
        raise ValueError(f"it has {len(value):,} bytes")
    fields = orjson.loads(value)  # unlike msgspec's own parser, it bounds the depth of unknown fields
    if not isinstance(fields, dict) or fields.get("layout") != _LAYOUT:
        raise ValueError(f"it is not of layout {_LAYOUT}")
    content = msgspec.convert(fields, SharedState) if is_state else msgspec.convert(fields, SharedPoint)
    return Shared(worker, content)


def _value(shared: SharedState | SharedPoint) -> bytes:
    fields = {name: getattr(shared, name) for name in shared.__slots__}
    return orjson.dumps({"layout": _LAYOUT, **fields})


def _shortened(state: State) -> State:
    return replace(
        state,
        hindrances=tuple(each[:_MAX_REASON] for each in state.hindrances),
        dependencies=tuple(replace(each, reason=each.reason[:_MAX_REASON]) for each in state.dependencies),
    )
