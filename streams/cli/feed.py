"""`dehusk feed`: pages from files onto a topic."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.filesize import decimal

from dehusk.schemas.errors import DehuskError
from dehusk.schemas.outcomes import Broken, Skipped, SkipReason
from dehusk.streams.cli.shared.interrupts import exit_at_once_on_errors, report_interruption
from dehusk.streams.cli.shared.kafka_options import compression_option, kafka_options, topic_option
from dehusk.streams.cli.shared.options import NumberRange, PathOrUrl, choice_option
from dehusk.streams.cli.shared.page_options import (
    base_url_option,
    line_fields_option,
    max_page_option,
    require_folders,
    warc_directory_option,
)
from dehusk.streams.cli.shared.terminal import Advance, page_progress, plain_console
from dehusk.streams.files.paths import require_path
from dehusk.streams.files.position import InputPosition
from dehusk.streams.files.readers import read_pages
from dehusk.streams.settings import MIB, Compression, KafkaSettings, TopicSettings
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_crawler_format
from dehusk.streams.stores.stored import InputPath
from dehusk.streams.wording import pluralize, printable

if TYPE_CHECKING:
    from dehusk.streams.files.feeding import FeedCounts, OnProgress
    from dehusk.streams.files.page_lines import LineFields

_NAMED = 20
"""Pages that are named for each reason why they are not sent; all are counted."""
_SHOWN = 200
"""Characters of a URL that are shown."""


@click.command(
    name="feed",
    epilog="""\b
Examples:
  dehusk feed crawl/                               every file below crawl/
  dehusk feed --as warc CC-MAIN-*.warc.gz          the responses of WARC files
  dehusk feed s3://bucket/crawl/                   every object below a folder of a store
  dehusk feed --as scrapy-cluster pages.jsonl.xz   {"id","url","html"} per line
  zcat pages.jsonl.gz | dehusk feed --rate 50 -    50 pages a second""",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=PathOrUrl(allow_dash=True))
@kafka_options
@topic_option("--topic", default=TopicSettings().input, help="The topic to write to; it must exist.")
@choice_option(
    "--as",
    "crawler",
    values=FORMATS,
    default="html",
    help="Write the messages as this crawler would.",
)
@click.option(
    "--rate",
    type=NumberRange(min=0, min_open=True),
    metavar="PAGES",
    help="Most pages to send a second.",
)
@base_url_option
@line_fields_option
@warc_directory_option(
    "Folder of the WARC files that an index among the PATHs points to, or, with --as warc-pointer, of "
    "those that are written for the messages to point to."
)
@compression_option
@max_page_option("is not sent")
def command(
    *,
    kafka: KafkaSettings,
    paths: tuple[InputPath, ...],
    topic: str,
    crawler: str,
    rate: float | None,
    base_url: str,
    line_fields: LineFields,
    warc_directory: InputPath | None,
    compression: Compression,
    max_page_mib: int,
) -> None:
    """Put pages from files on a topic, keyed and written as a crawler would.

    PATH is a file or a directory, read to its depth: HTML files, JSON lines (one {"id","url","html"} per
    line), WARC and ARC files, each plain or compressed by gzip, xz, bzip2 or zstd, WACZ files, and Parquet
    with columns as JSON lines have fields; `-` is JSON lines on standard input. Each may lie in a store:
    s3://, gs://, https://, webhdfs://; a URL that ends with a slash is a folder. Lines or Parquet with the
    columns of Common Crawl's index stand for the records that they point to, below --warc-directory. JSON
    lines are known by their first line, or by .jsonl, .ndjson or .jl. Memory stays the same however much
    there is, and where Kafka is slow, reading waits.

    A line without a "url" is not sent, for a worker could not clean its page. Ends with status 1 if a page
    could not be read or sent. Of what is not sent, the first 20 for each reason are named. The numbers of
    pages are printed at the end, also where Ctrl-C or SIGTERM ends it early.
    """
    from dehusk.streams.files.feeding import FeedCounts, feed
    from dehusk.streams.kafka.client import describe_topic
    from dehusk.streams.kafka.rights import Operation

    settings = SourceSettings(max_bytes=max_page_mib * MIB, warc_directory=warc_directory)
    require_folders(crawler, settings)
    for path in paths:
        require_path(path)
    crawler_format = open_crawler_format(crawler, settings)
    position = InputPosition()
    pages = read_pages(
        paths,
        settings.max_bytes,
        base_url,
        needs_url=True,
        position=position,
        warc_directory=warc_directory,
        fields=line_fields,
    )
    console, counts = plain_console(stderr=True), FeedCounts()
    with exit_at_once_on_errors():
        asyncio.run(describe_topic(kafka, topic, Operation.WRITE))
        try:
            with page_progress("feeding", console, paths, position, shown=sys.stderr.isatty()) as advance:
                asyncio.run(
                    feed(
                        pages,
                        kafka,
                        topic,
                        crawler_format,
                        pages_per_second=rate,
                        compression=compression,
                        counts=counts,
                        on_progress=_reporting(advance, console),
                    )
                )
        except (KeyboardInterrupt, DehuskError) as error:
            click.echo(_summary(counts, topic))
            if isinstance(error, KeyboardInterrupt):
                report_interruption(counts.sent, "sent")
            raise
    click.echo(_summary(counts, topic))
    raise SystemExit(1 if counts.failed else 0)


def _reporting(advance: Advance, console: Console) -> OnProgress:
    """Return a report that moves the bar, and prints a line for each of the first pages that are not sent."""

    def report(counts: FeedCounts, unsent: Skipped | Broken | None) -> None:
        advance(counts.sent, counts.bytes)
        if unsent is not None and _is_named(unsent, counts):
            console.print(_unsent(unsent), soft_wrap=True)

    return report


def _is_named(unsent: Skipped | Broken, counts: FeedCounts) -> bool:
    if isinstance(unsent, Broken):
        return counts.failed[unsent.reason] <= _NAMED
    return unsent.reason is not SkipReason.NOT_A_PAGE and counts.skipped[unsent.reason] <= _NAMED


def _unsent(unsent: Skipped | Broken) -> str:
    what = "not sent" if isinstance(unsent, Broken) else "passed over"
    location = f"{unsent.url[:_SHOWN]}: " if unsent.url else ""
    return printable(f"{what}: {location}{unsent}")


def _summary(counts: FeedCounts, topic: str) -> str:
    lines = [f"{pluralize(counts.sent, 'page')} ({decimal(counts.bytes)}) sent to {topic}"]
    lines += [f"{count:,} passed over: {reason}" for reason, count in counts.skipped.most_common()]
    lines += [f"{count:,} not sent: {reason}" for reason, count in counts.failed.most_common()]
    if counts.unacknowledged:
        lines.append(f"{counts.unacknowledged:,} perhaps sent, without an answer before the end")
    return "\n".join(lines)
