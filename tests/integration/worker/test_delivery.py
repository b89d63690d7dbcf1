"""Nothing is lost, however workers end: pages in = documents + skipped + dead letters."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import orjson
import pytest
from aiokafka import AIOKafkaProducer

from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.options import client_options
from dehusk.streams.sources.source import Record

PICTURE, BROKEN = 30, 7
"""Every thirtieth page is a picture, every seventh is broken."""


def with_others(pages: Iterator[Record]) -> Iterator[Record]:
    """The pages, with pictures and broken pages for some of them."""
    for number, page in enumerate(pages):
        if number % PICTURE == 0:
            yield Record(page.key, b"\xff\xd8\xff", (("content-type", b"image/jpeg"),))
        elif number and number % BROKEN == 0:
            headers = (("content-type", b"text/html"), ("content-encoding", b"gzip"))
            yield Record(page.key, b"\x1f\x8b\x08 this is no gzip", headers)
        else:
            yield page


def of_the_page_alone(value: bytes) -> dict[str, object]:
    """A document without what depends on the pages of its site that came before."""
    document = orjson.loads(value)
    for field in ("template", "degraded", "text", "text_length"):
        del document[field]
    return document


async def test_kills_at_any_moment_lose_no_page(bench, endless_site) -> None:
    workers = [bench.worker("--source", "html") for _ in range(2)]
    await bench.until(lambda: all(worker.has_partitions() for worker in workers))
    killed = []
    async with bench.crawling(with_others(endless_site), at_once=30, pause=0.3) as records:
        for worker in [*workers, *workers]:
            await bench.until(worker.is_busy)
            killed += worker.processes()
            worker.kill()
            worker.start()
            await bench.until(lambda worker=worker: worker.has_partitions())
    await bench.until_done()

    keys = {record.key for record in records}
    pictures = {record.key for record in records[::PICTURE]}
    broken = {record.key for record in records[BROKEN::BROKEN]} - pictures
    documents = defaultdict(list)
    for message in await bench.documents():
        documents[message.key].append(of_the_page_alone(message.value))
    assert set(documents) == keys - pictures - broken
    assert all(copy == copies[0] for copies in documents.values() for copy in copies)
    letters = await bench.dead_letters()
    assert {letter.original.key for letter in letters} == broken
    assert {letter.reason for letter in letters} == {BrokenReason.MALFORMED_COMPRESSION}
    assert not any(process.is_running() for process in killed)
    assert [worker.stop() for worker in workers] == [0, 0]


async def test_a_worker_that_is_told_to_stop_commits_what_it_has_delivered(bench, site) -> None:
    await bench.produce(site(600))
    worker = bench.worker()
    await bench.until(lambda: worker.has_partitions() and worker.is_busy())
    assert worker.stop() == 0
    assert len(await bench.documents()) == 600 - await bench.left()
    again = bench.worker()
    await bench.until_done()
    assert again.stop() == 0
    assert len(await bench.documents()) == 600


async def test_the_same_page_gives_the_same_bytes(bench, site) -> None:
    page = site(1)[0]
    bench.worker()
    await bench.produce([page] * 40)
    await bench.until_done()
    documents = await bench.documents()
    assert len(documents) == 40
    contents = [orjson.loads(message.value) for message in documents]
    for content in contents:
        del content["source"]
    assert all(content == contents[0] for content in contents)
    assert {message.headers for message in documents} == {documents[0].headers}


async def test_what_a_topic_refuses_for_its_size_ends_as_a_dead_letter(bench, fresh) -> None:
    small = {"max.message.bytes": "100000"}
    bench.topics = replace(bench.topics, output=f"{fresh}-small", dead_letters=f"{fresh}-small-dead")
    names = (bench.topics.output, bench.topics.dead_letters)
    await create_topics(bench.kafka, [Topic(name, 1, 1, small) for name in names])

    html = (("content-type", b"text/html"),)
    quotes = b"<p>" + b'"a" ' * 20_000 + b"</p>"  # JSON writes six bytes for these four
    document_too_large = Record(f"https://{fresh}.example/quotes".encode(), quotes, html)
    gzip = (*html, ("content-encoding", b"gzip"))
    letter_too_large = Record(f"https://{fresh}.example/broken".encode(), b"\x1f\x8b".ljust(99_800), gzip)
    bench.worker("--source", "html")
    await bench.produce([document_too_large, letter_too_large])
    await bench.until_done()

    letters = {letter.original.key: letter for letter in await bench.dead_letters()}
    refused = letters[document_too_large.key]
    assert refused.reason == BrokenReason.DOCUMENT_TOO_LARGE
    assert refused.original == document_too_large
    pointer = letters[letter_too_large.key]
    assert pointer.reason == BrokenReason.MALFORMED_COMPRESSION
    assert not pointer.is_whole
    assert not pointer.original.value
    where = pointer.origin
    assert [
        message.value
        for message in await bench.messages(where.topic)
        if (message.partition, message.offset) == (where.partition, where.offset)
    ] == [letter_too_large.value]
    assert not await bench.documents()


async def test_the_gaps_that_transactions_leave_are_committed(bench, site) -> None:
    records = site(60)
    options = client_options(bench.kafka)
    async with AIOKafkaProducer(**options, transactional_id=bench.topics.group) as producer:
        for start in range(0, len(records), 10):
            async with producer.transaction():
                for record in records[start : start + 10]:
                    await producer.send(bench.topics.input, record.value, record.key)
    worker = bench.worker()
    await bench.until(lambda: worker.has_partitions() and worker.report()["totals"]["pages"] == 60)
    await asyncio.sleep(3)
    assert worker.stop() == 0
    bench.worker()
    await bench.produce(site(61)[60:])
    await bench.until(bench.workers[1].has_partitions)
    await bench.until(lambda: bench.workers[1].report()["totals"]["pages"] > 0)
    assert bench.workers[1].report()["totals"]["pages"] == 1
    assert len(await bench.documents()) == 61


@pytest.mark.parametrize("labeler", ["onnx", "declutter"])
async def test_every_labeler_says_who_labeled(bench, site, labeler: str) -> None:
    bench.worker("--labeler", labeler)
    await bench.produce(site(20))
    await bench.until_done()
    documents = [orjson.loads(message.value) for message in await bench.documents()]
    assert [document["labeler"] for document in documents] == [labeler] * 20


async def test_tombstones_pass_and_traces_go_on(bench, site) -> None:
    page = site(1)[0]
    trace = ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    bench.worker("--format", "html")
    await bench.produce([replace(page, headers=(*page.headers, trace)), Record(page.key, None)])
    await bench.until_done()
    document, tombstone = await bench.documents()
    assert (document.key, tombstone.key, tombstone.value) == (page.key, page.key, None)
    assert document.header("traceparent") == trace[1]
    assert document.header("content-type") == b"text/html; charset=utf-8"
    assert document.value.startswith(b"<!DOCTYPE html>")
