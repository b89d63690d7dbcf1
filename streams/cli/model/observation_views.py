"""Figures of versions and comparisons of those on trial, as workers have seen them: tables, JSON."""

from collections.abc import Mapping
from dataclasses import asdict

from dehusk.schemas.trials import (
    SHADOW,
    TRIALS,
    Comparison,
    EndedTrial,
    Figures,
    quantile,
    total,
    total_figures,
)
from dehusk.streams.cli.shared.terminal import echo, plain_console, print_table
from dehusk.streams.rollout.situation import Situation
from dehusk.streams.wording import pluralize, printable

_UNKNOWN = "–"
_COLUMNS = ("version", "pages", "no answer", "late", "no probabilities", "words kept", "p50", "p99")


def print_summary(situation: Situation) -> None:
    """Print the figures of the versions that label, and a line for each trial."""
    _print_figures(situation)
    for trial, comparison in _comparisons(situation).items():
        echo(_describe(trial, comparison))


def print_observations(situation: Situation) -> None:
    """Print the figures of the versions that label and of those on trial, with examples."""
    _print_figures(situation)
    for trial, comparison in _comparisons(situation).items():
        _print_comparison(trial, comparison)


def observations_object(situation: Situation) -> dict[str, object]:
    """Return the figures of all workers for JSON."""
    found = {trial: _comparison_object(each) for trial, each in _comparisons(situation).items()}
    return {
        "figures": {name: _figures_object(each) for name, each in total_figures(situation.seen).items()},
        "comparison": found.pop(SHADOW, None),
        "trials": found,
    }


def _print_comparison(trial: str, comparison: Comparison, figures: Figures | None = None) -> None:
    """Print what differs between a version on trial and the trusted one, with examples.

    `figures` are of all pages that it labeled.
    """
    echo(_describe(trial, comparison))
    for line in _differences(comparison):
        echo(f"  {line}")
    rows = [_row("trusted", comparison.serving), _row(trial, comparison.shadow)]
    if figures is not None and trial != SHADOW:
        rows.append(_row("all pages", figures))
    print_table(plain_console(), _COLUMNS, rows)
    for example in comparison.examples:
        echo(f"  {example.serving:.2f} -> {example.shadow:.2f}  {printable(example.url)}")
        echo(f"    {printable(example.text)}")


def _comparison_object(comparison: Comparison) -> dict[str, object]:
    """Return a comparison for JSON."""
    return {
        "serving": _figures_object(comparison.serving),
        "shadow": _figures_object(comparison.shadow),
        "pages": comparison.pages,
        "differing_pages": comparison.differing_pages,
        "blocks": comparison.blocks,
        "differing": comparison.differing,
        "added": comparison.added,
        "removed": comparison.removed,
        "disagreement": round(comparison.disagreement, 6),
        "words": comparison.words,
        "added_words": comparison.added_words,
        "removed_words": comparison.removed_words,
        "f1": round(comparison.f1, 6),
        "timed_calls": comparison.calls,
        "slowdown": round(quantile(comparison.slowdowns, 0.5), 2),
        "missed": comparison.missed,
        "examples": comparison.examples,
    }


def print_ended(situation: Situation) -> None:
    """Print what was seen in trials that have ended, and why they have."""
    for ended in situation.ended:
        change = ended.change
        versions = f"{ended.trial} {ended.version} beside {ended.trusted}"
        echo(f"\n{change.at:%Y-%m-%d %H:%M:%S} UTC, {versions}, ended by")
        echo(f"{printable(change.by)}: {printable(change.reason)}")
        _print_comparison(ended.trial, ended.comparison, ended.figures)


def ended_object(ended: EndedTrial) -> dict[str, object]:
    """Return a trial that has ended for JSON."""
    return {
        "trial": ended.trial,
        "version": ended.version,
        "trusted": ended.trusted,
        "revision": ended.revision,
        "change": ended.change,
        "workers": ended.workers,
        "figures": _figures_object(ended.figures),
        "comparison": _comparison_object(ended.comparison),
    }


def _comparisons(situation: Situation) -> Mapping[str, Comparison]:
    """Return the comparison of each trial that workers report, over all of them."""
    found = {trial: total(each.compared(trial) for each in situation.seen) for trial in TRIALS}
    return {trial: each for trial, each in found.items() if each is not None}


def _print_figures(situation: Situation) -> None:
    rows = [_row(version or "chosen", each) for version, each in total_figures(situation.seen).items()]
    if rows:
        print_table(plain_console(), _COLUMNS, rows)


def _row(name: str, figures: Figures) -> list[str]:
    failures = [f"{each:,}" for each in (figures.errors, figures.late, figures.rejected)]
    kept = f"{figures.kept_share:.1%}" if figures.words else _UNKNOWN
    times = [f"{1000 * figures.seconds(share):.0f} ms" for share in (0.5, 0.99)]
    return [name, f"{figures.pages:,}", *failures, kept, *(times if figures.calls else (_UNKNOWN, _UNKNOWN))]


def _describe(trial: str, comparison: Comparison) -> str:
    blocks, both = f"{comparison.blocks:,} blocks", pluralize(comparison.shadow.labeled, "page")
    return (
        f"{trial}: {comparison.disagreement:.2%} of {blocks} on {both} decided otherwise; "
        f"{pluralize(comparison.missed, 'page')} not compared"
    )


def _differences(comparison: Comparison) -> list[str]:
    """Return lines on what is kept more and less, and on the times."""
    lines = []
    if comparison.pages:
        blocks, words = max(comparison.blocks, 1), max(comparison.words, 1)
        pages = comparison.differing_pages / comparison.pages
        lines += [
            f"it keeps {comparison.added / blocks:.2%} of the blocks more, and "
            f"{comparison.removed / blocks:.2%} less, on {pages:.1%} of the pages",
            f"it keeps {comparison.added_words / words:.2%} of the words more, and "
            f"{comparison.removed_words / words:.2%} less: F1 {comparison.f1:.1%} beside the trusted version",
        ]
    if comparison.calls:
        low, middle, high = (quantile(comparison.slowdowns, share) for share in (0.1, 0.5, 0.9))
        lines.append(
            f"it takes {middle:.2f} times as long, {low:.2f} to {high:.2f} in eight of ten of "
            f"{comparison.calls:,} timed calls"
        )
    return lines


def _figures_object(figures: Figures) -> dict[str, float]:
    counts = asdict(figures)
    del counts["calls"]
    return {
        **counts,
        "kept_share": round(figures.kept_share, 4),
        "seconds_p50": round(figures.seconds(0.5), 6),
        "seconds_p99": round(figures.seconds(0.99), 6),
    }
