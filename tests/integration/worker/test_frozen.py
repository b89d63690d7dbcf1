"""Workers that are frozen for longer than their session, while others clean on."""

import asyncio

import orjson
import pytest

from dehusk.streams.sources.source import Record
from tests.integration.worker.frozen import FROZEN_SECONDS, freeze, thaw


def of_version(site, version: int) -> list[Record]:
    """The pages of a site as they are at a later crawl."""
    return [
        Record(record.key, (record.value or b"").replace(b"</main>", b"<p>Version %d</p></main>" % version))
        for record in site(400)
    ]


async def newest(bench) -> dict[bytes, int]:
    """Offset of the newest message of each page."""
    return {message.key: message.offset for message in await bench.messages(bench.topics.input)}


async def published(bench) -> dict[bytes, list[int]]:
    """Offsets of the messages of the documents of each page, in the order of the output."""
    offsets: dict[bytes, list[int]] = {}
    for message in await bench.documents():
        offsets.setdefault(message.key, []).append(orjson.loads(message.value)["source"]["offset"])
    return offsets


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
async def test_a_worker_that_wakes_replaces_no_newer_document(bench, site, delivery: str) -> None:
    options = ("--source", "html", "--delivery", delivery)
    await bench.produce(of_version(site, 1))
    frozen = bench.worker(*options)
    await bench.until(lambda: frozen.has_partitions() and frozen.is_busy())
    freeze(frozen)
    await bench.produce(of_version(site, 2))
    bench.worker(*options)
    await asyncio.sleep(FROZEN_SECONDS)
    await bench.until_done()
    before = len(await bench.documents())
    thaw(frozen)
    await bench.until(lambda: frozen.log.read_text().count("waits for its partitions") > 1)
    await bench.until(frozen.is_ready)
    await bench.produce([Record(b"https://last.example/", b"<p>Last", (("content-type", b"text/html"),))])
    await bench.until_done()
    documents = await published(bench)
    assert {key: offsets[-1] for key, offsets in documents.items()} == await newest(bench)
    assert len(await bench.documents()) == before + 1


async def test_a_worker_goes_on_once_kafka_confirms_that_it_is_still_a_member(bench, site, stack) -> None:
    """Kafka stands still for longer than a session, but gives nobody else the partitions."""
    await bench.produce(of_version(site, 1))
    worker = bench.worker("--source", "html")
    await bench.until(lambda: worker.has_partitions() and worker.is_busy())
    await asyncio.to_thread(stack.services["kafka-1"].pause)
    await asyncio.sleep(FROZEN_SECONDS)
    await asyncio.to_thread(stack.services["kafka-1"].resume)
    await bench.until_done()
    assert {key: offsets[-1] for key, offsets in (await published(bench)).items()} == await newest(bench)
