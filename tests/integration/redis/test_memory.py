"""A Redis whose memory is full: it forgets whole sites, or counts no more, as it is set."""

import numpy as np
import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.settings import MIB, RedisSettings
from dehusk.streams.sites.catalogue import import_lines, open_catalogue
from dehusk.streams.sites.redis_store import SiteBounds
from dehusk.streams.sites.stored import write_header

SITES = [f"site-{number}.test" for number in range(400)]


def pages_of(page, site, count, first=0):
    """Pages that share one text and have seven of their own."""
    return [page(site, number, 1, *range(10 + 7 * number, 17 + 7 * number)) for number in range(first, count)]


@pytest.mark.parametrize("policy", ["volatile-lru", "allkeys-lru", "volatile-ttl", "allkeys-random"])
async def test_sites_are_evicted_as_a_whole(start, opened, page, policy):
    server = start("--maxmemory", str(2 * MIB), "--maxmemory-policy", policy)
    async with opened(server) as store:
        for site in SITES:
            await store.observe(pages_of(page, site, 64))
        with server.client() as client:
            kept = {key.decode()[len("dehusk:3:{") : -1] for key in client.scan_iter(count=1000)}
            assert client.info("stats")["evicted_keys"] > 0
        assert 0 < len(kept) < len(SITES)
        for site in sorted(kept)[:20]:
            answers = await store.observe(pages_of(page, site, 64))
            assert {answer.pages for answer in answers} <= {63, *range(64)}  # it may have gone just now
            assert {answer.texts[0] == answer.pages for answer in answers} == {True}
        gone = next(site for site in SITES if site not in kept)
        answers = await store.observe(pages_of(page, gone, 64))
        assert [answer.pages for answer in answers] == list(range(64))


async def test_the_sites_that_are_crawled_stay(start, opened, page):
    server = start("--maxmemory", str(2 * MIB), "--maxmemory-policy", "volatile-lru")
    with server.client() as client:
        client.config_set("maxmemory-samples", 64)
    async with opened(server, SiteBounds(pages=64)) as store:
        for site in SITES:
            await store.observe(pages_of(page, site, 64))
            (crawled,) = await store.observe(pages_of(page, SITES[0], 1))  # frozen, it is only read
            assert crawled.pages == 63


@pytest.mark.parametrize("pages", [10, 1_023])
async def test_a_redis_that_forgets_nothing_counts_no_more_and_leaves_what_it_has(start, opened, page, pages):
    server = start("--maxmemory-policy", "noeviction")
    async with opened(server) as store:
        await store.observe(pages_of(page, "a.test", pages))
        before = contents(server)
        with server.client() as client:
            client.config_set("maxmemory", 1)
            for ask in (store.check(), store.observe(pages_of(page, "a.test", pages + 5, pages))):
                with pytest.raises(UnavailableError, match=r"OOM.*maxmemory-policy to volatile-lru"):
                    await ask
            client.config_set("maxmemory", 0)
        assert contents(server) == before
        await store.check()
        (answer,) = await store.observe(pages_of(page, "a.test", pages + 1, pages))
        assert (answer.pages, answer.texts[0]) == (pages, pages)


async def test_counts_that_cannot_be_halved_are_left_as_they_are(start, opened, page):
    server = start()
    async with opened(server) as store:
        await store.observe(pages_of(page, "a.test", 1_100))
        with server.client() as client:
            state = np.frombuffer(client.hget("dehusk:3:{a.test}", "state"), ">u4").copy()
            state[5] -= 15 * 24 * 60 * 60
            client.hset("dehusk:3:{a.test}", "state", state.tobytes())
            before = contents(server)
            client.config_set("maxmemory", 1)
            with pytest.raises(UnavailableError, match="OOM"):
                await store.observe(pages_of(page, "a.test", 1_101, 1_100))
            client.config_set("maxmemory", 0)
        assert contents(server) == before
        (answer,) = await store.observe(pages_of(page, "a.test", 1_101, 1_100))
        assert (answer.pages, answer.texts[0]) == (550, 550)


async def test_an_import_into_a_full_memory_is_refused_and_leaves_what_is_there(start, opened, page):
    full, other = start("--maxmemory-policy", "noeviction"), start()
    for server, pages in ((full, 3), (other, 5)):
        async with opened(server) as store:
            await store.observe(pages_of(page, "a.test", pages))
    before = contents(full)
    async with open_catalogue(RedisSettings(other.url)) as catalogue:
        lines = [write_header(None), *[line async for line in catalogue.export()]]
    with full.client() as client:
        client.config_set("maxmemory", 1)
    for replace in (False, True):
        async with open_catalogue(RedisSettings(full.url)) as catalogue:
            with pytest.raises(UnavailableError, match="OOM"):
                await import_lines(_each(lines), catalogue, print, replace=replace)
        assert contents(full) == before


async def _each(lines):
    for line in lines:
        yield line


def contents(server):
    """Read what a server keeps of the site."""
    with server.client() as client:
        return client.hgetall("dehusk:3:{a.test}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "no maxmemory"),
        (("--maxmemory", "1gb", "--maxmemory-policy", "noeviction"), "forgets no site"),
        (("--maxmemory", "1gb", "--maxmemory-policy", "volatile-lru"), ""),
    ],
)
async def test_a_server_that_is_not_set_up_for_many_sites_is_told_of_once(
    start, opened, caplog, options, said
):
    async with opened(start(*options)) as store:
        for _ in range(3):
            await store.check()
    lines = [
        record.getMessage() for record in caplog.records if record.name == "dehusk.streams.sites.redis_store"
    ]
    assert [said in line for line in lines] == [True] * bool(said)


async def test_a_server_says_what_it_holds_and_how_often_it_found_something(start, opened, page):
    async with opened(start("--maxmemory", str(64 * MIB))) as store:
        await store.observe(pages_of(page, "site.test", 4))
        before = await store.use()
        await store.observe(pages_of(page, "site.test", 4))
        after = await store.use()
    assert before.most_memory == 64 * MIB
    assert 0 < before.memory < 64 * MIB
    assert after.hits > before.hits
