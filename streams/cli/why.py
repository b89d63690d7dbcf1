"""`dehusk why`: the outcomes of a page, by the audit topic."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import click
import orjson

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.shared.kafka_options import kafka_options, optional_topic_option
from dehusk.streams.cli.shared.options import Url, json_option
from dehusk.streams.cli.shared.terminal import echo, warn
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.wording import pluralize, printable

if TYPE_CHECKING:
    from dehusk.streams.topics.audit import AuditEntry


@click.command(
    name="why",
    epilog="""\b
Examples:
  dehusk why https://example.org/a --audit-topic audit
  dehusk why https://example.org/a --audit-topic audit --json | jq .page
  dehusk why raw-pages/0/78 --audit-topic audit    the page of a message without a URL""",
)
@click.argument("name", metavar="URL|TOPIC/PARTITION/OFFSET")
@kafka_options
@optional_topic_option(
    "--audit-topic", required=True, help="The topic that workers write with their option of this name."
)
@click.option(
    "--monitoring-url",
    type=Url("http", "https"),
    metavar="URL",
    help="Monitoring pages of a worker, such as http://127.0.0.1:8080/: print links to its page inspector.",
)
@json_option("One JSON object per line, with all that is known.")
def command(
    *, name: str, kafka: KafkaSettings, audit_topic: str, monitoring_url: str | None, as_json: bool
) -> None:
    """Say what became of a page, each time that a worker was done with it.

    The page is named by its URL, or by the position of its message or its document, as logs and dead letters
    have it. It gave a document, whose position is printed, or it was skipped, or became a dead letter; then
    there is the reason. With --monitoring-url, a link leads to the page inspector of a worker, which shows
    what became of each block. The whole topic is read. The status is 1 if it says nothing of the page.
    """
    asyncio.run(_print(name, kafka, audit_topic, monitoring_url, as_json=as_json))


async def _print(
    name: str, kafka: KafkaSettings, topic: str, monitoring_url: str | None, *, as_json: bool
) -> None:
    from dehusk.streams.topics.audit import find_entries

    async with aclosing(find_entries(kafka, topic, name)) as stream:
        entries = sorted([entry async for entry in stream], key=lambda entry: entry.done_at)
    if not entries:
        raise ConfigurationError(
            f"{topic} says nothing of {printable(name)}: no worker that writes to it had such a page, "
            "or the topic no longer holds the record; give the whole URL, as the crawler did"
        )
    for entry in entries:
        echo(orjson.dumps(entry).decode() if as_json else _lines(entry, monitoring_url))
    if monitoring_url is None and not as_json:
        warn("--monitoring-url URL of a worker's monitoring pages gives links to its page inspector")


def _lines(entry: AuditEntry, monitoring_url: str | None) -> str:
    from dehusk.streams.topics.audit import PageOutcome

    record, page = entry.record, entry.page
    outcome = page.outcome.replace("-", " ")
    position = f" at {page.document}" if page.document else ""
    words = [f"{entry.done_at:%Y-%m-%d %H:%M:%S} UTC", f"{outcome}{position}"]
    if page.reason is not None:
        stage = f" at {page.stage}" if page.stage else ""
        words.append(f"{page.reason}{stage}: {printable(page.detail or '')}")
    elif record.model is not None:
        degraded = f", without {' and '.join(record.degraded)}" if record.degraded else ""
        words.append(f"labeled by {record.model.name}/{record.model.version}{degraded}")
    times = ", ".join(f"{step} {1000 * seconds:.0f} ms" for step, seconds in record.batch.seconds.items())
    of = f"{record.source}, {pluralize(record.value_bytes, 'byte')}"
    words.append(f"{of}; its batch of {pluralize(record.batch.messages, 'message')}: {times}")
    if monitoring_url is not None and page.outcome is not PageOutcome.TOMBSTONE:
        words.append(f"inspect it: {monitoring_url.rstrip('/')}/inspect/#{record.source}")
    return "\n    ".join([" ".join(words[:2]), *words[2:]])
