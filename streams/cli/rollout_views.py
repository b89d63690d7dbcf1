"""What commands show of a roll-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click
import orjson

from dehusk.schemas.comparison import Comparison, Figures, WorkerReport, total
from dehusk.schemas.rollout import Rollout
from dehusk.streams.cli.terminal import echo, plain_console, print_table
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable
from dehusk.streams.rollout.words import said_of

if TYPE_CHECKING:
    from dehusk.streams.rollout.moving import Situation

_COLUMNS = ("version", "pages", "no answer", "no probabilities", "words kept", "p50", "p99")


def say_move(situation: Situation, state: Rollout) -> None:
    """Say on standard error what a change makes of what."""
    workers = counted(len(situation.workers), "worker")
    click.echo(f"{situation.scope}, {workers}:", err=True)
    click.echo(f"  from {said_of(situation.state)}", err=True)
    click.echo(f"  to   {said_of(state)}", err=True)


def print_moved(
    situation: Situation,
    state: Rollout,
    workers: Sequence[WorkerReport] | None,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Say that the state is written, and, where it was waited for, which workers follow it since when."""
    if as_json:
        found = {
            "model": situation.scope.model,
            "group": situation.scope.group,
            "before": situation.state,
            "after": state,
            "workers": workers,
            "seconds": round(seconds, 3),
        }
        click.echo(orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS))
        return
    echo(f"revision {state.revision}: {said_of(state)}")
    if workers is not None:
        echo(f"{counted(len(workers), 'worker')} followed within {seconds:.1f} s")
    elif not situation.workers:
        echo("no worker of the group reports: those that start follow it")


def print_status(situation: Situation, *, as_json: bool) -> None:
    """Show the state, the workers, and what they have seen."""
    if as_json:
        shown = {
            "model": situation.scope.model,
            "group": situation.scope.group,
            "state": situation.state,
            "workers": [replace(each, figures={}, comparison=None) for each in situation.workers],
            **seen_object(situation),
        }
        click.echo(orjson.dumps(shown))
        return
    _print_state(situation)
    for each in situation.workers:
        echo(_worker(each))
    if not situation.workers:
        echo("no worker of the group reports")
    _print_figures(_added(situation.workers))
    comparison = total(each.comparison for each in situation.workers)
    if comparison is not None:
        echo(_summary(comparison))


def print_seen(situation: Situation) -> None:
    """Show what workers have seen of the versions that label and of the shadow, with examples."""
    _print_state(situation)
    _print_figures(_added(situation.workers))
    comparison = total(each.comparison for each in situation.workers)
    if comparison is not None:
        _print_comparison(comparison)


def seen_object(situation: Situation) -> dict[str, object]:
    """What workers have seen, for JSON."""
    comparison = total(each.comparison for each in situation.workers)
    return {
        "figures": {version: _shown(each) for version, each in _added(situation.workers).items()},
        "comparison": comparison and _shown_comparison(comparison),
    }


def _print_state(situation: Situation) -> None:
    echo(f"{situation.scope}: {said_of(situation.state)}")
    if situation.state is not None:
        change = situation.state.change
        at = f"{change.at:%Y-%m-%d %H:%M:%S} UTC"
        echo(f"revision {situation.state.revision}, {at}, {printable(change.by)}: {printable(change.reason)}")


def _worker(report: WorkerReport) -> str:
    named = {"serving": report.serving, "canary": report.canary, "shadow": report.shadow}
    versions = ", ".join(f"{role} {version}" for role, version in named.items() if version)
    refused = [f"not {version}: {printable(why)}" for version, why in report.refused.items()]
    return "; ".join([f"worker {report.worker}, revision {report.revision}: {versions}", *refused])


def _added(workers: Sequence[WorkerReport]) -> dict[str, Figures]:
    found: dict[str, Figures] = {}
    for report in workers:
        for version, figures in report.figures.items():
            found[version] = found.get(version, Figures()) + figures
    return found


def _print_figures(figures: dict[str, Figures]) -> None:
    rows = [_row(version or "chosen", each) for version, each in figures.items()]
    if rows:
        print_table(plain_console(), _COLUMNS, rows)


def _row(name: str, each: Figures) -> list[str]:
    failures = [f"{each.errors:,}", f"{each.rejected:,}"]
    times = [f"{1000 * each.seconds(share):.0f} ms" for share in (0.5, 0.99)]
    return [name, f"{each.pages:,}", *failures, f"{each.kept_share:.1%}", *times]


def _summary(comparison: Comparison) -> str:
    both = counted(comparison.shadow.labeled, "page")
    return (
        f"shadow: {comparison.disagreement:.2%} of {comparison.blocks:,} blocks on {both} decided otherwise; "
        f"{counted(comparison.missed, 'page')} not compared"
    )


def _print_comparison(comparison: Comparison) -> None:
    echo(_summary(comparison))
    rows = [_row("labels", comparison.serving), _row("shadow", comparison.shadow)]
    print_table(plain_console(), _COLUMNS, rows)
    for example in comparison.examples:
        echo(f"  {example.serving:.2f} -> {example.shadow:.2f}  {printable(example.url)}")
        echo(f"    {printable(example.text)}")


def _shown(figures: Figures) -> dict[str, float]:
    return {
        "pages": figures.pages,
        "errors": figures.errors,
        "rejected": figures.rejected,
        "words": figures.words,
        "kept": figures.kept,
        "kept_share": round(figures.kept_share, 4),
        "seconds_p50": round(figures.seconds(0.5), 6),
        "seconds_p99": round(figures.seconds(0.99), 6),
    }


def _shown_comparison(comparison: Comparison) -> dict[str, object]:
    return {
        "serving": _shown(comparison.serving),
        "shadow": _shown(comparison.shadow),
        "blocks": comparison.blocks,
        "differing": comparison.differing,
        "disagreement": round(comparison.disagreement, 6),
        "missed": comparison.missed,
        "examples": comparison.examples,
    }
