"""Counts of sites that workers keep in Redis: exact, whoever dies, and resumed once Redis counts again."""

from contextlib import asynccontextmanager, closing

import numpy as np
import orjson
from redis import Redis

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.pages import Encoding
from dehusk.streams.local.redis import MEMORY_BYTES
from dehusk.streams.preparation.batch import observation
from dehusk.streams.preparation.steps import Preparer
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from dehusk.streams.sites.store import MemorySiteStatistics
from dehusk.streams.sources.registry import SourceSettings, open_source
from tests.integration.conftest import redis_settings


@asynccontextmanager
async def store_of(stack):
    store = RedisSiteStatistics(redis_settings(stack))
    try:
        yield store
    finally:
        await store.close()


async def observations(bench):
    """Observe the pages of the input topic as a worker does, each once."""
    source = open_source("html", SourceSettings())
    found = {}
    for message in await bench.messages(bench.topics.input):
        (page,) = Preparer(100_000).prepare_message(source, message, (Encoding.SITE_KEYS,))
        (labels,) = await RulesLabeler().label([page.encoded])
        found[page.identity.url] = observation(page, labels)
    return list(found.values())


def pluralize(stack, name):
    """The pages of a site that are counted."""
    with closing(Redis.from_url(stack.addresses.redis)) as client:
        state = client.hget(f"dehusk:3:{{{name}.example}}", "state")
    return int.from_bytes((state or bytes(4))[:4], "big")


async def test_counts_are_exact_though_a_worker_is_killed_amid_its_batches(bench, site, stack, fresh) -> None:
    records = site(2000)
    workers = [bench.worker("--source", "html") for _ in range(2)]
    await bench.until(lambda: all(worker.says("reads 2 partitions") for worker in workers))
    await bench.produce(records)
    await bench.until(lambda: pluralize(stack, fresh) >= 100 and workers[0].is_busy())
    children = workers[0].processes()[1:]
    workers[0].kill()
    for child in children:
        child.kill()
    assert pluralize(stack, fresh) < len(records)
    await bench.until_done()

    pages, recount = await observations(bench), MemorySiteStatistics()
    await recount.observe(pages)
    async with store_of(stack) as store:
        for one, other in zip(await store.observe(pages), await recount.observe(pages), strict=True):
            assert one.pages == other.pages == len(records) - 1
            for column in ("texts", "structure_pages", "structure_blocks"):
                np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


async def documents(bench, records):
    """The documents of records, in their order."""
    by_url = {orjson.loads(message.value)["url"]: message.value for message in await bench.documents()}
    return [orjson.loads(by_url[record.key.decode()]) for record in records]


def fill(client):
    client.config_set("maxmemory-policy", "noeviction")
    client.config_set("maxmemory", 1)


def free(client):
    client.config_set("maxmemory", MEMORY_BYTES)


async def test_pages_go_on_while_redis_is_full(bench, site, stack) -> None:
    records = site(300)
    worker = bench.worker("--redis-seconds", "0.5")
    await bench.produce(records[:100])
    await bench.until_done()
    with closing(Redis.from_url(stack.addresses.redis, socket_timeout=60)) as client:
        fill(client)
        try:
            await bench.until(lambda: worker.says("maxmemory-policy to volatile-lru"))
            await bench.produce(records[100:200])
            await bench.until(lambda: worker.counter("dehusk_documents_total") == 200)
        finally:
            free(client)
    await bench.until(worker.is_ready)
    await bench.produce(records[200:])
    await bench.until_done()

    found = await documents(bench, records)
    assert [each["degraded"] for each in found[:100]] == [[]] * 100
    assert ["frequencies"] in [each["degraded"] for each in found[100:200]]
    assert [each["degraded"] for each in found[200:]] == [[]] * 100
    assert max(each["template"]["pages_seen"] for each in found[200:]) >= 200


async def test_counting_starts_over_when_redis_is_flushed(bench, site, stack) -> None:
    records = site(200)
    bench.worker()
    await bench.produce(records[:100])
    await bench.until_done()
    with closing(Redis.from_url(stack.addresses.redis)) as client:
        client.flushall()
    await bench.produce(records[100:])
    await bench.until_done()
    found = await documents(bench, records)
    assert [each["degraded"] for each in found] == [[]] * 200
    assert {each["template"]["pages_seen"] for each in found[100:]} <= set(range(101))


async def test_a_wrong_password_of_redis_is_told_of_without_it(bench, site, stack) -> None:
    records = site(20)
    url = stack.addresses.redis.replace("//", "//dehusk:wr0ngsecret@")
    worker = bench.worker("--redis", url)
    await bench.produce(records)
    await bench.until_done()
    assert [each["degraded"] for each in await documents(bench, records)] == [["frequencies"]] * 20
    assert worker.says("redis is unavailable")
    assert worker.says("Redis refuses to count pages")
    assert not worker.says("wr0ng")
    assert "wr0ng" not in str(worker.report())
