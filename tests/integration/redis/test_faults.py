"""A Redis that is restarted, flushed, frozen, paused, or followed by its replica."""

import asyncio

import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.settings import RedisSettings


@pytest.fixture
def replicated(start):
    """A server and its replica."""
    first, second = start("--repl-diskless-sync-delay", "0"), start()
    with second.client() as client:
        client.replicaof(LOOPBACK, first.port)
    return first, second


async def observed(store, *pages):
    """Pages of the site that are known with the last of these, and with its shared texts."""
    answer = (await store.observe(pages))[-1]
    return answer.pages, answer.texts.tolist()[:-1]


@pytest.mark.parametrize("options", [(), ("--appendonly", "yes")])
@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_counting_resumes_after_a_restart(start, opened, page, options, end):
    server = start(*options)
    async with opened(server) as store:
        await store.observe([page("a.test", 1, 7), page("a.test", 2, 7)])
        getattr(server, end)()
        for ask in (store.check(), store.observe([page("a.test", 3, 7)])):
            with pytest.raises(UnavailableError):
                await ask
        await asyncio.to_thread(server.start)
        await store.check()
        kept = 2 if options else 0
        assert await observed(store, page("a.test", 3, 7)) == (kept, [kept])


async def test_counting_starts_over_when_everything_is_deleted(start, opened, page):
    server = start()
    async with opened(server) as store:
        await store.observe([page("a.test", 1, 7)])
        with server.client() as client:
            client.flushall()
            client.script_flush()
        assert await observed(store, page("a.test", 1, 7), page("a.test", 2, 7)) == (1, [1])


async def test_a_frozen_redis_is_unavailable_in_time_and_counts_once(start, opened, page):
    server = start()
    async with opened(RedisSettings(server.url, timeout=0.3)) as store:
        await store.observe([page("a.test", 1, 7)])
        server.freeze()
        for _ in range(3):
            with pytest.raises(UnavailableError, match=r"0\.3 s"):
                await store.observe([page("a.test", 2, 7)])
        server.thaw()
        assert await observed(store, page("a.test", 2, 7), page("a.test", 3, 7)) == (2, [2])


async def test_a_redis_whose_clients_are_paused_is_unavailable_in_time(start, opened, page):
    server = start()
    async with opened(RedisSettings(server.url, timeout=0.3)) as store:
        await store.observe([page("a.test", 1, 7)])
        with server.client() as client:
            client.client_pause(2_000)
        for ask in (store.check(), store.observe([page("a.test", 2, 7)])):
            with pytest.raises(UnavailableError, match=r"0\.3 s"):
                await ask
        with server.client() as client:
            assert await asyncio.to_thread(client.ping)  # once the pause is over
        await store.check()
        assert await observed(store, page("a.test", 2, 7), page("a.test", 3, 7)) == (2, [2])


async def test_counting_resumes_at_the_replica_that_takes_over(replicated, opened, page, relay, until):
    first, second = replicated
    address = await relay(first)
    async with opened(RedisSettings(f"redis://{LOOPBACK}:{address.port}/0")) as store:
        await store.observe([page("a.test", 1, 7)])
        with first.client() as old, second.client() as new:
            await asyncio.to_thread(until, lambda: new.exists("dehusk:3:{a.test}"))
            new.replicaof("NO", "ONE")
            old.replicaof(LOOPBACK, second.port)  # it is there, but no longer for writing
        address.target = second
        with pytest.raises(UnavailableError, match="is a replica"):
            await store.observe([page("a.test", 2, 7)])
        assert await observed(store, page("a.test", 2, 7), page("a.test", 3, 7)) == (2, [2])


async def test_counting_resumes_at_the_replica_of_a_primary_that_died(replicated, opened, page, relay, until):
    first, second = replicated
    address = await relay(first)
    with second.client() as client:
        async with opened(RedisSettings(f"redis://{LOOPBACK}:{address.port}/0")) as store:
            await store.observe([page("a.test", 1, 7)])
            await asyncio.to_thread(until, lambda: client.exists("dehusk:3:{a.test}"))
            first.kill()
            with pytest.raises(UnavailableError):
                await store.observe([page("a.test", 2, 7)])
            client.replicaof("NO", "ONE")
            address.target = second
            assert await observed(store, page("a.test", 2, 7)) == (1, [1])
