"""Messages of the control topic that tell of versions on trial: the reports of workers, and ended trials.

Counts can be added, so that a group is judged by the figures of all its workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import log2
from typing import Annotated, Any, TypeVar

from msgspec import Meta

from dehusk.schemas.rollout import Change, ControlMessage, Count, PositiveCount, Version

_MAX_BUCKET = 1000
_BUCKETS_PER_DOUBLING = 4
"""A bucket of time is 19 % longer than the one before."""
MAX_EXAMPLES = 8
"""Examples of differing blocks in one report."""
SHADOW, CANARY, PROMOTED = TRIALS = ("shadow", "canary", "promoted")
"""Ways of trying a version."""
Bucket = Annotated[int, Meta(ge=-_MAX_BUCKET, le=_MAX_BUCKET)]


def bucket_of(seconds: float) -> int:
    """Return the bucket of a time: the number of its upper bound."""
    return -int(-_BUCKETS_PER_DOUBLING * log2(max(seconds, 1e-6)) // 1)


def bucket_of_ratio(ratio: float) -> int:
    """Return the bucket of a ratio: the number of the bound that it is nearest to; that of 1 is 0."""
    return round(_BUCKETS_PER_DOUBLING * log2(max(ratio, 1e-6)))


def bound(bucket: int) -> float:
    """Return the upper bound of a bucket of times, which is the middle of a bucket of ratios."""
    return float(2.0 ** (bucket / _BUCKETS_PER_DOUBLING))


Histogram = Mapping[Bucket, Count]
"""Counts by bucket."""
Counted = TypeVar("Counted", "Figures", "Comparison")


def quantile(histogram: Histogram, share: float) -> float:
    """Return the bound of the bucket in which a share of all counts is reached; 0 without any."""
    wanted, passed = share * sum(histogram.values()), 0
    for bucket in sorted(histogram):
        passed += histogram[bucket]
        if passed >= wanted:
            return bound(bucket)
    return 0.0


def _added(one: Counted, other: Counted) -> Counted:
    """Add dataclasses field by field."""
    return type(one)(*(_sum(getattr(one, each.name), getattr(other, each.name)) for each in fields(one)))


def _sum(one: Any, other: Any) -> Any:  # noqa: ANN401 counts, histograms, examples, or dataclasses of them
    if isinstance(one, Mapping):
        return {bucket: one.get(bucket, 0) + other.get(bucket, 0) for bucket in (*one, *other)}
    return (*one, *other)[-MAX_EXAMPLES:] if isinstance(one, tuple) else one + other


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of the pages that a version labeled; those of several workers can be added."""

    pages: Count = 0
    """Pages that it was asked for."""
    errors: Count = 0
    """Pages that it gave no answer for, although another version did."""
    rejected: Count = 0
    """Pages that it answered with what are no probabilities."""
    words: Count = 0
    """Words of the pages that it labeled."""
    kept: Count = 0
    """Words that its own probabilities keep, before the correction by the site."""
    calls: Histogram = field(default_factory=dict)
    """Number of calls by their time."""
    late: Count = 0
    """Pages that it did not answer in time; they are no errors."""

    def __add__(self, other: Figures) -> Figures:
        return _added(self, other)

    @property
    def labeled(self) -> int:
        """Pages that it labeled."""
        return self.pages - self.errors - self.rejected - self.late

    @property
    def kept_share(self) -> float:
        """Share of words that are kept; 0 where there are none."""
        return self.kept / self.words if self.words else 0.0

    def seconds(self, share: float) -> float:
        """Return the time within which this share of the calls ended, to a fifth of it; 0 without calls."""
        return quantile(self.calls, share)


@dataclass(frozen=True, slots=True)
class Example:
    """A block that two versions decide differently."""

    url: str
    text: str
    """Text of the block, shortened."""
    serving: float
    """Probability of content by the version that labels the page."""
    shadow: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A version on trial beside the trusted one, on the same pages, before the correction by the site."""

    serving: Figures = field(default_factory=Figures)
    """Figures of the trusted version."""
    shadow: Figures = field(default_factory=Figures)
    """Figures of the version on trial, be it a shadow or not."""
    blocks: Count = 0
    """Blocks of the pages that both labeled."""
    differing: Count = 0
    """Blocks that one keeps and the other does not."""
    missed: Count = 0
    """Pages of the sample that were not compared, as the background did not keep up or nobody answered."""
    examples: tuple[Example, ...] = ()
    """The latest of what differs."""
    pages: Count = 0
    """Pages that both labeled."""
    differing_pages: Count = 0
    """Pages with a block that differs."""
    added: Count = 0
    """Blocks that the version on trial keeps alone."""
    words: Count = 0
    """Words of the pages that both labeled."""
    kept_by_both: Count = 0
    added_words: Count = 0
    """Words that the version on trial keeps alone."""
    removed_words: Count = 0
    """Words that the trusted version keeps alone."""
    kept_ratios: Histogram = field(default_factory=dict)
    """Pages by the words that the version on trial keeps, as a multiple of the trusted version's."""
    dropped_ratios: Histogram = field(default_factory=dict)
    """Pages by the words that it drops, likewise."""
    slowdowns: Histogram = field(default_factory=dict)
    """Pairs of calls by the time of the version on trial, as a multiple of the trusted version's."""

    def __add__(self, other: Comparison) -> Comparison:
        return _added(self, other)

    @property
    def disagreement(self) -> float:
        """Share of blocks that differ; 0 where there are none."""
        return self.differing / self.blocks if self.blocks else 0.0

    @property
    def removed(self) -> int:
        """Blocks that the trusted version keeps alone."""
        return self.differing - self.added

    @property
    def calls(self) -> int:
        """Pairs of calls that were timed."""
        return sum(self.slowdowns.values())

    @property
    def kept(self) -> int:
        """Words that the version on trial keeps."""
        return self.kept_by_both + self.added_words

    @property
    def trusted_kept(self) -> int:
        """Words that the trusted version keeps."""
        return self.kept_by_both + self.removed_words

    @property
    def f1(self) -> float:
        """F1 of the words kept, as if the trusted version were right; 1 where both keep none."""
        kept = self.kept + self.trusted_kept
        return 2 * self.kept_by_both / kept if kept else 1.0


@dataclass(frozen=True, slots=True)
class WorkerReport(ControlMessage):
    """The versions that one worker labels with, and its figures since the roll-out was last changed."""

    described = "a worker's report"

    worker: str
    revision: Count
    """Revision of the state that it follows, but for the versions that it refuses; 0 for none."""
    serving: str
    """The version that labels its pages; empty where none has answered yet."""
    canary: str | None = None
    shadow: str | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    """Versions of the state that it does not label with, each with the reason."""
    figures: Mapping[str, Figures] = field(default_factory=dict)
    """Figures of the versions that label pages."""
    comparison: Comparison | None = None
    """Comparison of the shadow."""
    trials: Mapping[str, Comparison] = field(default_factory=dict)
    """Comparisons of a `canary`, and of a `promoted` version, with the trusted one."""

    @property
    def versions(self) -> tuple[str | None, ...]:
        """Versions that it labels with: the serving one, the canary and the shadow."""
        return self.serving, self.canary, self.shadow

    def compared(self, trial: str) -> Comparison | None:
        """Return the comparison of a trial."""
        return self.comparison if trial == SHADOW else self.trials.get(trial)


@dataclass(frozen=True, slots=True)
class EndedTrial(ControlMessage):
    """Figures of a version on trial that the workers of a group had when the trial ended."""

    described = "a trial that has ended"

    trial: str
    """`shadow`, `canary` or `promoted`."""
    version: Version
    trusted: Version
    revision: PositiveCount
    """Revision of the state with which the trial has ended."""
    change: Change
    """The change that has ended it."""
    workers: Count
    """Number of workers that had reported."""
    figures: Figures
    """Figures of the pages that it labeled; those of a shadow are in the comparison, too."""
    comparison: Comparison


def total_figures(reports: Sequence[WorkerReport]) -> dict[str, Figures]:
    """Return the figures of several workers together, by version."""
    totals: dict[str, Figures] = {}
    for report in reports:
        for version, figures in report.figures.items():
            totals[version] = totals.get(version, Figures()) + figures
    return totals


def total_comparison(reports: Sequence[WorkerReport], trial: str) -> Comparison:
    """Return the comparisons of several workers of a trial together."""
    return total(report.compared(trial) for report in reports) or Comparison()


def total(comparisons: Iterable[Comparison | None]) -> Comparison | None:
    """Return the comparisons of several workers together; None where there are none."""
    found = [each for each in comparisons if each is not None]
    return sum(found[1:], found[0]) if found else None
