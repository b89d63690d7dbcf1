"""Messages of the control topic that commands write: the state of a roll-out, and claims.

orjson writes them, and msgspec reads them: it checks types and bounds, and ignores fields that it does not
know. So workers of several versions of dehusk can share a topic.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import msgspec
import orjson
from msgspec import Meta

from dehusk.schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"^[0-9]{1,18}\Z")
MAX_COUNT = (1 << 63) - 1
_MAX_NUMBER = sys.float_info.max
Version = Annotated[str, Meta(pattern=_VERSION.pattern)]
Share = Annotated[float, Meta(gt=0, le=1)]
Time = Annotated[datetime, Meta(tz=True)]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
PositiveCount = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
Number = Annotated[float, Meta(ge=0, le=_MAX_NUMBER)]
VersionRole = Literal["serving", "canary", "shadow", "previous"]
GIVE_UP_SECONDS = 86_400.0
"""Time after its hold for which a step of a promotion waits by default."""


def is_version(name: str) -> bool:
    """Return True if a name is a number of at most 18 digits, as versions of models are."""
    return _VERSION.match(name) is not None


class ControlMessage:
    """Value of a message, which is a dataclass."""

    __slots__ = ()
    described: ClassVar[str]
    """Words by which errors name it."""

    def encode(self) -> bytes:
        """Return it as JSON."""
        return orjson.dumps(self, option=orjson.OPT_NON_STR_KEYS)

    @classmethod
    def decode(cls, value: bytes) -> Self:
        """Return the one that JSON holds.

        Raises:
            ConfigurationError: it holds none; the message names the field.
        """
        try:
            return msgspec.json.decode(value, type=cls)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{cls.described} cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class Scope:
    """Model and group of a roll-out: each group is moved alone, and a worker labels with one model."""

    model: str
    group: str
    """Consumer group of the workers."""

    def __str__(self) -> str:
        return f"model {self.model} in group {self.group}"


@dataclass(frozen=True, slots=True)
class Part:
    """A version that is tried on a part of the crawl."""

    version: Version
    share: Share
    """Share of the sites that a canary labels, or of the micro-batches that a shadow labels as well."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits beyond which a worker takes a version back, by the figures of its group."""

    least_pages: PositiveCount = 200
    """Pages that both versions must have labeled before text and disagreement are compared."""
    least_failures: PositiveCount = 5
    """Failures before their share counts."""
    most_errors: Number = 0.02
    """Share of the pages that the version gave no answer for, although the trusted one did."""
    most_rejected: Number = 0.001
    """Share of the pages that it answered with NaN, or not with one probability per block."""
    most_latency: Number = 3.0
    """Time of most calls, as a multiple of that of the trusted version's call for the same pages."""
    least_kept: Number = 0.5
    """Words kept, as a multiple of the trusted version's."""
    most_kept: Number = 2.0
    """Words kept, as a multiple of the trusted version's; or words dropped, as a fraction of its."""
    most_disagreement: Number = 0.2
    """Share of the blocks that a shadow decides otherwise."""
    probation_seconds: Number = 600.0
    """Time after a promotion in which the version before is the trusted one, to which workers go back."""
    least_calls: PositiveCount = 200
    """Pairs of calls before their times count."""


@dataclass(frozen=True, slots=True)
class Change:
    """The last change of a state."""

    at: Time
    by: str
    """A user and host, or a worker."""
    reason: str
    taken_back: Version | None = None
    """Version that a worker has taken back by it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", _in_utc(self.at))


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps that a canary has yet to take before it serves; workers take them."""

    shares: tuple[Share, ...]
    """Shares of the sites after the canary's present one, each larger than the one before."""
    hold_seconds: Number
    """Least time at each share, the present one included."""
    since: Time
    """Time from which the present share is held: its begin, or the end of a pause."""
    is_paused: bool = False
    give_up_seconds: Number = GIVE_UP_SECONDS
    """Time after a hold from which workers pause the steps, if the next one cannot be taken."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "since", _in_utc(self.since))


@dataclass(frozen=True, slots=True)
class Rollout(ControlMessage):
    """The versions of a model that a group labels with; each change makes a new state."""

    described = "a state of a roll-out"

    revision: PositiveCount
    """One greater than that of the state before, from 1 on."""
    serving: Version
    """The version that labels what no canary labels."""
    change: Change
    previous: Version | None = None
    """The version that served before; None where it is not known, or was gone back from."""
    promoted_at: Time | None = None
    """Time of the serving version's promotion; None where it was gone back to or is the first one, and while
    the one before is a canary."""
    canary: Part | None = None
    shadow: Part | None = None
    limits: Limits = field(default_factory=Limits)
    steps: Steps | None = None
    """Steps of the canary; None where it stays as it is."""

    def __post_init__(self) -> None:
        if self.promoted_at is not None:
            object.__setattr__(self, "promoted_at", _in_utc(self.promoted_at))

    @property
    def versions(self) -> tuple[str, ...]:
        """Versions that are to label pages, the serving one first."""
        named = (self.serving, *(part.version for part in (self.canary, self.shadow) if part))
        return tuple(dict.fromkeys(named))

    @property
    def kept(self) -> set[str]:
        """Versions that it names, and the one that it goes back to."""
        return {*self.versions, *([self.previous] if self.previous else ())}

    def roles(self) -> Iterator[tuple[str, VersionRole, float | None]]:
        """Yield each version that it names or goes back to, its role, and the share of a canary or shadow."""
        yield self.serving, "serving", None
        if self.canary:
            yield self.canary.version, "canary", self.canary.share
        if self.shadow:
            yield self.shadow.version, "shadow", self.shadow.share
        if self.previous:
            yield self.previous, "previous", None

    def trusted(self, now: datetime) -> str | None:
        """Return the version before while the serving one is on probation, else None."""
        if self.promoted_at is None:
            return None
        on_probation = (now - self.promoted_at).total_seconds() < self.limits.probation_seconds
        return self.previous if on_probation else None


@dataclass(frozen=True, slots=True)
class Claim(ControlMessage):
    """Claim of a command on the versions of a model that are served, while it has others served."""

    described = "a claim"

    change: Change
    """The change that it is about to make."""
    until: Time
    """Time from which it is expired, as that of a command that was killed."""


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"no calendar has the time {time} in UTC") from error
