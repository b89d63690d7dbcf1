"""Output of `dehusk model` about roll-outs: tables for people, JSON for scripts."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

import click

from dehusk.inference.labelers.repository import CONFIG_FILE
from dehusk.schemas.rollout import Limits, Rollout, Scope
from dehusk.schemas.trials import WorkerReport
from dehusk.streams.cli.model.observation_views import observations_object, print_summary
from dehusk.streams.cli.shared.terminal import echo, plain_console, print_object, print_table, warn
from dehusk.streams.rollout.situation import Situation
from dehusk.streams.rollout.steps import wait_reason
from dehusk.streams.rollout.transitions import describe_state
from dehusk.streams.rollout.waiting import ignored_by
from dehusk.streams.settings import TopicSettings
from dehusk.streams.wording import pluralize, printable, program


def print_change(situation: Situation, state: Rollout) -> None:
    """Print on standard error the state before and after a change."""
    workers = pluralize(len(situation.workers), "worker")
    click.echo(f"{situation.scope}, {workers}:", err=True)
    click.echo(f"  from {describe_state(situation.state)}", err=True)
    click.echo(f"  to   {describe_state(state)}", err=True)
    warn_ignored(situation)


def warn_ignored(situation: Situation) -> None:
    """Print on standard error which workers ignore the state, if any do."""
    if ignored := ignored_by(situation.state, situation.workers):
        warn(ignored)


def print_planned(situation: Situation, state: Rollout, loaded: Sequence[str], *, as_json: bool) -> None:
    """Print the state that would be written, and what Triton would load for it."""
    if as_json:
        fields = {"before": situation.state, "after": state, "loads": loaded, "dry_run": True}
        print_object({**asdict(situation.scope), **fields})
    else:
        echo(f"nothing was changed; it would be revision {state.revision}: {describe_state(state)}")


def print_written(state: Rollout, *, as_json: bool) -> None:
    """Print a state once it is written; for JSON, `print_changed` has it."""
    if not as_json:
        echo(f"revision {state.revision}: {describe_state(state)}")


def print_changed(
    situation: Situation,
    state: Rollout,
    workers: Sequence[WorkerReport] | None,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Print how many workers follow and how long that took, if they were waited for; for JSON, the state."""
    if as_json:
        fields = {"before": situation.state, "after": state, "workers": workers, "seconds": round(seconds, 3)}
        print_object({**asdict(situation.scope), **fields})
        return
    if workers is not None:
        echo(f"{pluralize(len(workers), 'worker')} followed within {seconds:.1f} s")
    elif not situation.workers:
        echo("no worker of the group reports: those that start follow it")


def repair_command(model: str, topic: str, group: str = TopicSettings().group) -> str:
    """Return the command that has the policy of a model name what the roll-outs on a topic need."""
    of_group = "" if group == TopicSettings().group else f" --group {quote(group)}"
    return f"`{program()} model repair {model} --control-topic {quote(topic)}{of_group}`"


def print_stale(repository: Path, model: str, stale: Sequence[str], repairing: str) -> None:
    """Print on standard error which versions a policy names although workers have taken them back.

    `repairing` is the command that takes them out.
    """
    if stale:
        warn(
            f"{repository / model / CONFIG_FILE} names version {', '.join(stale)}, taken back by workers: a "
            f"restart of Triton loads it again. {repairing} takes it out, as the next shadow, canary or "
            "promotion does"
        )


def print_status(situation: Situation, stale: Sequence[str], *, as_json: bool) -> None:
    """Print the state, the workers, and their figures; `stale` as in `print_stale`."""
    if as_json:
        workers = [replace(each, figures={}, comparison=None, trials={}) for each in situation.workers]
        fields = {
            "state": situation.state,
            "workers": workers,
            "next_step": _next_step(situation),
            "stale": stale,
            **observations_object(situation),
        }
        print_object({**asdict(situation.scope), **fields})
        return
    print_state(situation)
    if (waits := _next_step(situation)) is not None:
        echo(f"next step: {waits}")
    for each in situation.workers:
        echo(_describe_worker(each))
    if not situation.workers:
        echo(f"no worker of the group reports{situation.elsewhere}")
    print_summary(situation)


def _next_step(situation: Situation) -> str | None:
    """Return what the next step of a promotion waits for; None where it has no steps."""
    state = situation.state
    if state is None or state.steps is None:
        return None
    return wait_reason(state, situation.workers, situation.seen, datetime.now(UTC)) or "due"


def print_history(scope: Scope, states: Sequence[Rollout], *, as_json: bool) -> None:
    """Print the changes that made some states, a line each."""
    if as_json:
        print_object({**asdict(scope), "changes": states})
        return
    if not states:
        echo(f"{scope}: no change is known")
        return
    rows = [_history_row(state) for state in states]
    print_table(plain_console(), ("revision", "when (UTC)", "who", "why", "versions"), rows)


def _history_row(state: Rollout) -> tuple[str, ...]:
    change = state.change
    who_and_why = printable(change.by), printable(change.reason)
    return str(state.revision), f"{change.at:%Y-%m-%d %H:%M:%S}", *who_and_why, describe_state(state)


def print_state(situation: Situation) -> None:
    """Print the state of a roll-out, its last change, and the limits that were set."""
    echo(f"{situation.scope}: {describe_state(situation.state)}")
    if situation.state is not None:
        change = situation.state.change
        at = f"{change.at:%Y-%m-%d %H:%M:%S} UTC"
        echo(f"revision {situation.state.revision}, {at}, {printable(change.by)}: {printable(change.reason)}")
        if set_limits := _set_limits(situation.state.limits):
            echo(f"limits other than by default: {set_limits}")


def _set_limits(limits: Limits) -> str:
    """Return the limits that commands have changed, as they name them."""
    default = asdict(Limits())
    changed = {name: value for name, value in asdict(limits).items() if value != default[name]}
    return ", ".join(f"{name.replace('_', '-')}={value:g}" for name, value in changed.items())


def _describe_worker(report: WorkerReport) -> str:
    named = {"serving": report.serving, "canary": report.canary, "shadow": report.shadow}
    versions = ", ".join(f"{role} {version}" for role, version in named.items() if version)
    refused = [f"not {version}: {printable(why)}" for version, why in report.refused.items()]
    return "; ".join([f"worker {report.worker}, revision {report.revision}: {versions}", *refused])
