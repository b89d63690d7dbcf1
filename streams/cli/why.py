"""`dehusk why`: what became of a page, by the audit topic."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

import click
import orjson

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.cli.options import kafka_options
from dehusk.streams.cli.terminal import echo
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable
from dehusk.streams.settings import KafkaSettings

if TYPE_CHECKING:
    from dehusk.streams.explaining import Finding


@click.command(
    name="why",
    epilog="""\b
Examples:
  dehusk why https://example.org/a --audit-topic audit
  dehusk why https://example.org/a --audit-topic audit --json | jq .page""",
)
@click.argument("url")
@kafka_options
@click.option(
    "--audit-topic",
    metavar="TOPIC",
    required=True,
    help="The topic that workers write with their option of this name.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line, with all that is known.")
def command(*, url: str, kafka: KafkaSettings, audit_topic: str, as_json: bool) -> None:
    """Say what became of the page of URL, each time that a worker was done with it.

    A page gave a document, or it was skipped, or became a dead letter; then there is the reason. The whole
    topic is read. The status is 1 if it says nothing of the page.
    """
    asyncio.run(_print(url, kafka, audit_topic, as_json=as_json))


async def _print(url: str, kafka: KafkaSettings, topic: str, *, as_json: bool) -> None:
    from dehusk.streams.explaining import findings

    async with aclosing(findings(kafka, topic, url)) as found:
        said = sorted([each async for each in found], key=lambda finding: finding.done_at)
    if not said:
        raise ConfigurationError(
            f"{topic} says nothing of {printable(url)}: no worker that writes to it had such a page, "
            "or the topic no longer holds the record; give the whole URL, as the crawler did"
        )
    for finding in said:
        echo(orjson.dumps(finding).decode() if as_json else _line(finding))


def _line(finding: Finding) -> str:
    record, page = finding.record, finding.page
    words = [f"{finding.done_at:%Y-%m-%d %H:%M:%S} UTC", page.outcome.replace("-", " ")]
    if page.reason is not None:
        stage = f" at {page.stage}" if page.stage else ""
        words.append(f"{page.reason}{stage}: {printable(page.detail or '')}")
    elif record.model is not None:
        degraded = f", without {' and '.join(record.degraded)}" if record.degraded else ""
        words.append(f"labeled by {record.model.name}/{record.model.version}{degraded}")
    times = ", ".join(f"{step} {1000 * seconds:.0f} ms" for step, seconds in record.batch.seconds.items())
    of = f"{record.source}, {counted(record.value_bytes, 'byte')}"
    words.append(f"{of}; its batch of {counted(record.batch.messages, 'message')}: {times}")
    return "\n    ".join([" ".join(words[:2]), *words[2:]])
