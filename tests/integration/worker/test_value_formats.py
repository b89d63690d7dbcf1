"""Documents by the schemas of a real registry, from a worker to their readers."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from urllib.error import HTTPError

import aiohttp
import orjson
import pyarrow.parquet as pq
import pytest

from dehusk.streams.kafka.reader import read
from dehusk.streams.settings import ValueFormat
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.value_formats import DESCRIBED
from tests.commands import DEHUSK
from tests.integration.registry import Registry, running_registry
from tests.integration.worker.conftest import Bench, Worker
from tests.integration.worker.test_inspector import OWN, position

Pages = Callable[[int], list[Record]]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([DEHUSK, *words], capture_output=True, text=True, timeout=120, check=False)


def started(bench: Bench, registry: Registry, value_format: str, *options: str) -> Worker:
    return bench.worker("--schema-registry", registry.url, "--value-format", value_format, *options)


@pytest.mark.parametrize(
    ("value_format", "delivery"),
    [("json-schema", "at-least-once"), ("avro", "exactly-once"), ("protobuf", "at-least-once")],
)
async def test_documents_are_read_as_they_were_written(
    bench: Bench, registry: Registry, site: Pages, tmp_path: Path, *, value_format: str, delivery: str
) -> None:
    registry.service.start()
    pages, topic = site(30), bench.topics.output
    worker = started(bench, registry, value_format, "--delivery", delivery, "--with-blocks")
    await bench.produce(pages)
    await bench.until_done()
    version = registry.ask(f"/subjects/{topic}-value/versions/latest")
    frames = {message.value[:5] async for message, _ in read(bench.kafka, topic) if message.value}
    assert isinstance(version, dict)
    assert frames == {b"\0" + version["id"].to_bytes(4)}
    source = ("--brokers", bench.kafka.brokers, "--topic", topic)
    printed = await asyncio.to_thread(run, "read", *source, "--schema-registry", registry.url)
    documents = [orjson.loads(line) for line in printed.stdout.splitlines()]
    assert {each["url"].encode() for each in documents} == {page.key for page in pages}
    assert all(each["text"] and each["blocks"] and each["source"] for each in documents)
    folder = tmp_path / "lake"
    words = ("read", *source, "--schema-registry", registry.url, "--output", str(folder))
    assert (await asyncio.to_thread(run, *words)).returncode == 0
    rows = [row for file in folder.glob("*.parquet") for row in pq.read_table(file).to_pylist()]
    assert {row["url"]: row["text"] for row in rows} == {each["url"]: each["text"] for each in documents}
    assert {row["error"] for row in rows} == {None}
    async with aiohttp.ClientSession(worker.monitoring) as client:
        (document, *_) = await bench.documents()
        async with client.post("/inspect/positions", params=position(document), headers=OWN) as answer:
            assert answer.status == 201, await answer.text()
    assert worker.stop() == 0


async def test_the_registry_is_needed_at_the_start_alone(
    bench: Bench, registry: Registry, site: Pages
) -> None:
    registry.service.start()
    pages = site(20)
    worker = started(bench, registry, "avro")
    await bench.until(worker.has_partitions)
    registry.service.kill()
    await bench.produce(pages)
    await bench.until_done()
    assert worker.is_ready()
    assert {message.key for message in await bench.documents()} == {page.key for page in pages}
    assert worker.stop() == 0
    away = started(bench, registry, "avro")
    assert await asyncio.to_thread(away.process.wait, 60) == 1
    assert away.says("is unavailable")
    assert away.says("start it, or give its address with --schema-registry URL")
    source = ("--brokers", bench.kafka.brokers, "--topic", bench.topics.output)
    for options, words in (
        ((), "give --schema-registry"),
        (("--schema-registry", registry.url), "is unavailable"),
    ):
        ended = await asyncio.to_thread(run, "read", *source, *options)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert words in ended.stderr
        assert "Traceback" not in ended.stderr


def of_an_older_release(value_format: ValueFormat) -> str:
    """The schema of documents without their kind, which came later."""
    schema = DESCRIBED[value_format].schema
    if value_format is ValueFormat.PROTOBUF:
        return "\n".join(line for line in schema.splitlines() if " page_kind" not in line)
    older = orjson.loads(schema)
    if value_format is ValueFormat.AVRO:
        older["fields"] = [each for each in older["fields"] if not each["name"].startswith("page_kind")]
    else:
        del older["properties"]["page_kind"], older["properties"]["page_kind_probability"]
    return orjson.dumps(older).decode()


@pytest.mark.parametrize(
    ("value_format", "level", "is_compatible"),
    [
        *((each, "BACKWARD", True) for each in DESCRIBED),
        (ValueFormat.AVRO, "FULL", True),
        (ValueFormat.JSON_SCHEMA, "FORWARD", False),
        (ValueFormat.PROTOBUF, "FORWARD", False),
    ],
)
def test_a_registry_takes_a_schema_with_a_further_field(
    registry: Registry, fresh: str, value_format: ValueFormat, level: str, *, is_compatible: bool
) -> None:
    registry.service.start()
    subject, language = f"/subjects/{fresh}", DESCRIBED[value_format].language
    older, newer = (
        {"schema": schema, "schemaType": language}
        for schema in (of_an_older_release(value_format), DESCRIBED[value_format].schema)
    )
    registry.ask(f"{subject}/versions", older, "POST")
    registry.ask(f"/config/{fresh}", {"compatibility": level}, "PUT")
    with nullcontext() if is_compatible else pytest.raises(HTTPError, match="409"):
        registry.ask(f"{subject}/versions", newer, "POST")
    registry.ask(subject, older, "POST")  # by which the older release goes on, or is gone back to


async def test_a_schema_that_is_not_compatible_ends_the_start(bench: Bench, registry: Registry) -> None:
    registry.service.start()
    subject = f"{bench.topics.output}-value"
    other = {"type": "record", "name": "Other", "fields": [{"name": "other", "type": "string"}]}
    registry.ask(f"/subjects/{subject}/versions", {"schema": orjson.dumps(other).decode()}, "POST")
    registry.ask(f"/config/{subject}", {"compatibility": "BACKWARD"}, "PUT")
    refused = started(bench, registry, "avro")
    assert await asyncio.to_thread(refused.process.wait, 60) == 1
    assert refused.says("is not compatible with that of the subject: write to another --output")
    assert not refused.says("Traceback")
    other_subject = started(bench, registry, "avro", "--schema-subject", f"{subject}-2")
    await bench.until(other_subject.has_partitions)
    assert other_subject.stop() == 0
