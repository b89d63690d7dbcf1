"""What `dehusk model` prints: tables for people, JSON for scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson
from rich.filesize import decimal

from dehusk.streams.cli.rollout_views import print_seen, seen_object
from dehusk.streams.cli.terminal import echo, plain_console, print_table
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable
from dehusk.streams.program import program

if TYPE_CHECKING:
    from dehusk.streams.models.checking import Report
    from dehusk.streams.models.faults import FaultError
    from dehusk.streams.models.overview import KnownVersion
    from dehusk.streams.models.server import Statistics
    from dehusk.streams.models.verification import Latency
    from dehusk.streams.rollout.moving import Situation
    from dehusk.streams.rollout.usage import Role

_COLUMNS = ("version", "default", "on Triton", "on disk", "signature", "SHA-256", "why")
_ROLES = "in roll-outs"
Roles = Mapping[tuple[str, str], Sequence["Role"]]
"""What each version is in roll-outs, by model and version."""
_HASH_SHOWN = 12
_STATES = {"": "no", "UNAVAILABLE": "failed"}


def print_versions(
    found: Sequence[KnownVersion],
    missing: Sequence[str],
    roles: Roles | None,
    *,
    is_triton_known: bool,
    as_json: bool,
) -> None:
    """All versions, a line each; `roles` is None where no control topic was read."""
    named = roles or {}
    if as_json:
        versions = [_with_roles(asdict(each), named.get((each.model, each.version))) for each in found]
        _print_object({"versions": versions, "missing": missing})
        return
    rows = [_row(each, is_triton_known=is_triton_known) for each in found]
    columns: tuple[str, ...] = _COLUMNS
    if roles is not None:
        columns = (*_COLUMNS, _ROLES)
        said = [", ".join(map(str, named.get((each.model, each.version), ()))) for each in found]
        rows = [(*row, printable(each)) for row, each in zip(rows, said, strict=True)]
    print_table(plain_console(), columns, rows)


def print_shown(
    known: KnownVersion,
    statistics: Statistics | None,
    version: Path,
    seen: Situation | None,
    *,
    is_triton_known: bool,
    as_json: bool,
) -> None:
    """All that is known of one version; `version` is its directory, if it is on disk."""
    from dehusk.streams.models.overview import card_of, header_of

    card, golden, tensors = "", [], {}
    if known.stored:
        card, golden = card_of(version), _golden_pages(version)
        if not known.stored.problem:
            header = header_of(version / "model.onnx")
            tensors = {"inputs": header.inputs, "outputs": header.outputs}
    if as_json:
        of_triton = {**asdict(statistics), "batch_size": statistics.batch_size} if statistics else None
        more = {"tensors": tensors, "golden_pages": golden, "statistics": of_triton, "card": card}
        if seen:
            more |= {"rollout": {"state": seen.state, **seen_object(seen)}}
        _print_object({**asdict(known), **more})
        return
    print_table(plain_console(), _COLUMNS, [_row(known, is_triton_known=is_triton_known)])
    for does, declared in tensors.items():
        echo(f"\n{does}: {', '.join(f'{each.name} {each.data_type}' for each in declared)}")
    if known.stored:
        echo(f"\nSHA-256: {known.stored.sha256}\ngolden pages: {', '.join(golden) or 'none'}")
    if statistics:
        echo(f"\n{_summary(statistics)}")
    if seen:
        echo("")
        print_seen(seen)
    if card:
        echo(f"\n{card}")


def print_report(report: Report, *, as_json: bool) -> None:
    """What was found of a version that passed."""
    if as_json:
        _print_object({"ok": True, **asdict(report)})
        return
    agreement = report.agreement
    echo(f"{report.signature.partition(';')[0]}, {decimal(report.bytes)}, SHA-256 {report.sha256}")
    echo(
        f"{counted(agreement.pages, 'golden page')}, {counted(agreement.blocks, 'block')}: at most "
        f"{agreement.from_training:.1e} from the trained model, {agreement.in_batches:.1e} in batches"
    )
    echo(f"latency of a page: {_latency(report.latency)}")
    if report.latency_beside:
        echo(f"  of {report.beside}, the default version: {_latency(report.latency_beside)}")
    echo(f"verified ({report.labeler})")


def print_fault(fault: FaultError, *, as_json: bool) -> None:
    """Why a version is not to be served."""
    if as_json:
        _print_object({"ok": False, "fault": fault.fault, "message": fault.message})
    click.echo(f"dehusk: not to be served: {printable(str(fault))}", err=True)


def print_added(version: Path, *, is_loaded: bool, as_json: bool) -> None:
    """Where a version is, and how it is served next."""
    from dehusk.inference.repository import served

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


def print_removed(name: str, *, as_json: bool) -> None:
    """What was removed."""
    if as_json:
        _print_object({"removed": name})
    else:
        echo(f"removed {name}")


def _golden_pages(version: Path) -> list[str]:
    from dehusk.inference.golden import GOLDEN_FILE
    from dehusk.streams.models.files import MOST_TEXT_BYTES, read_plain

    if not (version / GOLDEN_FILE).exists():
        return []
    try:
        stored = orjson.loads(read_plain(version / GOLDEN_FILE, MOST_TEXT_BYTES))
        return [str(each["name"]) for each in stored]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ["unreadable"]


def _with_roles(known: dict[str, Any], roles: Sequence[Role] | None) -> dict[str, Any]:
    return {**known, "roles": [asdict(each) for each in roles or ()]}


def _row(known: KnownVersion, *, is_triton_known: bool) -> tuple[str, ...]:
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


def _summary(statistics: Statistics) -> str:
    return (
        f"since it was loaded: {counted(statistics.requests, 'request')}, "
        f"{counted(statistics.failures, 'failure')}; queue {statistics.queue_ms:.2f} ms, "
        f"compute {statistics.compute_ms:.2f} ms, {statistics.batch_size:.2f} requests in a batch"
    )


def _latency(latency: Latency) -> str:
    return f"{latency.p50:.1f} ms in the middle, {latency.p99:.1f} ms at the 99th percentile"


def _print_object(fields: dict[str, Any]) -> None:
    click.echo(orjson.dumps(fields))
