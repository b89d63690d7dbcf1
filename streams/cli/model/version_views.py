"""Output of `dehusk model` about versions: tables for people, JSON for scripts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal

from dehusk.inference.labelers.golden import GOLDEN_FILE, parse_golden
from dehusk.inference.labelers.repository import served
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.model.observation_views import (
    ended_object,
    observations_object,
    print_ended,
    print_observations,
)
from dehusk.streams.cli.model.rollout_views import print_state
from dehusk.streams.cli.shared.terminal import echo, plain_console, print_object, print_table, warn
from dehusk.streams.models.candidate import MAX_TEXT_BYTES, header_of, read_plain
from dehusk.streams.models.names import FaultError
from dehusk.streams.models.overview import KnownVersion, card_of, is_seen
from dehusk.streams.models.repair import Repair
from dehusk.streams.models.server import Statistics
from dehusk.streams.models.verification import Latency, Report
from dehusk.streams.rollout.situation import Role, Situation
from dehusk.streams.wording import pluralize, printable, program

_VERSION_COLUMNS = ("version", "default", "on Triton", "on disk", "signature", "SHA-256", "why")
_CARD_TITLE = re.compile(r"# ([\w.-]+), version (\d+)$", re.ASCII | re.MULTILINE)
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
        print_object({"versions": versions, "missing": missing, "stale": stale})
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
            seen = {**observations_object(observations), "ended": [*map(ended_object, observations.ended)]}
            more |= {"rollout": {"state": observations.state, **seen}}
        print_object({**asdict(known), **more, "missing": missing})
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
        print_state(observations)
        print_observations(observations)
        print_ended(observations)
    if card:
        _print_card(card, f"{known.model}/{known.version}")


def print_report(report: Report, *, as_json: bool) -> None:
    """Print the report of a version that passed."""
    if as_json:
        print_object({"ok": True, **asdict(report)})
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
        print_object({"ok": False, "fault": fault.fault, "message": fault.message})
    warn(f"not to be served: {printable(str(fault))}")


def print_added(version: Path, *, is_loaded: bool, without_triton: bool, as_json: bool) -> None:
    """Print the directory of an added version, and how it is served next."""
    model = version.parent.name
    name = f"{model}/{version.name}"
    waits = version.name not in served(version.parent.parent, model)
    if as_json:
        print_object({"added": name, "directory": str(version), "waits": waits})
        return
    echo(f"added {version}")
    if waits:
        echo(f"It is not served before version_policy in {version.parent / 'config.pbtxt'} names it.")
    elif is_loaded:
        echo(f"Triton has loaded it. See it with `{program()} model list`.")
    else:
        echo("Triton serves it after the next load or restart, workers in process after theirs.")
    if not is_loaded:
        command = f"{program()} model canary {name} --share 0.05"
        how = f"`{command} --without-triton`" if without_triton else f"`{command}`, which has Triton serve it"
        echo(f"Try it with {how}.")


def print_repair(config: Path, repair: Repair) -> None:
    """Print on standard error how a policy is to be repaired."""
    click.echo(f"{config} is to name {', '.join(repair.kept)}, and to trust {repair.trusted}", err=True)
    for version, reason in repair.taken_out.items():
        click.echo(f"  not {version}: {printable(reason)}", err=True)


def print_repaired(repair: Repair, *, as_json: bool) -> None:
    """Print the versions that a repaired policy names, and those that have gone."""
    if as_json:
        print_object(asdict(repair))
        return
    changed = "repaired" if repair.is_needed else "nothing to repair"
    echo(f"{changed}: version {', '.join(repair.kept)}, of which {repair.trusted} is trusted")


def print_removed(name: str, *, as_json: bool) -> None:
    """Print the name of a removed version."""
    if as_json:
        print_object({"removed": name})
    else:
        echo(f"removed {name}")


def _print_card(card: str, name: str) -> None:
    """Print a card, and the name in its title if `add` has given the version another one."""
    title = _CARD_TITLE.match(card)
    if title and (trained_as := f"{title[1]}/{title[2]}") != name:
        echo(f"\ntrained as {trained_as}, and so called by its card:")
    echo(f"\n{card}")


def _golden_pages(version: Path) -> list[str]:
    if not is_seen(version / GOLDEN_FILE):
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
