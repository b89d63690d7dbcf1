"""Verdicts on versions on trial, by the figures of a group of workers."""

from dataclasses import dataclass
from enum import StrEnum

from dehusk.schemas.rollout import Limits
from dehusk.schemas.trials import SHADOW, Comparison, Figures, bound, quantile

LEAST_SLOWDOWN = 0.02
"""Seconds below which the middle call takes no longer: as much as a busy machine makes of nothing."""
SMOOTHING = 0.05
"""Share of the words that is added to both sides of a ratio of words, so that a few make no large one."""
_SOON = 0.1
"""Share of the least calls from which nearly all of them decide."""
_LEAST_SOON = 10
"""Calls that it takes for that, however few the limit asks for."""
_NEARLY_ALL = 0.9


class RollbackReason(StrEnum):
    """Reason for which a worker takes a version back."""

    REFUSED = "refused"
    """It is not served, speaks no signature that is known, or rejects a line of text."""
    ERRORS = "errors"
    """It gives no answer for pages that the trusted version labels."""
    NO_PROBABILITIES = "no-probabilities"
    """It answers with NaN, or not with one probability per block."""
    LATENCY = "latency"
    """Its calls take much longer than those of the trusted version for the same pages."""
    KEPT_TEXT = "kept-text"
    """It keeps much more, or much less, of the words of pages than the trusted version does."""
    DISAGREEMENT = "disagreement"
    """As a shadow, it decides many blocks otherwise."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Reason and detail of taking a version back."""

    reason: RollbackReason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


def judge(trial: str, limits: Limits, figures: Figures, comparison: Comparison) -> Verdict | None:
    """Return the verdict on a version on trial that exceeds a limit, else None.

    The figures are those of its pages, the comparison is with the trusted version.
    """
    return (
        _failures(limits, figures)
        or _latency(trial, limits, comparison)
        or (_differences(trial, limits, comparison) if comparison.pages >= limits.least_pages else None)
    )


def _failures(limits: Limits, tried: Figures) -> Verdict | None:
    for reason, failed, most in (
        (RollbackReason.NO_PROBABILITIES, tried.rejected, limits.most_rejected),
        (RollbackReason.ERRORS, tried.errors, limits.most_errors),
    ):
        if failed >= limits.least_failures and failed > most * tried.pages:
            return Verdict(reason, f"{failed:,} of {tried.pages:,} pages, more than {most:.2%}")
    return None


def _latency(trial: str, limits: Limits, comparison: Comparison) -> Verdict | None:
    """Return the verdict on a version most of whose calls take too long.

    Pages wait for a canary and for a promoted version, so they go sooner if nearly all calls do.
    """
    calls = comparison.calls
    slow = sum(count for bucket, count in comparison.slowdowns.items() if bound(bucket) > limits.most_latency)
    is_clear = calls >= limits.least_calls and slow > calls / 2
    is_soon_enough = trial != SHADOW and calls >= max(_LEAST_SOON, limits.least_calls * _SOON)
    is_obvious = is_soon_enough and slow >= _NEARLY_ALL * calls
    tried, trusted = comparison.shadow.seconds(0.5), comparison.serving.seconds(0.5)
    if not (is_clear or is_obvious) or tried - trusted < LEAST_SLOWDOWN:
        return None
    detail = (
        f"{slow:,} of {calls:,} calls take more than {limits.most_latency:g} times as long as the trusted "
        f"version's of the same pages, {tried:.3f} s and {trusted:.3f} s in the middle"
    )
    return Verdict(RollbackReason.LATENCY, detail)


def _differences(trial: str, limits: Limits, comparison: Comparison) -> Verdict | None:
    verdict = _kept_text(limits, comparison)
    if verdict or trial != SHADOW or comparison.disagreement <= limits.most_disagreement:
        return verdict
    detail = f"{comparison.disagreement:.1%} of {comparison.blocks:,} blocks are decided otherwise, more than"
    return Verdict(RollbackReason.DISAGREEMENT, f"{detail} {limits.most_disagreement:.1%}")


def _kept_text(limits: Limits, comparison: Comparison) -> Verdict | None:
    """Return the verdict on a version that keeps too little or too much, of all words or of most pages'."""
    words, kept = comparison.words, comparison.trusted_kept
    tried = comparison.kept
    dropped, tried_dropped = (words - each + SMOOTHING * words for each in (kept, tried))
    page_kept, page_dropped = (
        quantile(each, 0.5) for each in (comparison.kept_ratios, comparison.dropped_ratios)
    )
    is_outside = (
        not limits.least_kept * kept <= tried <= limits.most_kept * kept
        or tried_dropped * limits.most_kept < dropped
        or (bool(comparison.kept_ratios) and not limits.least_kept <= page_kept <= limits.most_kept)
        or (bool(comparison.dropped_ratios) and page_dropped * limits.most_kept < 1)
    )
    if not is_outside:
        return None
    shares = (f"{each / max(words, 1):.1%}" for each in (tried, kept))
    detail = "{} of the words are kept, {} with the trusted version; ".format(*shares)
    return Verdict(
        RollbackReason.KEPT_TEXT,
        f"{detail}of a page in the middle, {page_kept:.2f} times the words kept and {page_dropped:.2f} times "
        "those dropped",
    )
