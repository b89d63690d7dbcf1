"""`dehusk read`: the documents of the output topic, those on it and those that come, printed or in files."""

import asyncio
import logging
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress

import click
import orjson

from dehusk.schemas.documents import origin_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.pages import Message
from dehusk.streams.cli.shared.kafka_options import kafka_options, topic_option
from dehusk.streams.cli.shared.output_options import LINES, output_options, report_resumption
from dehusk.streams.cli.shared.page_options import registry_option
from dehusk.streams.cli.shared.terminal import echo, warn
from dehusk.streams.dataset.folder import FolderSettings
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.sources.registry import SourceSettings, open_registry
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.wording import pluralize

_SEPARATOR = "\f"
"""Line after each text, which holds none: its white space was folded."""


@click.command(
    name="read",
    epilog="""\b
Examples:
  dehusk read --last 3                       the three newest documents
  dehusk read --last 0 --follow --text       the texts of what comes from now on
  dehusk read --text | awk -v RS='\\f\\n' /corn/     those with a word in them
  dehusk read | jq -r 'select(.text == "") | .url'
  dehusk read --follow --output lake/ --resume     Parquet files, each document once""",
)
@kafka_options
@topic_option("--topic", default=TopicSettings().output, help="The topic to read.")
@click.option(
    "--last",
    type=click.IntRange(min=0),
    metavar="NUMBER",
    help="Number of documents, the newest ones; by default all.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Go on with what comes, until Ctrl-C; while Kafka is unavailable, wait for it.",
)
@click.option(
    "--text",
    "as_text",
    is_flag=True,
    help="Print of each its URL, its headline on a line that may be empty, its text, and a line with a form "
    "feed (\\f), which no text has.",
)
@registry_option
@output_options
def command(
    *,
    kafka: KafkaSettings,
    topic: str,
    last: int | None,
    follow: bool,
    as_text: bool,
    schema_registry: str | None,
    output: FolderSettings | None,
) -> None:
    """Print the documents of the output topic, one line of JSON each, or write them into files.

    Joins no consumer group and commits nothing, so it takes nothing from other readers. A page that was
    cleaned more than once has as many documents, until Kafka compacts the topic; the last one counts.
    Documents that a worker wrote in another --format are printed as they are; those of another --value-format
    are printed in JSON, for which those in Avro need --schema-registry.

    With --output, they are written as files of a folder: Parquet, lines or WET. Each file has its name once
    it is whole, and says which offsets it holds; --resume goes on behind the last one, so each document is in
    one file, once, whatever has ended the run before. A record that is no document in JSON has a row with an
    `error`. The status is 1 if Kafka has deleted records before they were read, or the registry does not know
    a schema.
    """
    if output is not None and (last is not None or as_text):
        raise click.UsageError("--output takes all documents as they are: it goes without --last and --text")
    _configure_logs()
    registry = open_registry(SourceSettings(schema_registry=schema_registry))
    if output is not None:
        _write_files(kafka, topic, output, registry, follow=follow)
        return
    with _interruptible(follow=follow):
        asyncio.run(_print(kafka, topic, last, registry, follow=follow, as_text=as_text))


def _interruptible(*, follow: bool) -> AbstractContextManager[None]:
    """Let an interrupt be the end of what goes on for ever."""
    return suppress(KeyboardInterrupt) if follow else nullcontext()


def _write_files(
    kafka: KafkaSettings,
    topic: str,
    output: FolderSettings,
    registry: SchemaRegistry | None,
    *,
    follow: bool,
) -> None:
    """Write the documents, and say of which this is not possible.

    Raises:
        SystemExit: documents are missing.
    """
    from dehusk.streams.dataset.folder import open_folder
    from dehusk.streams.kafka.client import cluster_id
    from dehusk.streams.topics.files import PLACE_COLUMNS, TopicFiles

    options = {"command": "read", "topic": topic, "cluster": asyncio.run(cluster_id(kafka))}
    with open_folder(output, PLACE_COLUMNS, options) as folder:
        files = TopicFiles(kafka, topic, folder, registry, of_lines=output.format == LINES)
        report_resumption(folder)
        try:
            with _interruptible(follow=follow):
                asyncio.run(files.write(follow=follow))
        finally:
            if files.broken:
                what = f"{pluralize(files.broken, 'record')} without a document in JSON"
                warn(f"{what}: see `error` of the rows")
    if files.is_incomplete:
        raise SystemExit(1)


async def _print(
    kafka: KafkaSettings,
    topic: str,
    last: int | None,
    registry: SchemaRegistry | None,
    *,
    follow: bool,
    as_text: bool,
) -> None:
    from dehusk.streams.topics.documents import read_documents
    from dehusk.streams.topics.value_formats import in_json

    async with aclosing(read_documents(kafka, topic, newest=last, follow=follow)) as documents:
        async for written in documents:
            try:
                document = in_json(written, registry)
            except PageError as error:
                raise ConfigurationError(str(error)) from error
            if as_text:
                echo(f"{_decoded(document.key)}\n{_headline_and_text(document)}")
                click.echo(_SEPARATOR)
            else:
                echo(_decoded(document.value))


def _decoded(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


def _headline_and_text(document: Message) -> str:
    """Return the document's headline, which the formats of corpus tools have in `metadata`, above its text.

    Raises:
        ConfigurationError: it has no text.
    """
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        fields = orjson.loads(document.value or b"")
        headline = fields.get("headline") or (fields.get("metadata") or {}).get("headline")
        return f"{headline or ''}\n{fields['text']}"
    raise ConfigurationError(
        f"--text is for documents in JSON that have a 'text'; {origin_of(document)} is none"
    )


def _configure_logs() -> None:
    """Say on standard error what dehusk logs, not what aiokafka repeats while Kafka is unavailable."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("dehusk: %(message)s"))
    handler.addFilter(lambda record: not record.name.startswith("aiokafka"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("dehusk").setLevel(logging.INFO)
