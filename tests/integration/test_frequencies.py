"""Block frequencies: what every store promises, on the double in memory, a Redis and a Redis Cluster."""

import asyncio
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis
from redis.exceptions import RedisError

from schemas.errors import ConfigurationError, UnavailableError
from streams.frequencies.memory import MemoryFrequencyStore
from streams.frequencies.redis_store import RedisFrequencyStore, SiteBounds
from streams.frequencies.store import BlockFrequencyStore, SiteObservation
from streams.local.addresses import LOOPBACK, free_ports
from streams.local.redis import find_redis
from streams.local.stack import LocalStack
from streams.settings import RedisSettings


def page(site: str, name: str, *blocks: int) -> SiteObservation:
    return SiteObservation(site, name, np.array(blocks, np.uint64))


@asynccontextmanager
async def closed_after(store: BlockFrequencyStore) -> AsyncIterator[BlockFrequencyStore]:
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture(scope="module")
def redis(tmp_path_factory) -> Iterator[LocalStack]:
    with LocalStack(tmp_path_factory.mktemp("redis"), services=("redis",)) as running:
        yield running


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[RedisSettings]:
    """Two nodes of a Redis Cluster, each with half of the slots."""
    ports = free_ports(2)
    processes = [start_node(port, tmp_path_factory.mktemp(f"node-{port}")) for port in ports]
    try:
        join(ports)
        yield RedisSettings(f"redis://{LOOPBACK}:{ports[0]}", cluster=True)
    finally:
        for process in processes:
            process.kill()
            process.wait()


def start_node(port, directory):
    options = f"--port {port} --bind {LOOPBACK} --dir {directory} --save --cluster-enabled yes"
    return subprocess.Popen([find_redis(), *options.split()], stdout=subprocess.DEVNULL)


def join(ports):
    nodes = [Redis(port=port) for port in ports]
    for node, slots in zip(nodes, (range(8192), range(8192, 16384)), strict=True):
        until(node.ping)
        node.execute_command("CLUSTER ADDSLOTS", *slots)
        node.execute_command("CLUSTER MEET", LOOPBACK, ports[0])
    for node in nodes:
        until(lambda node=node: node.execute_command("CLUSTER INFO")["cluster_state"] == "ok")
        until(lambda node=node: len(node.execute_command("CLUSTER SLOTS")) == 2)
        node.close()


def until(condition):
    for _ in range(200):
        try:
            if condition():
                return
        except RedisError:
            pass
        time.sleep(0.05)
    raise AssertionError("the cluster does not get ready")


@pytest.fixture(params=["memory", "redis", "cluster"])
async def store(request) -> AsyncIterator[BlockFrequencyStore]:
    if request.param == "memory":
        opened = MemoryFrequencyStore()
    elif request.param == "redis":
        opened = RedisFrequencyStore(redis_settings(request.getfixturevalue("redis")))
    else:
        opened = RedisFrequencyStore(request.getfixturevalue("cluster"))
    async with closed_after(opened):
        yield opened


def redis_settings(stack: LocalStack) -> RedisSettings:
    return RedisSettings(stack.addresses.redis)


async def test_counts_distinct_pages_per_site_and_block(store, fresh):
    first, second, other = await store.observe(
        [page(fresh, "/1", 10, 20), page(fresh, "/2", 20, 30, 10), page(fresh + ".other", "/1", 10)]
    )
    assert (first.pages_seen, first.counts.tolist()) == (1, [1, 1])
    assert (second.pages_seen, second.counts.tolist()) == (2, [2, 1, 2])
    assert (other.pages_seen, other.counts.tolist()) == (1, [1])


async def test_counts_a_page_once_however_often_it_comes(store, fresh):
    await store.observe([page(fresh, "/1", 10), page(fresh, "/1", 10)])
    (again,) = await store.observe([page(fresh, "/1", 10)])
    assert (again.pages_seen, again.counts.tolist()) == (1, [1])


async def test_counts_a_repeated_block_once_per_page(store, fresh):
    (answer,) = await store.observe([page(fresh, "/1", 7, 5, 7, 7)])
    assert answer.counts.tolist() == [1, 1, 1, 1]


async def test_a_changed_page_is_counted_as_it_was_first(store, fresh):
    await store.observe([page(fresh, "/1", 10), page(fresh, "/2", 10)])
    (changed,) = await store.observe([page(fresh, "/1", 10, 99)])
    assert (changed.pages_seen, changed.counts.tolist()) == (2, [2, 1])


async def test_counts_a_page_without_blocks(store, fresh):
    (empty,) = await store.observe([page(fresh, "/1")])
    assert (empty.pages_seen, empty.counts.tolist()) == (1, [])
    assert await store.observe([]) == []


async def test_a_store_that_is_there_can_be_asked_again_and_again(store, fresh):
    for _ in range(3):
        await store.check()


@pytest.mark.parametrize("site", ["", "}", "{}", "{a}b", "é.example", "\udc80", "x" * 5000])
async def test_any_text_is_a_site(store, fresh, site):
    name = f"/{fresh}"
    before = (await store.observe([page(site, name + "1", 1)]))[0].pages_seen
    after = (await store.observe([page(site, name + "2", 1)]))[0].pages_seen
    assert after == before + 1


async def test_keeps_fingerprints_of_all_bits_apart(store, fresh):
    blocks = [0, 1, 2**63, 2**64 - 1, 0x0D0A0D0A0D0A0D0A]
    await store.observe([page(fresh, "/1", *blocks)])
    (answer,) = await store.observe([page(fresh, "/2", *reversed(blocks), 5)])
    assert answer.counts.tolist() == [2, 2, 2, 2, 2, 1]


async def test_counts_more_blocks_than_one_call_takes(store, fresh):
    blocks = range(1, 4_500)
    await store.observe([page(fresh, "/1", *blocks)])
    (answer,) = await store.observe([page(fresh, "/2", *blocks)])
    assert answer.counts.tolist() == [2] * len(blocks)


@pytest.mark.parametrize("kind", ["redis", "cluster"])
async def test_many_stores_that_observe_the_same_pages_at_once_count_exactly(request, fresh, kind):
    where = request.getfixturevalue(kind)
    stores = [RedisFrequencyStore(redis_settings(where) if kind == "redis" else where) for _ in range(8)]
    pages = [page(f"{fresh}-{number % 3}", f"/{number}", 1, 2, 100 + number) for number in range(60)]
    try:
        await asyncio.gather(*(one.observe(pages[turn:] + pages[:turn]) for turn, one in enumerate(stores)))
        for answer in await stores[0].observe(pages):
            assert (answer.pages_seen, answer.counts.tolist()) == (20, [20, 20, 1])
    finally:
        for one in stores:
            await one.close()


observations = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.lists(st.integers(0, 30), max_size=12)),
    max_size=40,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seen=observations, cut=st.integers(1, 7))
def test_agrees_with_the_memory_whatever_comes_in_whatever_batches(redis, seen, cut):
    flush(redis)
    pages = [page(site, f"/{number}", *blocks) for site, number, blocks in seen]

    async def both():
        async with closed_after(RedisFrequencyStore(redis_settings(redis))) as real:
            double = MemoryFrequencyStore()
            for start in range(0, len(pages), cut):
                batch = pages[start : start + cut]
                for one, other in zip(await real.observe(batch), await double.observe(batch), strict=True):
                    assert one.pages_seen == other.pages_seen
                    assert one.counts.tolist() == other.counts.tolist()

    asyncio.run(both())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seen=st.lists(st.sets(st.integers(0, 60), max_size=15), min_size=1, max_size=60), most=st.integers(4, 30)
)
def test_bounded_counts_err_by_no_more_than_stated(redis, seen, most):
    flush(redis)
    true, counted = Counter(), 0

    async def check():
        nonlocal counted
        async with closed_after(RedisFrequencyStore(redis_settings(redis), SiteBounds(blocks=most))) as real:
            for number, blocks in enumerate(seen):
                held, floor_before = kept(redis, "site")
                (answer,) = await real.observe([page("site", f"/{number}", *blocks)])
                true.update(blocks)
                counted += len(blocks)
                for block, count in zip(blocks, answer.counts.tolist(), strict=True):
                    assert count <= true[block] <= count + floor_before
                held, floor = kept(redis, "site")
                assert held <= most
                assert floor <= 2 * counted / most

    asyncio.run(check())


def flush(stack):
    with closing(Redis.from_url(stack.addresses.redis)) as client:
        client.flushall()


def kept(stack, site):
    """How many blocks Redis keeps of a site, and its floor."""
    with closing(Redis.from_url(stack.addresses.redis)) as client:
        fields = client.hgetall(f"dehusk:{{{site}}}:blocks")
    return sum(len(field) == 8 for field in fields), int(fields.get(b"floor", 0))


async def test_counts_are_frozen_when_a_site_has_its_pages(redis, fresh):
    async with closed_after(RedisFrequencyStore(redis_settings(redis), SiteBounds(pages=3))) as store:
        await store.observe([page(fresh, f"/{number}", 1) for number in range(3)])
        for _ in range(2):
            (late,) = await store.observe([page(fresh, "/late", 1, 2)])
            assert (late.pages_seen, late.counts.tolist()) == (4, [4, 1])
        (counted,) = await store.observe([page(fresh, "/0", 1)])
        assert (counted.pages_seen, counted.counts.tolist()) == (3, [3])


@pytest.mark.parametrize("evicted", ["pages", "blocks"])
async def test_a_site_that_lost_one_of_its_keys_starts_over(redis, fresh, evicted):
    async with closed_after(RedisFrequencyStore(redis_settings(redis))) as store:
        await store.observe([page(fresh, "/1", 1), page(fresh, "/2", 1)])
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            assert client.delete(f"dehusk:{{{fresh}}}:{evicted}") == 1
        (answer,) = await store.observe([page(fresh, "/2", 1)])
        assert (answer.pages_seen, answer.counts.tolist()) == (1, [1])


async def test_sites_expire_after_their_last_counted_page(redis, fresh):
    async with closed_after(RedisFrequencyStore(redis_settings(redis), SiteBounds(days=2))) as store:
        await store.observe([page(fresh, "/1", 1)])
    with closing(Redis.from_url(redis.addresses.redis)) as client:
        lives = [client.ttl(f"dehusk:{{{fresh}}}:{kind}") for kind in ("pages", "blocks")]
    assert all(0 < life <= 2 * 24 * 60 * 60 for life in lives)


async def test_of_too_many_blocks_on_a_page_some_are_counted_and_all_answered(redis, fresh):
    async with closed_after(RedisFrequencyStore(redis_settings(redis))) as store:
        blocks = range(12_000)
        await store.observe([page(fresh, "/1", *blocks)])
        (answer,) = await store.observe([page(fresh, "/2", *blocks)])
    assert Counter(answer.counts.tolist()) == {2: 10_000, 1: 2_000}


async def test_sends_the_script_again_to_a_server_that_forgot_it(redis, fresh):
    async with closed_after(RedisFrequencyStore(redis_settings(redis))) as store:
        await store.observe([page(fresh, "/1", 1)])
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            client.script_flush()
        (answer,) = await store.observe([page(fresh, "/2", 1)])
    assert answer.pages_seen == 2


async def test_a_micro_batch_is_one_call_per_page_and_one_round_trip(redis, fresh):
    async with closed_after(RedisFrequencyStore(redis_settings(redis))) as store:
        await store.observe([page(fresh, "/0", 1)])
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            client.config_resetstat()
            await store.observe([page(fresh, f"/{number}", 1) for number in range(50)])
            calls = client.info("commandstats")["cmdstat_evalsha"]["calls"]
            reads = client.info("stats").get("total_reads_processed")
    assert calls == 50
    assert reads <= 4  # the batch in one or two packets, and the two questions of this test


async def test_a_stopped_redis_is_unavailable_and_counting_resumes_by_itself(redis, fresh):
    async with closed_after(RedisFrequencyStore(redis_settings(redis))) as store:
        await store.observe([page(fresh, "/1", 1)])
        redis.services["redis"].stop()
        with pytest.raises(UnavailableError):
            await store.observe([page(fresh, "/2", 1)])
        await asyncio.to_thread(redis.services["redis"].start)
        (answer,) = await store.observe([page(fresh, "/2", 1)])
    assert answer.pages_seen == 1  # this Redis keeps nothing


async def test_a_redis_that_hangs_is_unavailable_in_time(redis, fresh):
    settings = RedisSettings(redis.addresses.redis, timeout=0.2)
    async with closed_after(RedisFrequencyStore(settings)) as store:
        redis.services["redis"].pause()
        try:
            with pytest.raises(UnavailableError, match=r"0\.2 s"):
                await store.observe([page(fresh, "/1", 1)])
        finally:
            redis.services["redis"].resume()
        (answer,) = await store.observe([page(fresh, "/2", 1)])
    assert answer.counts.tolist() in ([1], [2])  # Redis may have counted the page that nobody waited for


async def test_a_check_leaves_nothing_behind(redis):
    flush(redis)
    async with closed_after(RedisFrequencyStore(redis_settings(redis))) as store:
        await store.check()
    await asyncio.sleep(1.1)
    with closing(Redis.from_url(redis.addresses.redis)) as client:
        assert client.keys() == []


async def test_a_redis_that_takes_no_more_is_unavailable_to_pages_and_checks(redis, fresh):
    async with closed_after(RedisFrequencyStore(redis_settings(redis))) as store:
        await store.check()
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            client.config_set("maxmemory", 1)
            try:
                await asyncio.sleep(1.1)  # the first check is forgotten
                for ask in (store.check, partial(store.observe, [page(fresh, "/1", 1)])):
                    with pytest.raises(UnavailableError, match="OOM"):
                        await ask()
            finally:
                client.config_set("maxmemory", 0)
        await store.check()


async def test_a_user_who_may_not_is_a_matter_of_configuration(redis, fresh):
    url = redis.addresses.redis
    with closing(Redis.from_url(url)) as client:
        client.execute_command("ACL SETUSER", "reader", "on", ">secret", "+ping", "+hello", "+client")
    for user in ("reader:secret", "reader:wrong"):
        async with closed_after(RedisFrequencyStore(RedisSettings(url.replace("//", f"//{user}@")))) as store:
            for ask in (store.check, partial(store.observe, [page(fresh, "/1", 1)])):
                with pytest.raises(ConfigurationError):
                    await ask()
