"""What workers see of the versions that they label with, and tell each other on the control topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import log2
from typing import Any, Self

import orjson

from dehusk.schemas.errors import ConfigurationError

_PER_DOUBLING = 4
"""Buckets of time for each doubling: a bucket is 19 % longer than the one before."""
MOST_EXAMPLES = 8
"""Of what a shadow decides otherwise, in one report."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How a version labeled pages; those of several workers can be added."""

    pages: int = 0
    """Pages that it was asked for."""
    errors: int = 0
    """Those that it gave no answer for, although another version did."""
    rejected: int = 0
    """Those that it answered with what are no probabilities."""
    words: int = 0
    """Of the pages that it labeled."""
    kept: int = 0
    """Words that its own probabilities keep, before the correction by the site."""
    calls: Mapping[int, int] = field(default_factory=dict)
    """How many calls took how long, by the bucket of their time."""

    def __add__(self, other: Figures) -> Figures:
        calls = {
            bucket: self.calls.get(bucket, 0) + other.calls.get(bucket, 0)
            for bucket in (*self.calls, *other.calls)
        }
        return Figures(
            self.pages + other.pages,
            self.errors + other.errors,
            self.rejected + other.rejected,
            self.words + other.words,
            self.kept + other.kept,
            calls,
        )

    @property
    def labeled(self) -> int:
        """Pages that it labeled."""
        return self.pages - self.errors - self.rejected

    @property
    def kept_share(self) -> float:
        """The share of words that are kept; 0 where there are none."""
        return self.kept / self.words if self.words else 0.0

    def seconds(self, share: float) -> float:
        """The time within which this share of the calls ended, to a fifth of it; 0 without calls."""
        least, passed = share * sum(self.calls.values()), 0
        for bucket in sorted(self.calls):
            passed += self.calls[bucket]
            if passed >= least:
                return float(2.0 ** (bucket / _PER_DOUBLING))
        return 0.0


def bucket_of(seconds: float) -> int:
    """The bucket of a time, the number of its upper bound."""
    return -int(-_PER_DOUBLING * log2(max(seconds, 1e-6)) // 1)


@dataclass(frozen=True, slots=True)
class Example:
    """A block that two versions decide differently."""

    url: str
    text: str
    """Of the block, shortened."""
    serving: float
    """The probability of content that the version gave that labels the page."""
    shadow: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A shadow beside the versions that label, on the same pages."""

    serving: Figures = field(default_factory=Figures)
    shadow: Figures = field(default_factory=Figures)
    blocks: int = 0
    """Of the pages that both labeled."""
    differing: int = 0
    """Those that one keeps and the other does not, before the correction by the site."""
    missed: int = 0
    """Pages of the sample that were not compared, as the shadow was behind."""
    examples: tuple[Example, ...] = ()
    """The latest of what differs."""

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(
            self.serving + other.serving,
            self.shadow + other.shadow,
            self.blocks + other.blocks,
            self.differing + other.differing,
            self.missed + other.missed,
            (*self.examples, *other.examples)[-MOST_EXAMPLES:],
        )

    @property
    def disagreement(self) -> float:
        """The share of blocks that differ; 0 where there are none."""
        return self.differing / self.blocks if self.blocks else 0.0


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What one worker labels with, and what it has seen since the roll-out was last changed."""

    worker: str
    revision: int
    """Of the state that it follows, but for the versions that it refuses; 0 for none."""
    serving: str
    """The version that labels its pages; empty where none has answered yet."""
    canary: str | None = None
    shadow: str | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    """The versions of the state that it does not label with, each with the reason."""
    figures: Mapping[str, Figures] = field(default_factory=dict)
    """Of the versions that label pages."""
    comparison: Comparison | None = None
    """Of the shadow."""

    def written(self) -> bytes:
        """The report as JSON."""
        return orjson.dumps(self, option=orjson.OPT_NON_STR_KEYS)

    @classmethod
    def read(cls, value: bytes) -> Self:
        """The report that `written` gave, or that another version of dehusk wrote with more fields.

        Raises:
            ConfigurationError: it is none.
        """
        try:
            found = _known(cls, orjson.loads(value))
            figures = {version: _figures(each) for version, each in found.pop("figures", {}).items()}
            compared = found.pop("comparison", None)
            comparison = None if compared is None else _comparison(compared)
            return cls(**found, figures=figures, comparison=comparison)
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError) as error:
            raise ConfigurationError(f"a worker's report cannot be read: {error}") from error


def total(comparisons: Iterable[Comparison | None]) -> Comparison | None:
    """The comparisons of several workers together; None where there are none."""
    found = [each for each in comparisons if each is not None]
    return sum(found[1:], found[0]) if found else None


def _known(kind: Any, found: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 the class of any dataclass
    return {each.name: found[each.name] for each in fields(kind) if each.name in found}


def _figures(found: Mapping[str, Any]) -> Figures:
    known = _known(Figures, found)
    calls = {int(bucket): int(count) for bucket, count in known.pop("calls", {}).items()}
    return Figures(**{name: int(number) for name, number in known.items()}, calls=calls)


def _comparison(found: Mapping[str, Any]) -> Comparison:
    known = _known(Comparison, found)
    examples = tuple(Example(**_known(Example, each)) for each in known.pop("examples", ()))
    serving, shadow = (_figures(known.pop(name, {})) for name in ("serving", "shadow"))
    numbers = {name: int(number) for name, number in known.items()}
    return Comparison(serving, shadow, **numbers, examples=examples)
