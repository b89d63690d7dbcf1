"""`dehusk probe`: a look at topics before a worker is attached to them."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any

import click
import orjson
from click.core import ParameterSource
from rich.filesize import decimal

from dehusk.streams.cli.options import (
    checked_topics,
    kafka_options,
    revisit_options,
    source_options,
    topic_option,
)
from dehusk.streams.cli.terminal import plain_console, print_table
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable, without_password
from dehusk.streams.program import program
from dehusk.streams.settings import KafkaSettings, PageLimits, TopicSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dehusk.streams.probing import Probe, ProbedMessage
    from dehusk.streams.sources.registry import SourceSettings

_TOPICS = TopicSettings()
_COLUMNS = ("message", "format", "bytes", "becomes", "encoding", "blocks", "URL", "why")
_OF_PROBE_ALONE = {"config", "topics", "source", "framed", "sample", "as_json", "sasl_password"}


@click.command(
    name="probe",
    epilog="""\b
Examples:
  dehusk probe raw-pages --brokers kafka-1:9092
  dehusk probe '^crawl-' --brokers kafka-1:9092
  dehusk probe raw-pages --sample 1000 --json | jq .formats
  dehusk probe raw-pages --source json --field url=link --field html=page.body""",
)
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC…")
@kafka_options
@source_options
@topic_option("--output", default=_TOPICS.output, help="Where the worker is to write cleaned documents.")
@topic_option(
    "--dead-letters",
    default=_TOPICS.dead_letters,
    help="Where the worker is to write what cannot be cleaned.",
)
@revisit_options
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="How many messages to look at: the newest of each partition.",
)
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON object.")
def command(
    *,
    topics: tuple[str, ...],
    kafka: KafkaSettings,
    source: str,
    source_settings: SourceSettings,
    output: str,
    dead_letters: str,
    revisit_after: int,
    revisit_topic: str,
    sample: int,
    as_json: bool,
) -> None:
    """Look at topics before attaching to them.

    TOPIC is what the worker's --input takes: a name, names separated by commas, or a regular expression that
    begins with ^; or give several names.

    Reads a sample without joining a consumer group and without committing anything, and decodes and segments
    it as a worker would: which crawler's format each message is, its URL, encoding and size, what would be
    skipped or become a dead letter, and why. Ends with the commands that create the missing topics and start
    the worker; with what to do instead where every message would become a dead letter.
    """
    from dehusk.streams.kafka import create_command
    from dehusk.streams.probing import probe

    revisits = revisit_topic if revisit_after else None
    attached = checked_topics(TopicSettings(",".join(topics), output, dead_letters, revisits=revisits))
    limits = PageLimits(source_settings.max_bytes)
    found = asyncio.run(probe(kafka, attached, source, source_settings, sample=sample, limits=limits))
    creating = [create_command(kafka, missing) for missing in found.missing]
    fits = not found.reasons_against
    worker = _worker_command(click.get_current_context(), found) if fits else None
    if as_json:
        click.echo(orjson.dumps({**_fields(found), "create": creating, "worker": worker}))
    else:
        _show(found, creating, worker)


def _worker_command(context: click.Context, found: Probe) -> str:
    """The worker's command line: what was given to this command, and what was found of the messages."""
    words = ["worker", "--input", ",".join(context.params["topics"]), *_found(context, found)]
    secrets = ["DEHUSK_WORKER_SASL_PASSWORD=… "] if context.params["sasl_password"] else []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _OF_PROBE_ALONE or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        value = context.params[name]
        if isinstance(value, str) and "://" in value and value != without_password(value):
            secrets.append(f"DEHUSK_WORKER_{name.upper()}=… ")
        else:
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], str(one)]
    return f"{''.join(secrets)}{program()} {shlex.join(words)}"


def _found(context: click.Context, found: Probe) -> list[str]:
    """The format, if there is but one, and whether every value is framed."""
    chosen = context.params["source"]
    source = found.format if chosen == "auto" else chosen
    named = ["--source", source] if source else []
    return [*named, "--framed"] if found.framed or context.params["framed"] else named


def _fields(found: Probe) -> dict[str, Any]:
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": topic.partitions,
                "replicas": topic.replicas,
                "max_message_bytes": topic.max_message_bytes,
            }
            for topic in found.topics
        ],
        "formats": dict(_formats(found)),
        "framed": found.framed,
        "outcomes": dict(_outcomes(found)),
        "messages": [asdict(message) for message in found.messages],
    }


def _formats(found: Probe) -> Counter[str]:
    return Counter(map(_kind, found.messages))


def _outcomes(found: Probe) -> Counter[str]:
    return Counter(finding.verdict.value for message in found.messages for finding in message.findings)


def _show(found: Probe, creating: list[str], worker: str | None) -> None:
    from dehusk.streams.kafka import topics_of_local_stack

    console = plain_console()
    if found.messages:
        print_table(console, _COLUMNS, _rows(found))
    console.print(_summary(found))
    if creating:
        console.print("\nTopics to create, with Kafka's own tools:")
        for line in creating:
            console.print(f"  {line}", soft_wrap=True)
        console.print(f"Or name topics that exist: {topics_of_local_stack()}.")
    if worker is None:
        console.print(f"\n{_no_worker(found)}", soft_wrap=True)
        return
    console.print("\nThe worker for it:")
    console.print(f"  {printable(worker)}", soft_wrap=True)
    console.print(
        "\nAdd --redis URL and --triton HOST:PORT where they do not run on its machine; "
        "--labeler onnx needs no Triton."
    )


def _no_worker(found: Probe) -> str:
    """What to do where a worker would clean nothing."""
    return (
        "No worker fits yet: all that was looked at would become dead letters: "
        f"{', '.join(found.reasons_against)}.\nThe column `why` says more. Look again with --source and "
        "the crawler's format, or with --source json --field url=PATH --field html=PATH for JSON of your own."
    )


def _kind(message: ProbedMessage) -> str:
    return "tombstone" if message.is_tombstone else message.format or "unknown"


def _rows(found: Probe) -> Iterator[tuple[str, ...]]:
    for message in found.messages:
        for finding in message.findings:
            yield (
                f"{message.topic}/{message.partition}/{message.offset}",
                _kind(message),
                decimal(message.bytes),
                finding.verdict.value,
                finding.encoding or "",
                "" if finding.blocks is None else str(finding.blocks),
                printable(finding.url or ""),
                printable(finding.why or ""),
            )


def _summary(found: Probe) -> str:
    """What the sample holds, a line each: topics, formats, outcomes, sizes."""
    lines = [
        f"{topic.name}: {counted(topic.partitions, 'partition')}, {counted(topic.replicas, 'replica')}"
        for topic in found.topics
    ]
    lines[0] = f"\n{lines[0]}"
    if not found.messages:
        return "\n".join([*lines, "no messages yet: nothing is known of their format"])
    sizes = [message.bytes for message in found.messages]
    lines.append(
        f"{counted(len(sizes), 'message')}: {decimal(int(median(sizes)))} in the middle, "
        f"{decimal(max(sizes))} at most"
    )
    lines += [f"{count:,} {name}" for name, count in _formats(found).most_common()]
    if found.framed:
        lines.append("each framed by a schema registry: --framed")
    lines += [f"{count:,} would become: {outcome}" for outcome, count in _outcomes(found).most_common()]
    return "\n".join(lines)
