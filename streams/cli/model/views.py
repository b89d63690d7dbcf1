"""Output of `dehusk model`: tables for people, JSON for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any

import click
import orjson
from rich.filesize import decimal

from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.repository import CONFIG_FILE, served
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import Limits, Rollout, Scope
from dehusk.schemas.trials import WorkerReport
from dehusk.streams.cli.model.observation_views import (
    ended_objects,
    observations_object,
    print_ended,
    print_observations,
    print_summary,
)
from dehusk.streams.cli.shared.terminal import echo, plain_console, print_table
from dehusk.streams.models.candidate import MAX_TEXT_BYTES, header_of, read_plain
from dehusk.streams.models.names import FaultError
from dehusk.streams.models.overview import KnownVersion, card_of
from dehusk.streams.models.repair import Repair
from dehusk.streams.models.server import Statistics
from dehusk.streams.models.verification import Latency, Report
from dehusk.streams.rollout.situation import Role, Situation
from dehusk.streams.rollout.steps import wait_reason
from dehusk.streams.rollout.transitions import describe_state
from dehusk.streams.settings import TopicSettings
from dehusk.streams.wording import pluralize, printable, program


def print_change(situation: Situation, state: Rollout) -> None:
    """Print on standard error the state before and after a change."""
    workers = pluralize(len(situation.workers), "worker")
    click.echo(f"{situation.scope}, {workers}:", err=True)
    click.echo(f"  from {describe_state(situation.state)}", err=True)
    click.echo(f"  to   {describe_state(state)}", err=True)


def print_planned(situation: Situation, state: Rollout, loaded: Sequence[str], *, as_json: bool) -> None:
    """Print the state that would be written, and what Triton would load for it."""
    if as_json:
        fields = {"before": situation.state, "after": state, "loads": loaded, "dry_run": True}
        _print_object({**asdict(situation.scope), **fields})
    else:
        echo(f"nothing was changed; it would be revision {state.revision}: {describe_state(state)}")


def print_changed(
    situation: Situation,
    state: Rollout,
    workers: Sequence[WorkerReport] | None,
    seconds: float,
    *,
    as_json: bool,
) -> None:
    """Print the written state and, where workers were waited for, how many follow and how long it took."""
    if as_json:
        fields = {"before": situation.state, "after": state, "workers": workers, "seconds": round(seconds, 3)}
        _print_object({**asdict(situation.scope), **fields})
        return
    echo(f"revision {state.revision}: {describe_state(state)}")
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
        click.echo(
            f"dehusk: {repository / model / CONFIG_FILE} names version {', '.join(stale)}, taken back by "
            f"workers: a restart of Triton loads it again. {repairing} takes it out, as the next shadow, "
            "canary or promotion does",
            err=True,
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
        _print_object({**asdict(situation.scope), **fields})
        return
    _print_state(situation)
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
    return wait_reason(state, situation.workers, situation.stopped, datetime.now(UTC)) or "due"


def print_history(scope: Scope, states: Sequence[Rollout], *, as_json: bool) -> None:
    """Print the changes that made some states, a line each."""
    if as_json:
        _print_object({**asdict(scope), "changes": states})
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


def _print_state(situation: Situation) -> None:
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


_VERSION_COLUMNS = ("version", "default", "on Triton", "on disk", "signature", "SHA-256", "why")
_ROLES = "in roll-outs"
Roles = Mapping[tuple[str, str], Sequence[Role]]
"""Roles of each version in roll-outs, by model and version."""
_HASH_SHOWN = 12
_STATES = {"": "no", "UNAVAILABLE": "failed"}


def print_versions(
    known_versions: Sequence[KnownVersion],
    missing: Sequence[str],
    roles: Roles | None,
    *,
    stale: Mapping[str, Sequence[str]],
    is_triton_known: bool,
    as_json: bool,
) -> None:
    """Print all versions, a line each; `roles` is None where no control topic was read.

    `stale` has those of each model that its policy names although workers have taken them back.
    """
    roles_by_name = roles or {}
    if as_json:
        versions = [
            _with_roles(asdict(each), roles_by_name.get((each.model, each.version)))
            for each in known_versions
        ]
        _print_object({"versions": versions, "missing": missing, "stale": stale})
        return
    rows = [_version_row(each, is_triton_known=is_triton_known) for each in known_versions]
    columns: tuple[str, ...] = _VERSION_COLUMNS
    if roles is not None:
        columns = (*_VERSION_COLUMNS, _ROLES)
        role_lists = [
            ", ".join(map(str, roles_by_name.get((each.model, each.version), ()))) for each in known_versions
        ]
        rows = [(*row, printable(role_list)) for row, role_list in zip(rows, role_lists, strict=True)]
    print_table(plain_console(), columns, rows)


def print_shown(
    known: KnownVersion,
    statistics: Statistics | None,
    version: Path,
    observations: Situation | None,
    missing: Sequence[str],
    *,
    is_triton_known: bool,
    as_json: bool,
) -> None:
    """Print all that is known of one version; `version` is its directory, if it is on disk."""
    card, golden, tensors = "", [], {}
    if known.stored:
        card, golden = card_of(version), _golden_pages(version)
        if not known.stored.problem:
            header = header_of(version / "model.onnx")
            tensors = {"inputs": header.inputs, "outputs": header.outputs}
    if as_json:
        of_triton = {**asdict(statistics), "batch_size": statistics.batch_size} if statistics else None
        named = {
            does: [{"name": each.name, "data_type": each.data_type} for each in declared]
            for does, declared in tensors.items()
        }
        more = {"tensors": named, "golden_pages": golden, "statistics": of_triton, "card": card}
        if observations:
            seen = {**observations_object(observations), "ended": ended_objects(observations)}
            more |= {"rollout": {"state": observations.state, **seen}}
        _print_object({**asdict(known), **more, "missing": missing})
        return
    print_table(plain_console(), _VERSION_COLUMNS, [_version_row(known, is_triton_known=is_triton_known)])
    for does, declared in tensors.items():
        echo(f"\n{does}: {', '.join(f'{each.name} {each.data_type}' for each in declared)}")
    if known.stored:
        echo(f"\nSHA-256: {known.stored.sha256}\ngolden pages: {', '.join(golden) or 'none'}")
    if statistics:
        echo(f"\n{_describe_statistics(statistics)}")
    if observations:
        echo("")
        _print_state(observations)
        print_observations(observations)
        print_ended(observations)
    if card:
        echo(f"\n{card}")


def print_report(report: Report, *, as_json: bool) -> None:
    """Print the report of a version that passed."""
    if as_json:
        _print_object({"ok": True, **asdict(report)})
        return
    agreement = report.agreement
    echo(f"{report.signature.partition(';')[0]}, {decimal(report.bytes)}, SHA-256 {report.sha256}")
    echo(
        f"{pluralize(agreement.pages, 'golden page')}, {pluralize(agreement.blocks, 'block')}: at most "
        f"{agreement.from_training:.1e} from the trained model, {agreement.in_batches:.1e} in batches"
    )
    echo(f"latency of a page: {_describe_latency(report.latency)}")
    if report.latency_beside:
        echo(f"  of {report.beside}, the default version: {_describe_latency(report.latency_beside)}")
    echo(f"verified ({report.labeler})")


def print_fault(fault: FaultError, *, as_json: bool) -> None:
    """Print why a version is not to be served."""
    if as_json:
        _print_object({"ok": False, "fault": fault.fault, "message": fault.message})
    click.echo(f"dehusk: not to be served: {printable(str(fault))}", err=True)


def print_added(version: Path, *, is_loaded: bool, as_json: bool) -> None:
    """Print the directory of an added version, and how it is served next."""
    model = version.parent.name
    name = f"{model}/{version.name}"
    waits = version.name not in served(version.parent.parent, model)
    if as_json:
        _print_object({"added": name, "directory": str(version), "waits": waits})
        return
    echo(f"added {version}")
    if waits:
        echo(f"It is not served before version_policy in {version.parent / 'config.pbtxt'} names it.")
    elif is_loaded:
        echo(f"Triton has loaded it. See it with `{program()} model list`.")
    else:
        echo("Triton serves it after the next load or restart, workers in process after theirs.")
    if not is_loaded:
        echo(f"Try it with `{program()} model canary {name} --share 0.05`, which has Triton serve it.")


def print_repair(config: Path, repair: Repair) -> None:
    """Print on standard error how a policy is to be repaired."""
    click.echo(f"{config} is to name {', '.join(repair.kept)}, and to trust {repair.trusted}", err=True)
    for version, reason in repair.taken_out.items():
        click.echo(f"  not {version}: {printable(reason)}", err=True)


def print_repaired(repair: Repair, *, as_json: bool) -> None:
    """Print the versions that a repaired policy names, and those that have gone."""
    if as_json:
        _print_object(asdict(repair))
        return
    changed = "repaired" if repair.is_needed else "nothing to repair"
    echo(f"{changed}: version {', '.join(repair.kept)}, of which {repair.trusted} is trusted")


def print_removed(name: str, *, as_json: bool) -> None:
    """Print the name of a removed version."""
    if as_json:
        _print_object({"removed": name})
    else:
        echo(f"removed {name}")


def _golden_pages(version: Path) -> list[str]:
    if not (version / GOLDEN_FILE).exists():
        return []
    try:
        golden = parse_golden(read_plain(version / GOLDEN_FILE, MAX_TEXT_BYTES))
        return [each.name for each in golden]
    except (ValueError, ConfigurationError):
        return ["unreadable"]


def _with_roles(known: dict[str, Any], roles: Sequence[Role] | None) -> dict[str, Any]:
    return {**known, "roles": [asdict(each) for each in roles or ()]}


def _version_row(known: KnownVersion, *, is_triton_known: bool) -> tuple[str, ...]:
    stored = known.stored
    on_triton = "no" if known.was_unloaded else _STATES.get(known.state, known.state.lower())
    return (
        printable(f"{known.model}/{known.version}"),
        "yes" if known.is_default else "",
        on_triton if is_triton_known else "unknown",
        decimal(stored.bytes) if stored else "no",
        printable(stored.signature) if stored else "",
        stored.sha256[:_HASH_SHOWN] if stored else "",
        printable((stored.problem if stored else "") or known.reason),
    )


def _describe_statistics(statistics: Statistics) -> str:
    return (
        f"since it was loaded: {pluralize(statistics.requests, 'request')}, "
        f"{pluralize(statistics.failures, 'failure')}; queue {statistics.queue_ms:.2f} ms, "
        f"compute {statistics.compute_ms:.2f} ms, {statistics.batch_size:.2f} requests in a batch"
    )


def _describe_latency(latency: Latency) -> str:
    return f"{latency.p50:.1f} ms in the middle, {latency.p99:.1f} ms at the 99th percentile"


def _print_object(fields: dict[str, Any]) -> None:
    click.echo(orjson.dumps(fields, option=orjson.OPT_NON_STR_KEYS))


def print_warnings(messages: list[str]) -> None:
    """Print messages on standard error, a line each."""
    for message in messages:
        click.echo(f"dehusk: {message}", err=True)
