"""Site statistics: what every store promises, on the double in memory, a Redis and a Redis Cluster."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.sites import SiteObservation
from dehusk.streams.local.redis import MEMORY_BYTES
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.copies import content_keys
from dehusk.streams.sites.redis_store import RedisSiteStatistics, SiteBounds
from dehusk.streams.sites.store import MemorySiteStatistics, SiteStatisticsStore
from dehusk.streams.sites.tally import KEY_BYTES, MAX_STRUCTURES, MAX_TEXTS
from tests.integration.conftest import redis_settings
from tests.integration.redis_cluster import redis_cluster


def page(site, name, *texts, structures=None, likely=None) -> SiteObservation:
    """A page of blocks with these texts; without more said, in one structure, unlikely."""
    return SiteObservation(
        site,
        name,
        np.array(texts, np.uint64),
        np.array([0] * len(texts) if structures is None else structures, np.uint64),
        np.array([0] * len(texts) if likely is None else likely, np.float32),
        chosen=np.zeros(len(texts), np.bool_),
    )


def columns(answer):
    """Return the statistics as plain values."""
    return answer.pages, *(getattr(answer, name).tolist() for name in COLUMNS)


COLUMNS = ("texts", "structure_pages", "structure_blocks", "structure_likely")


@asynccontextmanager
async def closed_after(store: RedisSiteStatistics) -> AsyncIterator[RedisSiteStatistics]:
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
    """Three nodes of a Redis Cluster, each with a third of the slots."""
    with redis_cluster(tmp_path_factory.mktemp("cluster"), nodes=3) as running:
        yield running


@pytest.fixture(params=["memory", "redis", "cluster"])
async def store(request) -> AsyncIterator[SiteStatisticsStore]:
    if request.param == "memory":
        yield MemorySiteStatistics()
        return
    async with closed_after(RedisSiteStatistics(served(request, request.param))) as opened:
        yield opened


def served(request, name: str) -> RedisSettings:
    service = request.getfixturevalue(name)
    return service if name == "cluster" else redis_settings(service)


async def test_answers_how_many_other_pages_of_the_site_have_each_text(store, fresh):
    first, second, other = await store.observe(
        [page(fresh, "/1", 10, 20), page(fresh, "/2", 20, 30, 10), page(fresh + ".other", "/1", 10)]
    )
    assert (first.pages, first.texts.tolist()) == (0, [0, 0])
    assert (second.pages, second.texts.tolist()) == (1, [1, 0, 1])
    assert (other.pages, other.texts.tolist()) == (0, [0])


async def test_counts_the_parts_of_titles_like_texts_of_the_page(store, fresh):
    def titled(name, text, *parts):
        return replace(page(fresh, name, text), title_parts=np.array(parts, np.uint64))

    first, second, copy, again, untitled = await store.observe(
        [
            titled("/1", 1, 71, 72),
            titled("/2", 2, 73, 72),
            titled("/3", 2, 73, 72),
            titled("/1", 1, 71, 72),
            page(fresh, "/4", 1, 72),
        ]
    )
    assert first.title_parts.tolist() == [0, 0]
    assert second.title_parts.tolist() == [0, 1]
    assert (copy.is_copy, copy.title_parts.tolist()) == (True, [0, 1])
    assert again.title_parts.tolist() == [0, 1]
    assert (untitled.pages, untitled.title_parts.tolist()) == (2, [])


async def test_pages_of_several_sites_are_answered_in_order(store, fresh):
    sites = [fresh, fresh + ".b", fresh, fresh + ".c", fresh + ".b", fresh]
    answers = await store.observe([page(site, f"/{at}", at) for at, site in enumerate(sites)])
    assert [answer.pages for answer in answers] == [0, 0, 1, 0, 1, 2]
    assert [len(answer.texts) for answer in answers] == [1] * 6


async def test_counts_a_page_once_and_answers_without_it(store, fresh):
    twice = await store.observe([page(fresh, "/1", 10), page(fresh, "/1", 10)])
    (again,) = await store.observe([page(fresh, "/1", 10)])
    for answer in (*twice, again):
        assert columns(answer) == (0, [0], [0], [0], [0])


async def test_a_page_that_comes_again_sees_the_pages_after_it(store, fresh):
    await store.observe([page(fresh, "/1", 1, 2), page(fresh, "/2", 1, 3), page(fresh, "/3", 1, 1)])
    (again,) = await store.observe([page(fresh, "/1", 1, 2)])
    assert columns(again) == (2, [2, 0], [2, 2], [4, 4], [0, 0])


async def test_counts_a_repeated_text_once_per_page_and_each_of_its_blocks(store, fresh):
    await store.observe([page(fresh, "/1", 7, 5, 7, 7)])
    (answer,) = await store.observe([page(fresh, "/2", 7)])
    assert columns(answer) == (1, [1], [1], [4], [0])


async def test_a_changed_page_is_counted_as_it_was_first(store, fresh):
    await store.observe([page(fresh, "/1", 10), page(fresh, "/2", 10, 99)])
    (changed,) = await store.observe([page(fresh, "/1", 10, 50, 99)])
    assert (changed.pages, changed.texts.tolist()) == (1, [1, 0, 0])  # of 99, one too few
    (other,) = await store.observe([page(fresh, "/3", 10, 50)])
    assert (other.pages, other.texts.tolist()) == (2, [2, 0])


async def test_counts_pages_and_blocks_of_structures(store, fresh):
    await store.observe(
        [
            page(fresh, "/1", 1, 2, 3, structures=[8, 8, 9], likely=[0.5, 0.25, 1]),
            page(fresh, "/2", 1, 4, 5, structures=[8, 8, 8], likely=[0.25, 0, 0]),
        ]
    )
    (answer,) = await store.observe([page(fresh, "/3", 9, 9, 9, structures=[9, 8, 7])])
    assert answer.structure_pages.tolist() == [1, 2, 0]
    assert answer.structure_blocks.tolist() == [1, 5, 0]
    assert answer.structure_likely.tolist() == pytest.approx([1, 0.2, 0])


async def test_what_a_page_adds_to_structures_is_taken_off_when_it_comes_again(store, fresh):
    pages = [
        page(fresh, "/1", 1, 2, 3, structures=[8, 8, 9], likely=[0.5, 0.25, 1]),
        page(fresh, "/2", 1, 4, structures=[8, 8], likely=[0.125, 0.25]),
    ]
    await store.observe(pages)
    first, second = await store.observe(pages)
    assert columns(first)[2:] == ([1, 1, 0], [2, 2, 0], [0.1875, 0.1875, 0])
    assert columns(second)[2:] == ([1, 1], [2, 2], [0.375, 0.375])


async def test_sums_of_probabilities_outgrow_32_bits(store, fresh):
    blocks = [7] * 70_000
    await store.observe([page(fresh, "/1", *blocks, likely=[1] * len(blocks))])
    (answer,) = await store.observe([page(fresh, "/2", 7, 8)])
    assert columns(answer) == (1, [1, 0], [1, 1], [70_000] * 2, [1, 1])


async def test_small_probabilities_are_not_lost(store, fresh):
    for number in range(100):
        await store.observe([page(fresh, f"/{number}", number, likely=[0.0001])])
    (answer,) = await store.observe([page(fresh, "/last", 700)])
    assert answer.structure_likely.tolist() == pytest.approx([0.0001], abs=1e-5)


async def test_counts_a_page_without_blocks(store, fresh):
    for pages in range(2):
        (empty,) = await store.observe([page(fresh, "/empty")])
        assert columns(empty) == (pages, [], [], [], [])
        (other,) = await store.observe([page(fresh, f"/{pages}", pages)])
        assert other.pages == pages + 1
    assert await store.observe([]) == []


async def test_copies_are_counted_once_and_know_what_the_page_knows(store, fresh):
    original = page(fresh, "/1", 1, 2, structures=[8, 9], likely=[0.5, 1])
    copies = [replace(original, page=f"/1?sid={number}") for number in range(20)]
    first, *same = await store.observe([original, *copies])
    assert [(answer.is_counted, answer.is_copy) for answer in (first, *same)] == [
        (False, False),
        *[(False, True)] * 20,
    ]
    assert all(columns(answer) == (0, [0, 0], [0, 0], [0, 0], [0, 0]) for answer in same)
    (other,) = await store.observe([page(fresh, "/2", 1, 3, structures=[8, 8], likely=[0.25, 0.5])])
    assert columns(other) == (1, [1, 0], [1, 1], [1, 1], [0.5, 0.5])
    again, copy = await store.observe([original, copies[5]])
    assert columns(again) == columns(copy) == (1, [1, 0], [1, 0], [2, 0], [0.375, 0])
    assert (again.is_counted, again.is_copy) == (True, False)


async def test_copies_that_differ_in_a_few_texts_hardly_count(store, fresh):
    content = [0.9] * 30 + [0.02] * 40
    for number in range(30):
        texts = [*range(1000, 1070), 2000 + number, 3000 + number]
        await store.observe([page(fresh, f"/?sid={number}", *texts, likely=[*content, 0.1, 0.3])])
    (answer,) = await store.observe([page(fresh, "/other", 1000, 5)])
    assert 1 <= answer.pages <= 3
    assert answer.texts.tolist() == [answer.pages, 0]


async def test_a_copy_that_changes_is_a_page(store, fresh):
    await store.observe([page(fresh, "/1", 1), page(fresh, "/copy", 1)])
    (changed,) = await store.observe([page(fresh, "/copy", 1, 2)])
    assert (columns(changed)[:2], changed.is_copy) == ((1, [1, 0]), False)
    again, other = await store.observe([page(fresh, "/copy", 1), page(fresh, "/3", 1, 2, 3)])
    assert (columns(again)[:2], again.is_counted) == ((1, [1]), True)
    assert columns(other)[:2] == (2, [2, 1, 0])


@pytest.mark.parametrize("name", ["redis", "cluster"])
async def test_a_redis_that_is_there_can_be_asked_again_and_again(request, name):
    async with closed_after(RedisSiteStatistics(served(request, name))) as store:
        for _ in range(3):
            await store.check()


@pytest.mark.parametrize("site", ["", "}", "{}", "{a}b", "é.example", "\udc80", "x" * 5000])
async def test_any_text_is_a_site(store, fresh, site):
    name = f"/{fresh}"
    before = (await store.observe([page(site, name + "1", crc32(name.encode()))]))[0].pages
    after = (await store.observe([page(site, name + "2", crc32(name.encode()), 1)]))[0].pages
    assert after == before + 1


async def test_keeps_fingerprints_of_all_bits_apart(store, fresh):
    blocks = [0, 1, 2**63, 2**64 - 1, 0x0D0A0D0A0D0A0D0A]
    await store.observe([page(fresh, "/1", *blocks, structures=blocks)])
    (answer,) = await store.observe(
        [page(fresh, "/2", *reversed(blocks), 5, structures=[*reversed(blocks), 5])]
    )
    assert answer.texts.tolist() == [1, 1, 1, 1, 1, 0]
    assert answer.structure_blocks.tolist() == [1, 1, 1, 1, 1, 0]


async def test_counts_thousands_of_texts_of_a_page(store, fresh):
    blocks = range(1, 4_500)
    await store.observe([page(fresh, "/1", *blocks)])
    (answer,) = await store.observe([page(fresh, "/2", *blocks, 4_500, likely=[0] * len(blocks) + [1])])
    assert answer.texts.tolist() == [*[1] * len(blocks), 0]


async def test_counts_thousands_of_pages_once_each(store, fresh):
    pages = [page(fresh, f"/{number}", 1, 100 + number) for number in range(1_500)]
    for start in range(0, len(pages), 250):
        batch = await store.observe(pages[start : start + 250])
        assert [answer.pages for answer in batch] == list(range(start, start + 250))
    for answer in (await store.observe(pages))[::50]:
        assert (answer.pages, answer.texts.tolist()) == (1_499, [1_499, 0])


@pytest.mark.parametrize("kind", ["redis", "cluster"])
async def test_many_stores_that_observe_the_same_pages_at_once_count_exactly(request, fresh, kind):
    where = request.getfixturevalue(kind)
    stores = [RedisSiteStatistics(redis_settings(where) if kind == "redis" else where) for _ in range(8)]
    pages = [
        page(
            f"{fresh}-{number % 3}",
            f"/{number}",
            1,
            2,
            100 + number,
            structures=[8, 9, 9],
            likely=[0, 0, 0.5],
        )
        for number in range(60)
    ]
    try:
        await asyncio.gather(*(one.observe(pages[turn:] + pages[:turn]) for turn, one in enumerate(stores)))
        for answer in await stores[0].observe(pages):
            assert (answer.pages, answer.texts.tolist()) == (19, [19, 19, 0])
            assert answer.structure_blocks.tolist() == [19, 38, 38]
            assert answer.structure_likely.tolist() == [0, 0.25, 0.25]
    finally:
        for one in stores:
            await one.close()


blocks = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.floats(0, 1, width=32)), max_size=12)
observations = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), blocks), max_size=40)


def observation(site, number, seen):
    """A page of drawn blocks: text, structure, probability."""
    texts, structures, likely = zip(*seen, strict=True) if seen else ((), (), ())
    return page(site, f"/{number}", *texts, structures=structures, likely=likely)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seen=observations, cut=st.integers(1, 7))
def test_agrees_with_the_memory_whatever_comes_in_whatever_batches(redis, seen, cut):
    flush(redis)
    pages = [observation(*each) for each in seen]

    async def both():
        async with closed_after(RedisSiteStatistics(redis_settings(redis))) as real:
            double = MemorySiteStatistics()
            for start in range(0, len(pages), cut):
                batch = pages[start : start + cut]
                for one, other in zip(await real.observe(batch), await double.observe(batch), strict=True):
                    assert columns(one) == columns(other)

    asyncio.run(both())


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seen=st.lists(st.sets(st.integers(0, 60), max_size=15), min_size=1, max_size=60), most=st.integers(4, 30)
)
def test_bounded_counts_err_by_no_more_than_stated(redis, seen, most):
    flush(redis)
    true, counted, known = Counter(), 0, set()
    bounds = SiteBounds(texts=most, structures=most)

    async def check():
        nonlocal counted
        async with closed_after(RedisSiteStatistics(redis_settings(redis), bounds)) as real:
            for number, texts in enumerate(seen):
                before = kept(redis, "site")
                seen_page = page("site", f"/{number}", *texts, structures=list(texts))
                (answer,) = await real.observe([seen_page])
                keys = content_keys(seen_page, KEY_BYTES)
                assert answer.is_copy == bool(known.intersection(keys))
                if answer.is_copy:
                    continue
                known.update(keys)
                for text, count, pages in zip(texts, answer.texts, answer.structure_pages, strict=True):
                    assert count <= true[text] <= count + before["texts_floor"]
                    assert pages <= true[text] <= pages + before["structures_floor"]
                true.update(texts)
                counted += len(texts)
                after = kept(redis, "site")
                assert after["texts"] <= most
                assert after["structures"] <= most
                assert after["texts_floor"] <= 2 * counted / most

    asyncio.run(check())


async def test_texts_that_many_pages_have_outlive_those_of_one(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis), SiteBounds(texts=100))) as store:
        for number in range(200):
            (answer,) = await store.observe(
                [page(fresh, f"/{number}", 1, 2, *range(number * 9, number * 9 + 9))]
            )
    assert kept(redis, fresh)["texts"] <= 100
    assert all(count >= 199 - kept(redis, fresh)["texts_floor"] for count in answer.texts[:2])
    assert kept(redis, fresh)["texts_floor"] <= 40


def flush(stack):
    with closing(Redis.from_url(stack.addresses.redis)) as client:
        client.flushall()


def kept(stack, site):
    """Return the numbers of a site's texts and structures in Redis, and the error of their counts."""
    with closing(Redis.from_url(stack.addresses.redis)) as client:
        stored = client.hgetall(f"dehusk:3:{{{site}}}")
    names = ("pages", "texts_floor", "structures_floor", "texts", "structures", "begun")
    state = dict(zip(names, np.frombuffer(stored.get(b"state", bytes(24)), ">u4").tolist(), strict=True))
    assert state["texts"] == entries(stored, b"texts", 6)
    assert state["structures"] == entries(stored, b"structures", 16)
    return state


def entries(stored, field, width):
    """The entries in the groups of a field, which must be what it says of them."""
    packed = stored.get(field, bytes(64))
    sizes = np.frombuffer(packed, ">u2", 32)
    assert len(packed) == 64 + width * sizes.sum()
    return sizes.sum()


async def test_counts_are_frozen_when_a_site_has_its_pages(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis), SiteBounds(pages=3))) as store:
        await store.observe([page(fresh, f"/{number}", 1, 10 + number) for number in range(3)])
        for _ in range(2):
            (late,) = await store.observe([page(fresh, "/late", 1, 2)])
            assert columns(late)[:4] == (3, [3, 0], [3, 3], [6, 6])
        (counted,) = await store.observe([page(fresh, "/0", 1, 10)])
        assert columns(counted)[:4] == (2, [2, 0], [2, 2], [4, 4])


def age(stack, site, days):
    """Make the counts of a site older."""
    with closing(Redis.from_url(stack.addresses.redis)) as client:
        state = np.frombuffer(client.hget(f"dehusk:3:{{{site}}}", "state"), ">u4").copy()
        state[5] -= days * 24 * 60 * 60
        client.hset(f"dehusk:3:{{{site}}}", "state", state.tobytes())


async def test_counts_that_are_old_are_halved(redis, fresh):
    async with closed_after(
        RedisSiteStatistics(redis_settings(redis), SiteBounds(half_life_days=2))
    ) as store:
        pages = [page(fresh, f"/{number}", 1, 10 + number, likely=[0.5, 0.25]) for number in range(3)]
        await store.observe([*pages, page(fresh, "/3", 1, 2, likely=[0.5, 0.25])])
        age(redis, fresh, 1)
        (young,) = await store.observe([page(fresh, "/4", 1, 2, 2, 4, likely=[0.5, 0.25, 0.5, 0.25])])
        assert columns(young) == (4, [4, 1, 1, 0], [4] * 4, [8] * 4, [0.375] * 4)
        age(redis, fresh, 1)
        (old,) = await store.observe([page(fresh, "/5", 1, 2, 3)])
        assert columns(old) == (2, [2, 1, 0], [2, 2, 2], [6, 6, 6], pytest.approx([0.375] * 3, abs=1e-5))
        (next_one,) = await store.observe([page(fresh, "/6", 1, 2, 3, 4)])
        assert columns(next_one)[:2] == (3, [3, 2, 1, 0])


@pytest.mark.parametrize(("before", "batch"), [(1_100, 2), (500, 16)], ids=["", "and are split at once"])
async def test_pages_from_before_a_halving_are_counted_again(redis, fresh, before, batch):
    pages = [page(fresh, f"/{number}", 1, 100 + number) for number in range(before)]
    half = before // 2
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        await store.observe(pages)
        age(redis, fresh, 15)
        first, second, *_ = await store.observe(pages[:batch])
        assert columns(first)[:2] == (half, [half, 0])  # it sees half of itself
        assert columns(second)[:2] == (half + 1, [half + 1, 0])
        again, *_ = await store.observe(pages[:batch])
        assert columns(again)[:2] == (half + batch - 1, [half + batch - 1, 0])
    with closing(Redis.from_url(redis.addresses.redis)) as client:
        fields = client.hgetall(f"dehusk:3:{{{fresh}}}")
    keys = b"".join(value for name, value in fields.items() if name.startswith(b"pages"))
    assert len(keys) == batch * 2 * KEY_BYTES  # of these pages and their contents; all others are forgotten


async def test_frozen_counts_are_counted_on_once_they_are_halved(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis), SiteBounds(pages=4))) as store:
        await store.observe([page(fresh, f"/{number}", 1, 10 + number) for number in range(5)])
        age(redis, fresh, 15)
        answers = await store.observe([page(fresh, f"/new-{number}", 2, 20 + number) for number in range(4)])
        known = [(answer.pages, answer.texts.tolist()[0]) for answer in answers]
        assert known == [(2, 0), (3, 1), (4, 2), (4, 2)]


async def test_a_template_that_is_gone_is_forgotten_though_the_site_is_crawled_for_ever(redis, fresh):
    bounds = SiteBounds(pages=400)
    shares = []
    async with closed_after(RedisSiteStatistics(redis_settings(redis), bounds)) as store:
        await store.observe([page(fresh, f"/old-{number}", 1, 1_000 + number) for number in range(500)])
        for period in range(9):
            age(redis, fresh, 15)
            own = range(2_000 + 300 * period, 2_300 + 300 * period)
            await store.observe([page(fresh, f"/{period}-{number}", 2, number) for number in own])
            (answer,) = await store.observe([page(fresh, f"/{period}-{own[0]}", 1, 2)])
            shares.append(answer.texts[0] / answer.pages)
    assert shares == pytest.approx([0.5 ** (period + 1) for period in range(9)], abs=0.005)


class Halving:
    """Model of the store, for one site whose counts are halved, by plain counting."""

    def __init__(self):
        self.pages, self.counted, self.contents, self.texts = 0, set(), set(), Counter()

    def halve(self):
        self.pages, self.counted, self.contents = self.pages // 2, set(), set()
        self.texts = Counter({text: count // 2 for text, count in self.texts.items()})

    def observe(self, name, texts):
        own = name in self.counted or frozenset(texts) in self.contents
        known = self.pages - own, [max(self.texts[text] - own, 0) for text in texts]
        if not own:
            self.counted.add(name)
            self.contents.add(frozenset(texts))
            self.pages += 1
            self.texts.update(set(texts))
        return known


visits = st.tuples(st.integers(0, 9), st.lists(st.integers(0, 12), max_size=6))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seen=st.lists(st.none() | visits, max_size=40))
def test_agrees_with_plain_counting_whenever_counts_are_halved(redis, seen):
    flush(redis)
    double = Halving()

    async def both():
        async with closed_after(RedisSiteStatistics(redis_settings(redis))) as real:
            for visit in seen:
                if visit is not None:
                    (answer,) = await real.observe([page("site", f"/{visit[0]}", *visit[1])])
                    assert columns(answer)[:2] == double.observe(*visit)
                elif kept(redis, "site")["pages"]:
                    age(redis, "site", 15)
                    double.halve()
                    (answer,) = await real.observe([page("site", "/empty", 99)])
                    assert columns(answer)[:2] == double.observe("/empty", [99])

    asyncio.run(both())


async def test_a_site_is_one_key_and_starts_over_when_it_is_evicted(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        await store.observe([page(fresh, f"/{number}", 1, 10 + number) for number in range(1_100)])
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            (key,) = client.keys(f"*{fresh}*")
            assert client.delete(key) == 1
        first, second = await store.observe([page(fresh, "/2", 1), page(fresh, "/3", 1, 13)])
    assert (first.pages, second.pages, second.texts.tolist()) == (0, 1, [1, 0])


async def test_sites_expire_after_their_last_counted_page(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis), SiteBounds(days=2))) as store:
        await store.observe([page(fresh, "/1", 1)])
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            assert 0 < client.ttl(f"dehusk:3:{{{fresh}}}") <= 2 * 24 * 60 * 60
            client.expire(f"dehusk:3:{{{fresh}}}", 100)
            await store.observe([page(fresh, "/1", 1), page(fresh, "/copy", 1)])
            assert client.ttl(f"dehusk:3:{{{fresh}}}") <= 100  # a page that comes again does not count
            await store.observe([page(fresh, "/2", 2)])
            assert client.ttl(f"dehusk:3:{{{fresh}}}") > 100


async def test_of_too_many_texts_on_a_page_some_are_counted_and_all_answered(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        texts = range(1, 6_001)
        await store.observe([page(fresh, "/1", *texts, structures=texts)])
        more, likely = [0, *texts], [1, *[0] * len(texts)]
        (answer,) = await store.observe([page(fresh, "/2", *more, structures=more, likely=likely)])
    of_texts, of_structures = Counter(answer.texts.tolist()), Counter(answer.structure_pages.tolist())
    assert 0 <= MAX_TEXTS - of_texts[1] <= 1  # its own may be among those that are counted
    assert 0 <= MAX_STRUCTURES - of_structures[1] <= 1
    assert of_texts[0] + of_texts[1] == of_structures[0] + of_structures[1] == len(more)


async def test_texts_made_to_be_slow_to_search_for_are_counted_in_time(redis, fresh):
    inverse = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    # their keys share a group, and begin with a byte of which it is full
    texts = [(key << 27) * inverse % (1 << 64) for key in range(9_900)]
    pages = [page(fresh, f"/{number}", number, *texts[number % 2 :: 2]) for number in range(8)]
    double = MemorySiteStatistics()
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as real:
        for one, other in zip(await real.observe(pages), await double.observe(pages), strict=True):
            assert columns(one) == columns(other)


async def test_sends_the_script_again_to_a_server_that_forgot_it(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        await store.observe([page(fresh, "/1", 1)])
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            client.script_flush()
        (answer,) = await store.observe([page(fresh, "/2", 2)])
    assert answer.pages == 1


async def test_a_micro_batch_is_one_call_per_site_and_one_round_trip(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        await store.observe([page(fresh, "/0", 1)])
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            client.config_resetstat()
            await store.observe([page(f"{fresh}-{number % 5}", f"/{number}", 1) for number in range(50)])
            calls = client.info("commandstats")["cmdstat_evalsha"]["calls"]
            reads = client.info("stats").get("total_reads_processed")
    assert calls == 5
    assert reads <= 4  # the batch in one or two packets, and the two questions of this test


async def test_a_stopped_redis_is_unavailable_and_counting_resumes_by_itself(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        await store.observe([page(fresh, "/1", 1)])
        redis.services["redis"].stop()
        with pytest.raises(UnavailableError):
            await store.observe([page(fresh, "/2", 1)])
        await asyncio.to_thread(redis.services["redis"].start)
        (answer,) = await store.observe([page(fresh, "/2", 1)])
    assert answer.pages == 0  # this Redis keeps nothing


async def test_a_redis_that_hangs_is_unavailable_in_time(redis, fresh):
    settings = RedisSettings(redis.addresses.redis, timeout=0.2)
    async with closed_after(RedisSiteStatistics(settings)) as store:

        async def observe_until_it_hangs() -> None:
            while True:  # it is frozen a moment after it was to be
                await store.observe([page(fresh, "/1", 1)])

        redis.services["redis"].pause()
        try:
            with pytest.raises(UnavailableError, match=r"0\.2 s"):
                await observe_until_it_hangs()
        finally:
            redis.services["redis"].resume()
        (answer,) = await store.observe([page(fresh, "/2", 1)])
    assert answer.texts.tolist() == [0]  # Redis may have counted the page, for which nobody waited


async def test_a_check_leaves_nothing_behind(redis):
    flush(redis)
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        await store.check()
    await asyncio.sleep(1.1)
    with closing(Redis.from_url(redis.addresses.redis)) as client:
        assert client.keys() == []


async def test_a_redis_that_takes_no_more_is_unavailable_to_pages_and_checks(redis, fresh):
    async with closed_after(RedisSiteStatistics(redis_settings(redis))) as store:
        await store.check()
        with closing(Redis.from_url(redis.addresses.redis)) as client:
            client.config_set("maxmemory", 1)
            try:
                await asyncio.sleep(1.1)  # the first check is forgotten
                for ask in (store.check, partial(store.observe, [page(fresh, "/1", 1)])):
                    with pytest.raises(UnavailableError, match="OOM"):
                        await ask()
            finally:
                client.config_set("maxmemory", MEMORY_BYTES)
        await store.check()


async def test_a_user_who_may_not_is_a_matter_of_configuration(redis, fresh):
    url = redis.addresses.redis
    with closing(Redis.from_url(url)) as client:
        client.execute_command("ACL SETUSER", "reader", "on", ">secret", "+ping", "+hello", "+client")
    for user in ("reader:secret", "reader:wrong"):
        async with closed_after(RedisSiteStatistics(RedisSettings(url.replace("//", f"//{user}@")))) as store:
            for ask in (store.check, partial(store.observe, [page(fresh, "/1", 1)])):
                with pytest.raises(ConfigurationError):
                    await ask()
