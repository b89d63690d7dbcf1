"""The keys of the control topic: of the state of a roll-out, and of what a worker reports of it."""

from dataclasses import dataclass
from urllib.parse import quote, unquote

from dehusk.schemas.rollout import Scope

_STATE, _WORKER = "state", "worker"


@dataclass(frozen=True, slots=True)
class ControlKey:
    """What a record of the control topic is about."""

    scope: Scope
    worker: str | None = None
    """The worker that reports; None for the state."""

    def written(self) -> bytes:
        """`state/MODEL/GROUP` or `worker/MODEL/GROUP/WORKER`, each part quoted as in a URL."""
        kind = _STATE if self.worker is None else _WORKER
        parts = (self.scope.model, self.scope.group, *([self.worker] if self.worker else ()))
        return "/".join([kind, *(quote(part, safe="") for part in parts)]).encode()


def read_key(key: bytes | None) -> ControlKey | None:
    """What a record is about, or None where it is about something else."""
    kind, *parts = map(unquote, (key or b"").decode("utf-8", "replace").split("/"))
    if kind == _STATE and len(parts) == 2:
        return ControlKey(Scope(*parts))
    if kind == _WORKER and len(parts) == 3:
        return ControlKey(Scope(*parts[:2]), parts[2])
    return None
