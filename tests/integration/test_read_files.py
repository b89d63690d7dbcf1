"""`dehusk read --output` from the real Kafka: each document is in one file, once, whatever happens."""

import asyncio
import json
import random
import re
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import urljoin

import pyarrow.parquet as pq
import pytest
from aiokafka.admin import RecordsToDelete
from aiokafka.structs import TopicPartition

from dehusk.schemas.documents import Origin
from dehusk.streams.dataset.folder import file_format
from dehusk.streams.dataset.parts import SUFFIXES
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.producer import create_producer
from dehusk.streams.sources.source import Record
from tests.commands import DEHUSK
from tests.documents import FULL
from tests.integration.conftest import write
from tests.integration.registry import running_registry
from tests.unit.streams.offline.test_files import rows

COMMAND = [DEHUSK, "read"]
SECONDS = 120


def document(number):
    url = f"http://x.test/{number}"
    written = replace(FULL, id=str(number), url=url, text=f"{number} " + random.randbytes(200).hex())
    return Record(url.encode(), written.to_json_bytes())


def command(kafka, topic, folder, *options):
    given = ["--brokers", kafka.brokers, "--topic", topic, "--output", str(folder), *options]
    return [*COMMAND, *given]


async def read(kafka, topic, folder, *options):
    """Return the ended command."""
    run = subprocess.run
    words = command(kafka, topic, folder, *options)
    return await asyncio.to_thread(run, words, capture_output=True, text=True, check=False, timeout=SECONDS)


@contextmanager
def reading(kafka, topic, folder, *options):
    """The running command, which leaves none."""
    words = command(kafka, topic, folder, *options)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def until(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def files(folder):
    return sorted(folder.glob("part-*"))


def urls(folder, name="parquet"):
    return Counter(str(row["url"]) for row in rows(folder, name))


def expected(count):
    return Counter(f"http://x.test/{number}" for number in range(count))


@pytest.mark.parametrize("name", SUFFIXES)
async def test_every_document_is_in_a_file_and_no_tombstone(kafka, topics, tmp_path, name):
    await write(kafka, topics.output, *map(document, range(50)), Record(b"http://x.test/7", None))
    ended = await read(kafka, topics.output, tmp_path, "--output-format", name)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert urls(tmp_path, name) == expected(50)
    ended = await read(kafka, topics.output, tmp_path, "--output-format", name, "--resume")
    assert (ended.returncode, ended.stderr) == (0, f"dehusk: going on after 50 pages in {tmp_path}\n")
    await write(kafka, topics.output, *map(document, range(50, 60)))
    await read(kafka, topics.output, tmp_path, "--output-format", name, "--resume")
    assert urls(tmp_path, name) == expected(60)
    assert len(files(tmp_path)) == 2


async def test_a_row_says_which_record_it_is_and_a_file_which_it_holds(kafka, topics, tmp_path):
    await write(kafka, topics.output, *map(document, range(40)))
    await read(kafka, topics.output, tmp_path, "--file-mib", "0.005")
    note = file_format("parquet").read_note
    ends = dict.fromkeys(map(str, range(4)), 0)
    assert len(files(tmp_path)) > 1
    for file in files(tmp_path):
        held = json.loads(note(file))
        assert held["options"].keys() == {"command", "topic", "cluster"}
        assert all(held["options"].values())
        assert held["from"]["offsets"] == ends
        ends = held["to"]["offsets"]
        for row in pq.read_table(file).to_pylist():
            partition, offset = row["record_partition"], row["record_offset"]
            assert held["from"]["offsets"][str(partition)] <= offset < ends[str(partition)]
            assert row["record_topic"] == topics.output
    assert sum(ends.values()) == 40


@pytest.mark.parametrize("name", SUFFIXES)
async def test_a_sink_that_is_killed_again_and_again_has_each_document_once(kafka, topics, tmp_path, name):
    chance, count, kills = random.Random(), 0, 0
    options = ("--follow", "--resume", "--output-format", name, "--file-mib", "0.05", "--file-seconds", "0.3")
    for _ in range(5):
        more = chance.randrange(50, 300)
        await write(kafka, topics.output, *map(document, range(count, count + more)))
        count, known = count + more, len(files(tmp_path))
        with reading(kafka, topics.output, tmp_path, *options) as process:
            wanted = known + chance.randrange(2)
            await until(lambda wanted=wanted: len(files(tmp_path)) >= wanted)
            await asyncio.sleep(chance.random() * 0.1)
            process.kill()
            kills += process.wait() == -signal.SIGKILL
    ended = await read(kafka, topics.output, tmp_path, "--resume", "--output-format", name)
    assert ended.returncode == 0
    assert kills == 5
    assert urls(tmp_path, name) == expected(count)
    assert not list(tmp_path.glob(".part*"))


async def test_follows_and_completes_files_in_time_and_when_it_is_interrupted(kafka, topics, tmp_path):
    await write(kafka, topics.output, *map(document, range(3)))
    with reading(kafka, topics.output, tmp_path, "--follow", "--file-seconds", "0.5") as process:
        await until(lambda: urls(tmp_path) == expected(3))
        await write(kafka, topics.output, *map(document, range(3, 5)))
        await until(lambda: urls(tmp_path) == expected(5))
        process.send_signal(signal.SIGINT)
        _, errors = await asyncio.to_thread(process.communicate, timeout=SECONDS)
    assert (process.returncode, errors) == (0, "")
    with reading(kafka, topics.output, tmp_path, "--follow", "--resume") as process:
        await write(kafka, topics.output, *map(document, range(5, 8)))
        await until(lambda: list(tmp_path.glob(".part*")))
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.communicate, timeout=SECONDS)
    assert process.returncode == 0
    await read(kafka, topics.output, tmp_path, "--resume")
    assert urls(tmp_path) == expected(8)


@pytest.mark.parametrize("name", SUFFIXES)
async def test_a_record_that_is_no_document_has_a_row_with_an_error(kafka, topics, tmp_path, name):
    broken = [
        Record(b"http://x.test/1", b"<p>HTML\n"),
        Record(b"", b'{"text": "x"\n}'),
        Record(b"k", b"[1]"),
    ]
    await write(kafka, topics.output, document(0), *broken)
    ended = await read(kafka, topics.output, tmp_path, "--output-format", name)
    said = "dehusk: 3 records without a document in JSON: see `error` of the rows\n"
    assert (ended.returncode, ended.stderr) == (0, said)
    errors = [str(row["error"]) for row in rows(tmp_path, name) if row.get("error")]
    assert len(errors) == 3
    assert {error.partition(f": {topics.output}/")[0] for error in errors} == {"malformed-message"}


async def test_documents_by_a_schema_need_the_registry_that_has_it(kafka, topics, tmp_path, tmp_path_factory):
    framed = b"\0\0\0\0\7avro"
    await write(
        kafka, topics.output, document(0), Record(b"k", framed, (("content-type", b"application/avro"),))
    )
    ended = await read(kafka, topics.output, tmp_path)
    said = "the value needs schema ids/7: give --schema-registry\n"
    assert (ended.returncode, ended.stderr.endswith(said)) == (1, True)
    ended = await read(kafka, topics.output, tmp_path, "--resume", "--schema-registry", "http://127.0.0.1:1")
    assert (ended.returncode, "is unavailable" in ended.stderr) == (1, True)
    with running_registry(tmp_path_factory.mktemp("registry")) as registry:
        nowhere = urljoin(registry.url, "/")
        ended = await read(kafka, topics.output, tmp_path, "--resume", "--schema-registry", nowhere)
        assert "is the path of --schema-registry that" in ended.stderr
        ended = await read(kafka, topics.output, tmp_path, "--resume", "--schema-registry", registry.url)
    (error,) = [row["error"] for row in rows(tmp_path, "parquet") if row["error"]]
    assert (ended.returncode, error.partition(":")[0]) == (1, "unknown-schema")


async def test_records_that_kafka_deleted_before_they_were_read_are_told(kafka, topics, tmp_path, admin):
    topic = f"{topics.output}-short"
    await create_topics(kafka, [Topic(topic, partitions=1, replicas=1)])
    await write(kafka, topic, *map(document, range(10)))
    assert (await read(kafka, topic, tmp_path)).returncode == 0
    await write(kafka, topic, *map(document, range(10, 20)))
    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=15)})
    ended = await read(kafka, topic, tmp_path, "--resume")
    assert ended.returncode == 1
    lost = f"dehusk: Kafka has deleted records before they were read: {Origin(topic, 0, 10)} up to 15\n"
    assert ended.stderr == f"dehusk: going on after 10 pages in {tmp_path}\n{lost}"
    assert urls(tmp_path) == expected(20) - Counter(f"http://x.test/{at}" for at in range(10, 15))


@pytest.mark.parametrize("follow", [False, True])
async def test_the_ends_of_transactions_are_no_records_that_kafka_deleted(
    kafka, topics, tmp_path, admin, follow
):
    topic = f"{topics.output}-short"
    await create_topics(kafka, [Topic(topic, partitions=1, replicas=1)])

    async def write_transactions():
        async with create_producer(kafka, transactional_id=topic) as producer:
            for records in (range(10), range(10, 15)):
                await producer.begin_transaction()
                for at in records:
                    await producer.send(topic, document(at).value, document(at).key)
                await (producer.commit_transaction() if records.start == 0 else producer.abort_transaction())

    if follow:
        with reading(kafka, topic, tmp_path, "--follow", "--file-seconds", "4") as process:
            await until(lambda: any(tmp_path.iterdir()))
            await write_transactions()
            await until(lambda: urls(tmp_path) == expected(10))
            process.send_signal(signal.SIGTERM)
            await asyncio.to_thread(process.communicate, timeout=SECONDS)
    else:
        await write_transactions()
        assert (await read(kafka, topic, tmp_path)).returncode == 0
    await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=-1)})
    ended = await read(kafka, topic, tmp_path, "--resume")
    assert (ended.returncode, ended.stderr) == (0, f"dehusk: going on after 10 pages in {tmp_path}\n")
    await write(kafka, topic, *(Record(document(at).key, None) for at in range(5)))
    for _ in range(2):
        ended = await read(kafka, topic, tmp_path, "--resume")
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=-1)})
        assert (ended.returncode, ended.stderr) == (0, f"dehusk: going on after 10 pages in {tmp_path}\n")
    assert len(files(tmp_path)) == 2


async def test_records_that_kafka_deletes_while_others_are_read_are_told(kafka, topics, tmp_path, admin):
    topic = f"{topics.output}-short"
    await create_topics(kafka, [Topic(topic, partitions=1, replicas=1)])
    await write(kafka, topic, *map(document, range(10)))
    with reading(kafka, topic, tmp_path, "--follow", "--file-seconds", "0.3") as process:
        await until(lambda: urls(tmp_path) == expected(10))
        process.send_signal(signal.SIGSTOP)
        await write(kafka, topic, *map(document, range(10, 20)))  # a fetch under way may get some of them
        await write(kafka, topic, *map(document, range(20, 30)))
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=25)})
        process.send_signal(signal.SIGCONT)
        await until(lambda: "http://x.test/29" in urls(tmp_path))
        process.send_signal(signal.SIGINT)
        _, errors = await asyncio.to_thread(process.communicate, timeout=SECONDS)
    assert process.returncode == 1
    said = rf"dehusk: Kafka has deleted records before they were read: {topic}/0/(\d+) up to 25\n"
    first = int(re.fullmatch(said, errors)[1])
    assert 10 <= first <= 20
    assert urls(tmp_path) == expected(30) - Counter(f"http://x.test/{at}" for at in range(first, 25))


async def test_another_topic_than_before_is_refused(kafka, topics, tmp_path, admin):
    await write(kafka, topics.output, *map(document, range(10)))
    await read(kafka, topics.output, tmp_path)
    await admin.delete_topics([topics.output])
    while topics.output in await admin.list_topics():  # noqa: ASYNC110 brokers set no event
        await asyncio.sleep(0.05)
    await create_topics(kafka, [Topic(topics.output, partitions=4, replicas=1)])
    for count in (0, 30):  # fewer than before, and more
        await write(kafka, topics.output, *map(document, range(count)))
        ended = await read(kafka, topics.output, tmp_path, "--resume")
        assert ended.returncode == 1
        said = f"topic {topics.output} was deleted and created again since the folder was begun"
        assert f"{said}: name an empty folder" in ended.stderr
    ended = await read(kafka, topics.input, tmp_path, "--resume")
    assert f"topic was '{topics.output}' and is '{topics.input}'" in ended.stderr
    assert len(files(tmp_path)) == 1


@contextmanager
def printing(kafka, topic, file):
    """The running command that follows the topic and prints into a file, which leaves none."""
    words = [*COMMAND, "--brokers", kafka.brokers, "--topic", topic, "--follow"]
    with (
        file.open("w") as out,
        subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def printed(file):
    return Counter(json.loads(line)["url"] for line in file.read_text().split("\n")[:-1])


async def make_again(kafka, topic, admin, process):
    """Have another topic of the name, which holds more, before the process looks."""
    await asyncio.sleep(1.5)
    process.send_signal(signal.SIGSTOP)
    await admin.delete_topics([topic])
    while topic in await admin.list_topics():  # noqa: ASYNC110 brokers set no event
        await asyncio.sleep(0.05)
    await create_topics(kafka, [Topic(topic, partitions=1, replicas=1)])
    await write(kafka, topic, *map(document, range(10, 40)))
    process.send_signal(signal.SIGCONT)


async def test_a_topic_that_is_made_again_while_it_is_followed_is_printed_whole(
    kafka, topics, tmp_path, admin
):
    topic = f"{topics.output}-again"
    await create_topics(kafka, [Topic(topic, partitions=1, replicas=1)])
    await write(kafka, topic, *map(document, range(10)))
    with printing(kafka, topic, tmp_path / "printed") as process:
        await until(lambda: printed(tmp_path / "printed") == expected(10))
        await make_again(kafka, topic, admin, process)
        await until(lambda: printed(tmp_path / "printed").keys() == expected(40).keys())
        process.send_signal(signal.SIGINT)
        _, errors = await asyncio.to_thread(process.communicate, timeout=SECONDS)
    said = f"topic {topic} was deleted and created again: it is read from its beginning"
    assert (process.returncode, said in errors) == (0, True)


async def test_a_topic_that_is_made_again_while_it_is_followed_ends_its_files(kafka, topics, tmp_path, admin):
    topic = f"{topics.output}-again"
    await create_topics(kafka, [Topic(topic, partitions=1, replicas=1)])
    await write(kafka, topic, *map(document, range(10)))
    with reading(kafka, topic, tmp_path, "--follow", "--file-seconds", "0.3") as process:
        await until(lambda: urls(tmp_path) == expected(10))
        await make_again(kafka, topic, admin, process)
        _, errors = await asyncio.to_thread(process.communicate, timeout=SECONDS)
    said = f"topic {topic} was deleted and created again since the folder was begun: name an empty folder"
    assert (process.returncode, said in errors) == (1, True)


@pytest.mark.parametrize("words", [["--last", "3"], ["--text"]])
async def test_what_is_for_printing_does_not_go_with_files(kafka, topics, tmp_path, words):
    ended = await read(kafka, topics.output, tmp_path / "out", *words)
    assert ended.returncode == 2
    assert "--output takes all documents as they are" in ended.stderr
    assert not (tmp_path / "out").exists()
