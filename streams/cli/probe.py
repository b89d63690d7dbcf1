"""`dehusk probe`: the examination of topics before a worker is attached to them."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from dataclasses import asdict
from statistics import median
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from rich.filesize import decimal

from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.cli.shared.kafka_options import (
    kafka_options,
    membership_options,
    optional_topic_option,
    revisit_options,
    topic_option,
    topic_settings,
)
from dehusk.streams.cli.shared.options import gathered_options, json_option
from dehusk.streams.cli.shared.page_options import source_options
from dehusk.streams.cli.shared.service_options import labeler_option, redis_option, triton_option
from dehusk.streams.cli.shared.terminal import plain_console, print_object, print_table
from dehusk.streams.settings import (
    SUGGESTED_PARTITIONS,
    Guarantee,
    KafkaSettings,
    PageLimits,
    RedisSettings,
    TopicSettings,
    TritonSettings,
)
from dehusk.streams.sources.html import Html
from dehusk.streams.sources.reference import Reference
from dehusk.streams.sources.warc_pointer import WarcPointer
from dehusk.streams.wording import pluralize, printable, program, without_password

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dehusk.streams.probe.topic import Probe, ProbedMessage
    from dehusk.streams.sources.registry import SourceSettings

_TOPICS = TopicSettings()
_NOT_ASKED = "for the line that starts it; nothing is asked of it here"
_DIRECTORY, _ROOT = "DIR", "ROOT"
"""Placeholders in the worker's command line."""
_PLACES = {
    _DIRECTORY: f"{_DIRECTORY} is where the crawler writes its WARC files; Heritrix: jobs/NAME/latest/warcs."
    "\nLook again with --warc-directory to see what becomes of the pages.",
    _ROOT: f"{_ROOT} is the folder below which messages name pages, or its URL in a store.\n"
    "Look again with --reference-root to see what becomes of the pages.",
}
"""Meaning of the placeholders."""
_COLUMNS = ("message", "format", "bytes", "becomes", "encoding", "blocks", "URL", "why")
_OF_PROBE_ALONE = {
    *("config", "input_topic", "framed", "sample", "create", "partitions", "as_json"),
    "sasl_password",
}


@click.command(
    name="probe",
    epilog="""\b
Examples:
  dehusk probe raw-pages --brokers kafka-1:9092
  dehusk probe raw-pages --brokers kafka-1:9092 --create --partitions 16
  dehusk probe raw-pages --brokers kafka-1:9092 --redis redis://redis:6379/0 --triton triton:8001
  dehusk probe '^crawl-' --brokers kafka-1:9092
  dehusk probe raw-pages --sample 1000 --json | jq .formats
  dehusk probe raw-pages --source json --field url=link --field html=page.body""",
)
@click.argument(
    "input_topic",
    nargs=-1,
    required=True,
    metavar="TOPIC…",
    callback=lambda _context, _argument, names: ",".join(names),
)
@kafka_options
@source_options
@topic_option("--output", default=_TOPICS.output, help="The topic for the worker's cleaned documents.")
@topic_option(
    "--dead-letters",
    default=_TOPICS.dead_letters,
    help="The topic for what the worker cannot clean.",
)
@optional_topic_option("--unsure-topic", help="The topic for the worker's unsure documents, if wanted.")
@revisit_options
@membership_options
@labeler_option(default="triton", help=f"The worker's labeler, {_NOT_ASKED}.")
@triton_option(help=f"gRPC address of the worker's Triton server, {_NOT_ASKED}.")
@redis_option(help=f"The worker's Redis, {_NOT_ASKED}.")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Number of messages in the sample: the newest of each partition.",
)
@click.option(
    "--create",
    is_flag=True,
    help="Create the topics that are missing first: TOPIC, for a crawler to fill, and what the worker is to "
    "write to. The only thing that this command changes.",
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    default=SUGGESTED_PARTITIONS,
    show_default=True,
    help="With --create: number of partitions of TOPIC, which is how many workers can share it. Others get "
    "as many.",
)
@json_option()
@gathered_options("topics", topic_settings)
def command(
    *,
    topics: TopicSettings,
    kafka: KafkaSettings,
    source: str,
    source_settings: SourceSettings,
    delivery: Guarantee,
    labeler: str,
    triton: str,
    redis: str,
    sample: int,
    create: bool,
    partitions: int,
    as_json: bool,
) -> None:
    """Look at topics before attaching to them.

    TOPIC is what the worker's --input takes: a name, names separated by commas, or a regular expression that
    begins with ^; or give several names.

    Reads a sample without joining a consumer group and without committing anything, and decodes and segments
    it as a worker would: which crawler's format each message is, its URL, encoding and size, what would be
    skipped or become a dead letter, and why. Ends with the commands that create the missing topics, grant the
    missing rights and start the worker; with what to do instead where every message would become a dead
    letter. With --create, these topics are created first.
    """
    from dehusk.streams.kafka.client import create_all_topics, create_command
    from dehusk.streams.kafka.rights import granting_commands
    from dehusk.streams.probe.topic import probe

    context = click.get_current_context()
    limits = PageLimits(source_settings.max_bytes)
    created = asyncio.run(create_all_topics(kafka, topics, partitions, limits.max_bytes)) if create else ()
    probing = probe(kafka, topics, source, source_settings, delivery, sample=sample, limits=limits)
    result = asyncio.run(probing)
    creating = [create_command(kafka, missing) for missing in result.missing]
    granting = granting_commands(kafka, result.denied)
    fits = not result.reasons_against or bool(_lacking_place(context, result))
    worker = _worker_command(context, result) if fits else None
    if as_json:
        commands = {"created": created, "create": creating, "grant": granting, "worker": worker}
        print_object({**_fields(result), **commands})
    else:
        if created:
            click.echo(f"created: {', '.join(created)}\n")
        _show(result, creating, granting, worker)
        if worker and (hint := _services_hint(labeler, triton, redis)):
            click.echo(f"\n{hint}")


def _worker_command(context: click.Context, result: Probe) -> str:
    """Return the worker's command line, by what was given to this command and found of the messages."""
    words = ["worker", "--input", context.params["input_topic"]]
    if _needs_framed(context, result):
        words.append("--framed")
    secrets = ["DEHUSK_WORKER_SASL_PASSWORD=… "] if context.params["sasl_password"] else []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _OF_PROBE_ALONE or context.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        value = context.params[name]
        if value is None or (name == "triton" and context.params["labeler"] != name):
            continue  # an empty value is none, and the environment may name a Triton for other commands
        if isinstance(value, str) and "://" in value and value != without_password(value):
            secrets.append(f"DEHUSK_WORKER_{name.upper()}=… ")
        else:
            for one in value if parameter.multiple else [value]:
                words += [parameter.opts[0], str(one)]
    words += _lacking_place(context, result)
    return f"{''.join(secrets)}{program()} {shlex.join(words)}"


def _lacking_place(context: click.Context, result: Probe) -> list[str]:
    """Return the option of the place of what all messages point to, if nothing says where that is."""
    source = _source(context, result)
    if source == WarcPointer.name and context.params["warc_directory"] is None:
        return ["--warc-directory", _DIRECTORY]
    if source == Reference.name and not context.params["reference_root"]:
        return ["--reference-root", _ROOT]
    return []


def _source(context: click.Context, result: Probe) -> str | None:
    """Return the format that was asked for, else that of all messages, if there is but one."""
    chosen: str = context.params["source"]
    return result.format if chosen == "auto" else chosen


def _needs_framed(context: click.Context, result: Probe) -> bool:
    """Return True if frames have to be declared: they are recognised in all formats but `html`."""
    is_html = context.params["source"] == Html.name
    return context.params["framed"] or (is_html and result.framed)


def _services_hint(labeler: str, triton: str, redis: str) -> str | None:
    """Name the options of the worker's services of which nothing was said; None without any."""
    options = ["--redis URL"] if redis == RedisSettings().url else []
    if labeler == "triton" and triton == TritonSettings().address:
        options.append("--triton HOST:PORT")
    if not options:
        return None
    return (
        f"Add {' and '.join(options)} where they do not run on its machine; --labeler onnx needs no Triton."
    )


def _fields(result: Probe) -> dict[str, Any]:
    return {
        "topics": [
            {name: value for name, value in asdict(topic).items() if name != "settings"}
            for topic in result.topics
        ],
        "formats": dict(_formats(result)),
        "framed": result.framed,
        "outcomes": dict(_outcomes(result)),
        "messages": [asdict(message) for message in result.messages],
    }


def _formats(result: Probe) -> Counter[str]:
    return Counter(map(_kind, result.messages))


def _outcomes(result: Probe) -> Counter[str]:
    return Counter(finding.verdict.value for message in result.messages for finding in message.findings)


def _show(result: Probe, creating: list[str], granting: list[str], worker: str | None) -> None:
    from dehusk.streams.kafka.client import topics_of_local_stack

    console = plain_console()
    if result.messages:
        print_table(console, _COLUMNS, _rows(result))
    console.print(_summary(result))
    if creating:
        console.print("\nTopics to create, with --create or Kafka's own tools:")
        for line in creating:
            console.print(f"  {line}", soft_wrap=True)
        console.print(f"Or name topics that exist: {topics_of_local_stack()}.")
    if granting:
        console.print("\nRights that this user lacks for a worker, to grant with Kafka's own tools:")
        for line in granting:
            console.print(f"  {line}", soft_wrap=True)
    if worker is None:
        console.print(f"\n{_no_worker(result)}", soft_wrap=True)
        return
    console.print("\nThe worker for it:")
    console.print(f"  {printable(worker)}", soft_wrap=True)
    if place := _PLACES.get(worker.rpartition(" ")[2]):
        console.print(place, soft_wrap=True)


def _no_worker(result: Probe) -> str:
    missing = (
        "--schema-registry and the URL of the registry that has them"
        if set(result.reasons_against) == {BrokenReason.UNKNOWN_SCHEMA}
        else "--source and the crawler's format, or with --source json --field url=PATH --field html=PATH "
        "for JSON of your own"
    )
    return (
        "No worker fits yet: all that was looked at would become dead letters: "
        f"{', '.join(result.reasons_against)}.\nThe column `why` says more. Look again with {missing}."
    )


def _kind(message: ProbedMessage) -> str:
    return "tombstone" if message.is_tombstone else message.format or "unknown"


def _rows(result: Probe) -> Iterator[tuple[str, ...]]:
    for message in result.messages:
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


def _summary(result: Probe) -> str:
    """Summarise the sample, a line each: topics, formats, outcomes, sizes."""
    lines = [
        f"{topic.name}: {pluralize(topic.partitions, 'partition')}, {pluralize(topic.replicas, 'replica')}"
        for topic in result.topics
    ]
    lines[0] = f"\n{lines[0]}"
    if not result.messages:
        return "\n".join([*lines, "no messages yet: nothing is known of their format"])
    sizes = [message.bytes for message in result.messages]
    lines.append(
        f"{pluralize(len(sizes), 'message')}: {decimal(int(median(sizes)))} in the middle, "
        f"{decimal(max(sizes))} at most"
    )
    lines += [f"{count:,} {name}" for name, count in _formats(result).most_common()]
    if result.framed:
        lines.append("each framed by a schema registry: --framed")
    lines += [f"{count:,} would become: {outcome}" for outcome, count in _outcomes(result).most_common()]
    return "\n".join(lines)
