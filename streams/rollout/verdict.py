"""Verdicts on versions on trial, by the figures of one worker."""

from dataclasses import dataclass
from enum import StrEnum

from dehusk.schemas.rollout import Comparison, Figures, Limits

SLOWEST = 0.99
"""Quantile of the call times by which versions are compared."""


class RollbackReason(StrEnum):
    """Reason for which a worker takes a version back."""

    REFUSED = "refused"
    """It is not served, speaks no signature that is known, or rejects a line of text."""
    ERRORS = "errors"
    """It gives no answer for pages that the trusted version labels."""
    NO_PROBABILITIES = "no-probabilities"
    """It answers with NaN, or not with one probability per block."""
    LATENCY = "latency"
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


def judge(limits: Limits, tried: Figures, trusted: Figures, *, at_once: bool = True) -> Verdict | None:
    """Return the verdict on a version that exceeds a limit, compared with the trusted one; else None.

    Times are compared only where both have labeled at once, as they depend on the load.
    """
    verdict = _failures(limits, tried)
    if verdict or min(tried.labeled, trusted.labeled) < limits.least_pages:
        return verdict
    return (_latency(limits, tried, trusted) if at_once else None) or _kept_text(limits, tried, trusted)


def judge_shadow(limits: Limits, comparison: Comparison) -> Verdict | None:
    """Return the verdict on a shadow that exceeds a limit, else None."""
    verdict = judge(limits, comparison.shadow, comparison.serving)
    if verdict or comparison.shadow.labeled < limits.least_pages:
        return verdict
    if comparison.disagreement <= limits.most_disagreement:
        return None
    detail = f"{comparison.disagreement:.1%} of {comparison.blocks:,} blocks are decided otherwise, more than"
    return Verdict(RollbackReason.DISAGREEMENT, f"{detail} {limits.most_disagreement:.1%}")


def _failures(limits: Limits, tried: Figures) -> Verdict | None:
    for reason, failed, most in (
        (RollbackReason.NO_PROBABILITIES, tried.rejected, limits.most_rejected),
        (RollbackReason.ERRORS, tried.errors, limits.most_errors),
    ):
        if failed >= limits.least_failures and failed > most * tried.pages:
            return Verdict(reason, f"{failed:,} of {tried.pages:,} pages, more than {most:.2%}")
    return None


def _latency(limits: Limits, tried: Figures, trusted: Figures) -> Verdict | None:
    slow, usual = tried.seconds(SLOWEST), trusted.seconds(SLOWEST)
    if slow <= limits.most_latency * usual:
        return None
    detail = f"99 % of calls end within {slow:.3f} s, {usual:.3f} s with the trusted version"
    return Verdict(RollbackReason.LATENCY, detail)


def _kept_text(limits: Limits, tried: Figures, trusted: Figures) -> Verdict | None:
    kept, expected = tried.kept_share, trusted.kept_share
    if limits.least_kept * expected <= kept <= limits.most_kept * expected:
        return None
    detail = f"{kept:.1%} of the words are kept, {expected:.1%} with the trusted version"
    return Verdict(RollbackReason.KEPT_TEXT, detail)
