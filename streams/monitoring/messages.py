"""Messages by which workers share their states, in JSON.

The key is `[group, worker]` for the state of a worker, which is null once it has stopped in order, and
`[group, worker, slot]` for a point of its history; slots repeat after an hour, so compaction keeps an hour.
`["", "kind/reason/group"]` is the key of the latest drops of a reason. Versions that know none of it pass it
over as that of another group, since no group of Kafka has an empty name.
"""

from dataclasses import dataclass, replace

import msgspec
import orjson

from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.drops import Drop, Reason
from dehusk.streams.monitoring.history import SLOTS, slot_of
from dehusk.streams.monitoring.state import Counts, Point, State, Text
from dehusk.streams.sources.source import Record

_LAYOUT = 1
"""Layout of the values; others are refused."""
_MAX_BYTES = 1 << 16
_MAX_KEY_BYTES = 1 << 10
_NO_GROUP = ""
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
class SharedDrops:
    """Latest drops of a reason, of all workers of a group."""

    reason: Reason
    latest: tuple[Drop, ...]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Content of a message about a worker."""

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


def drops_record(group: str, shared: SharedDrops) -> Record:
    """Return the record of the latest drops of a reason."""
    key = orjson.dumps([_NO_GROUP, "/".join((*shared.reason, group))])
    return Record(key, orjson.dumps({"layout": _LAYOUT, "latest": shared.latest}))


def end_record(group: str, worker: str) -> Record:
    """Return the tombstone of a worker that stops."""
    return Record(orjson.dumps([group, worker]), None)


def read_shared(message: Message, group: str) -> Shared | SharedDrops | None:
    """Read a message of the topic; return None if it is of another group, or has expired.

    Raises:
        ValueError: no worker of this version wrote it.
    """
    if len(message.key or b"") > _MAX_KEY_BYTES:
        raise ValueError("its key is long")
    key = orjson.loads(message.key or b"")
    match key:
        case [str(named), str(about)] if named == _NO_GROUP:
            return _read_drops(about, message.value, group)
        case [str(named), str(worker)] | [str(named), str(worker), int()]:
            return _read(worker, message.value, is_state=len(key) == 2) if named == group else None
        case _:
            raise ValueError("its key names no worker")


def _read(worker: str, value: bytes | None, *, is_state: bool) -> Shared | None:
    if value is None:
        return Shared(worker, None) if is_state else None
    fields = _fields(value)
    content = msgspec.convert(fields, SharedState) if is_state else msgspec.convert(fields, SharedPoint)
    return Shared(worker, content)


def _read_drops(about: str, value: bytes | None, group: str) -> SharedDrops | None:
    match about.split("/", 2):
        case [kind, reason, named]:
            if named != group or value is None:
                return None
            latest = msgspec.convert(_fields(value).get("latest"), tuple[Drop, ...])
            return SharedDrops((kind, reason), latest)
        case _:
            raise ValueError("its key names no reason")


def _fields(value: bytes) -> dict[str, object]:
    """Parse a value of any kind.

    Raises:
        ValueError: no worker of this version wrote it.
    """
    if len(value) > _MAX_BYTES:
        raise ValueError(f"it has {len(value):,} bytes")
    fields = orjson.loads(value)  # unlike msgspec's own parser, it bounds the depth of unknown fields
    if not isinstance(fields, dict) or fields.get("layout") != _LAYOUT:
        raise ValueError(f"it is not of layout {_LAYOUT}")
    return fields


def _value(shared: SharedState | SharedPoint) -> bytes:
    fields = {name: getattr(shared, name) for name in shared.__slots__}
    return orjson.dumps({"layout": _LAYOUT, **fields})


def _shortened(state: State) -> State:
    return replace(
        state,
        hindrances=tuple(each[:_MAX_REASON] for each in state.hindrances),
        dependencies=tuple(replace(each, reason=each.reason[:_MAX_REASON]) for each in state.dependencies),
    )
