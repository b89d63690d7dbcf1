"""Which versions of a model label the pages of a group: the state of its roll-out, and its JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

import orjson

from dehusk.schemas.errors import ConfigurationError

Value = TypeVar("Value")
_LONGEST_VERSION = 18


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose roll-out it is: a group is moved alone, and a worker labels with one model."""

    model: str
    group: str
    """The consumer group of the workers."""

    def __str__(self) -> str:
        return f"model {self.model} in group {self.group}"


@dataclass(frozen=True, slots=True)
class Part:
    """A version that is tried on a part of the crawl."""

    version: str
    share: float
    """Of the sites that a canary labels, or of the micro-batches that a shadow labels, too; in (0, 1]."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Beyond which a worker takes a version back by itself, from what it has seen alone."""

    least_pages: int = 200
    """Pages that each version must have labeled before latency, text and disagreement are compared."""
    least_failures: int = 5
    """Failures before their share counts."""
    most_errors: float = 0.02
    """Share of the pages that the version gave no answer for, although the trusted one did."""
    most_rejected: float = 0.001
    """Share of the pages that it answered with NaN, or not with one probability per block."""
    most_latency: float = 3.0
    """The 99th percentile of the seconds of a call, as a multiple of the trusted version's."""
    least_kept: float = 0.5
    """The share of words kept, as a multiple of the trusted version's."""
    most_kept: float = 2.0
    most_disagreement: float = 0.2
    """Share of the blocks that a shadow decides otherwise."""
    probation_seconds: float = 600.0
    """How long after a promotion the version before is the trusted one, to which workers go back."""


@dataclass(frozen=True, slots=True)
class Change:
    """The last change of a state."""

    at: datetime
    by: str
    """A user and host, or a worker."""
    reason: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """The versions of a model that a group labels with; each change makes a new one."""

    revision: int
    """One greater than that of the state before, from 1 on."""
    serving: str
    """The version that labels what no canary labels."""
    change: Change
    previous: str | None = None
    """The version that served before; None where it is not known, or where it is the one gone back from."""
    promoted_at: datetime | None = None
    """When the serving version was promoted; None where it was gone back to, or is the first one."""
    canary: Part | None = None
    shadow: Part | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def versions(self) -> tuple[str, ...]:
        """Those that are named to label pages, the serving one first."""
        named = (self.serving, *(part.version for part in (self.canary, self.shadow) if part))
        return tuple(dict.fromkeys(named))

    @property
    def kept(self) -> set[str]:
        """Those that it names, and the one that it goes back to."""
        return {*self.versions, *([self.previous] if self.previous else ())}

    def trusted(self, now: datetime) -> str | None:
        """The version before, while the serving one is on probation; else None."""
        if self.promoted_at is None:
            return None
        on_probation = (now - self.promoted_at).total_seconds() < self.limits.probation_seconds
        return self.previous if on_probation else None

    def written(self) -> bytes:
        """The state as JSON."""
        return orjson.dumps(self)

    @classmethod
    def read(cls, value: bytes) -> Self:
        """The state that `written` gave, or that another version of dehusk wrote with more fields.

        Raises:
            ConfigurationError: it is none; the message names the field.
        """
        try:
            found = orjson.loads(value)
        except ValueError as error:
            raise ConfigurationError(f"a state of a roll-out is no JSON: {error}") from error
        return cls(
            revision=_field(_object(found, "it"), "revision", _positive),
            serving=_field(found, "serving", _version),
            change=_field(found, "change", _change),
            previous=_given(found, "previous", _optional(_version), None),
            promoted_at=_given(found, "promoted_at", _optional(_time), None),
            canary=_given(found, "canary", _optional(_part), None),
            shadow=_given(found, "shadow", _optional(_part), None),
            limits=_given(found, "limits", _limits, Limits()),
        )


def is_version(name: str) -> bool:
    """Whether it may name a version in a model repository."""
    return name.isascii() and name.isdecimal() and len(name) <= _LONGEST_VERSION


def _field(found: Mapping[str, Any], name: str, read: Callable[[Any], Value]) -> Value:
    """A field of an object as it is read.

    Raises:
        ConfigurationError: it is missing, or not what it has to be.
    """
    try:
        return read(found[name])
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise ConfigurationError(f"a state of a roll-out has no valid {name!r}: {error}") from error


def _given(found: Mapping[str, Any], name: str, read: Callable[[Any], Value], default: Value) -> Value:
    """A field of an object that may be missing."""
    return _field(found, name, read) if name in found else default


def _object(found: object, name: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise ConfigurationError(f"a state of a roll-out is no JSON object: {name} is {type(found).__name__}")
    return found


def _optional(read: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    return lambda found: None if found is None else read(found)


def _version(found: object) -> str:
    if not isinstance(found, str) or not is_version(found):
        raise ValueError(f"{found!r} is no version number")
    return found


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError(f"{found!r} is no text")
    return found


def _number(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float) or found < 0:
        raise ValueError(f"{found!r} is no number from 0 on")
    return float(found)


def _positive(found: object) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise ValueError(f"{found!r} is no whole number from 1 on")
    return found


def _share(found: object) -> float:
    share = _number(found)
    if not 0 < share <= 1:
        raise ValueError(f"{share} is not in (0, 1]")
    return share


def _part(found: object) -> Part:
    part = _object(found, "a part")
    return Part(_field(part, "version", _version), _field(part, "share", _share))


def _time(found: object) -> datetime:
    time = datetime.fromisoformat(_text(found))
    if time.tzinfo is None:
        raise ValueError(f"{found} has no time zone")
    return time.astimezone(UTC)


def _change(found: object) -> Change:
    change = _object(found, "change")
    return Change(_field(change, "at", _time), _field(change, "by", _text), _field(change, "reason", _text))


def _limits(found: object) -> Limits:
    given = _object(found, "limits")
    default = Limits()
    read = {
        each.name: _given(
            given,
            each.name,
            _positive if isinstance(getattr(default, each.name), int) else _number,
            getattr(default, each.name),
        )
        for each in fields(Limits)
    }
    return Limits(**read)
