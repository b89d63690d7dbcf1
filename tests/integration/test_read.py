"""`dehusk read`: what lies on a topic of the real Kafka, and what comes."""

import asyncio
import json
import signal
import subprocess
from contextlib import aclosing, contextmanager

import pytest
from aiokafka.admin import NewPartitions

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.kafka import reader
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.documents import read_documents
from tests.commands import DEHUSK, invoke
from tests.integration.conftest import write
from tests.integration.worker.frozen import away

COMMAND = [DEHUSK, "read"]


def document(number):
    return Record(
        b"http://x.test/%d" % number,
        b'{"id":"%d","text":"Text %d\\n\\nin Gr\xc3\xb6\xc3\x9fe"}' % (number, number),
    )


async def run(kafka, *arguments):
    result = await invoke("read", "--brokers", kafka.brokers, *arguments)
    assert result.exit_code == 0
    return result.stdout


async def ids(kafka, *arguments):
    return [json.loads(line)["id"] for line in (await run(kafka, *arguments)).splitlines()]


@contextmanager
def reading(kafka, topic, *arguments):
    """The running process, which leaves none."""
    command = [*COMMAND, "--brokers", kafka.brokers, "--topic", topic, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_prints_every_document_and_no_tombstone(kafka, topics):
    await write(kafka, topics.output, *map(document, range(20)), Record(b"http://x.test/7", None))
    found = await ids(kafka, "--topic", topics.output)
    assert sorted(found, key=int) == [str(number) for number in range(20)]


async def test_an_empty_topic_has_none(kafka, topics):
    assert await run(kafka, "--topic", topics.output) == ""
    assert await run(kafka, "--topic", topics.output, "--last", "3") == ""


async def test_the_last_are_the_newest_of_all_partitions(kafka, topics):
    for number in range(8):
        await write(kafka, topics.output, document(number))
    for count in (0, 1, 5, 100):
        wanted = [str(number) for number in range(8)][-count:] if count else []
        assert await ids(kafka, "--topic", topics.output, "--last", str(count)) == wanted


async def test_the_last_are_found_behind_tombstones(kafka, topics):
    for number in range(4):
        await write(kafka, topics.output, document(number))
    await write(kafka, topics.output, *[Record(document(3).key, None)] * 20)
    assert await ids(kafka, "--topic", topics.output, "--last", "2") == ["2", "3"]


async def test_prints_texts_below_their_urls_and_headlines_and_parts_them_by_form_feeds(kafka, topics):
    value = document(1).value.replace(b"{", b'{"headline":"Foxes & hares",', 1)
    await write(kafka, topics.output, Record(document(1).key, value))
    await write(kafka, topics.output, document(2))
    printed = await run(kafka, "--topic", topics.output, "--text", "--last", "2")
    first, second, rest = printed.split("\f\n")
    assert first == "http://x.test/1\nFoxes & hares\nText 1\n\nin Größe\n"
    assert second == "http://x.test/2\n\nText 2\n\nin Größe\n"
    assert rest == ""


async def test_documents_in_html_are_printed_as_they_are_and_have_no_text(kafka, topics):
    await write(kafka, topics.output, Record(b"http://x.test/", "<p>Größe".encode()))
    await write(kafka, topics.output, Record(b"http://x.test/", b"[1]"))
    assert await run(kafka, "--topic", topics.output) == "<p>Größe\n[1]\n"
    with pytest.raises(ConfigurationError, match=f"{topics.output}/[0-3]/[01] is none"):
        await run(kafka, "--topic", topics.output, "--text")


async def test_follows_until_it_is_interrupted(kafka, topics):
    await write(kafka, topics.output, document(0))
    with reading(kafka, topics.output, "--follow") as process:
        for number in range(1, 9):
            line = await asyncio.to_thread(process.stdout.readline)
            assert json.loads(line)["id"] == str(number - 1)
            await write(kafka, topics.output, document(number))
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert rest == "" or json.loads(rest)["id"] == "8"


async def test_follows_partitions_that_come_later(kafka, topics, admin):
    await write(kafka, topics.output, document(0))
    with reading(kafka, topics.output, "--follow") as process:
        await asyncio.to_thread(process.stdout.readline)
        await admin.create_partitions({topics.output: NewPartitions(6)})
        await write(kafka, topics.output, document(1), partition=5)
        assert json.loads(await asyncio.to_thread(process.stdout.readline))["id"] == "1"
        await write(kafka, topics.output, document(2), partition=0)
        assert json.loads(await asyncio.to_thread(process.stdout.readline))["id"] == "2"
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, errors, rest) == (0, "", "")


@pytest.mark.parametrize("go", ["kill", "pause"])
async def test_follows_through_an_absence_of_kafka_and_says_when_it_began_and_ended(kafka, topics, stack, go):
    await write(kafka, topics.output, document(0))
    with reading(kafka, topics.output, "--follow") as process:
        await asyncio.to_thread(process.stdout.readline)
        async with away(stack.services["kafka-1"], go):
            gone = await asyncio.to_thread(process.stderr.readline)
        back = await asyncio.to_thread(process.stderr.readline)
        await write(kafka, topics.output, document(1))
        assert json.loads(await asyncio.to_thread(process.stdout.readline))["id"] == "1"
        process.send_signal(signal.SIGINT)
        _, more = process.communicate(timeout=60)
    assert gone == "dehusk: Kafka is unavailable, waiting for it: no broker answers\n"
    assert back.startswith("dehusk: Kafka is available again after ")
    assert (process.returncode, more) == (0, "")


async def test_without_following_a_kafka_that_goes_away_is_an_error(kafka, topics, stack, monkeypatch):
    monkeypatch.setattr(reader, "MIB", 1000)  # so that it fetches a batch of each partition at a time
    monkeypatch.setattr(reader, "STALL_SECONDS", 2.0)
    for _ in range(5):
        await write(kafka, topics.output, *map(document, range(200)))
    broker = stack.services["kafka-1"]
    tasks = asyncio.all_tasks()
    async with aclosing(read_documents(kafka, topics.output, newest=None, follow=False)) as documents:
        await anext(documents)
        await asyncio.to_thread(broker.kill)
        try:
            with pytest.raises(UnavailableError, match=f"Kafka at {kafka.brokers} does not answer"):
                assert [each async for each in documents] == []
            assert asyncio.all_tasks() <= tasks
        finally:
            await asyncio.to_thread(broker.start)


async def test_ends_silently_when_nobody_reads_its_lines(kafka, topics):
    await write(kafka, topics.output, *map(document, range(5000)))
    with reading(kafka, topics.output) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) != 0
        assert process.stderr.read() == ""


async def test_a_missing_topic_is_an_error_that_says_how_to_create_it(kafka, fresh):
    with pytest.raises(ConfigurationError, match=f"topic {fresh} does not exist .* --create "):
        await run(kafka, "--topic", fresh)
