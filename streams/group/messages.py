"""The messages by which workers share their figures, all of them JSON.

The key is `[group, worker]` for the state of a worker, which is null once it has stopped in order, and
`[group, worker, slot]` for a point of its history; slots repeat after an hour, so compaction keeps an hour.
"""

from dataclasses import dataclass, replace

import orjson

from dehusk.schemas.pages import Message
from dehusk.streams.group.figures import DependencyState, SharedPoint, SharedState, State
from dehusk.streams.group.parsing import parsed
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.live.history import SLOTS, slot_of

_LAYOUT = 1
"""Of the values; workers take no notice of others."""
_MOST_BYTES = 1 << 16
_MOST_KEY_BYTES = 1 << 10
_SHOWN = 300
"""Characters of what is said of errors."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What a message says of a worker."""

    group: str
    worker: str
    content: SharedState | SharedPoint | None
    """None where the worker has stopped."""


def state_record(group: str, worker: str, shared: SharedState) -> Record:
    """The record of a worker's state."""
    short = replace(shared, state=_shortened(shared.state))
    return Record(orjson.dumps([group, worker]), _value(short))


def point_record(group: str, worker: str, shared: SharedPoint) -> Record:
    """The record of a point of its history."""
    return Record(orjson.dumps([group, worker, slot_of(shared.point.time) % SLOTS]), _value(shared))


def end_record(group: str, worker: str) -> Record:
    """The tombstone of a worker that stops."""
    return Record(orjson.dumps([group, worker]), None)


def read_shared(message: Message, group: str) -> Shared | None:
    """What a message says of a worker of the group; None where it is of another group, or has expired.

    Raises:
        ValueError: no worker of this version wrote it.
    """
    if len(message.key or b"") > _MOST_KEY_BYTES:
        raise ValueError("its key is long")
    key = orjson.loads(message.key or b"")
    match key:
        case [str(named), str(worker)] | [str(named), str(worker), int()]:
            return _read(named, worker, message.value, is_state=len(key) == 2) if named == group else None
        case _:
            raise ValueError("its key names no worker")


def _read(group: str, worker: str, value: bytes | None, *, is_state: bool) -> Shared | None:
    if value is None:
        return Shared(group, worker, None) if is_state else None
    if len(value) > _MOST_BYTES:
        raise ValueError(f"it has {len(value):,} bytes")
    fields = orjson.loads(value)
    if not isinstance(fields, dict) or fields.get("layout") != _LAYOUT:
        raise ValueError(f"it is not of layout {_LAYOUT}")
    content = parsed(SharedState, fields) if is_state else parsed(SharedPoint, fields)
    return Shared(group, worker, content)


def _value(shared: SharedState | SharedPoint) -> bytes:
    fields = {name: getattr(shared, name) for name in shared.__slots__}
    return orjson.dumps({"layout": _LAYOUT, **fields})


def _shortened(state: State) -> State:
    """Without long words about errors."""
    return replace(
        state,
        hindrances=tuple(each[:_SHOWN] for each in state.hindrances),
        dependencies=tuple(_shortened_dependency(each) for each in state.dependencies),
    )


def _shortened_dependency(dependency: DependencyState) -> DependencyState:
    return replace(dependency, reason=dependency.reason[:_SHOWN])
