"""The first pages of sites, as Redis keeps them until they are cleaned again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from dehusk.schemas.documents import Origin
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from dehusk.streams.sites.revisits import FirstPage, FirstPages, Visit, url_key
from tests.integration.conftest import redis_settings

MOST = 3


def visit(site: str, path: str, known: int | None, offset: int = 0, *, again: bool = False) -> Visit:
    return Visit(site, f"https://{site}/{path}", Origin("raw", 2, offset), known, again)


def page(visited: Visit) -> FirstPage:
    return FirstPage(visited.site, url_key(visited.url), visited.origin)


@pytest.fixture
async def redis(stack: LocalStack) -> AsyncIterator[RedisSiteStatistics]:
    store = RedisSiteStatistics(redis_settings(stack))
    yield store
    await store.close()


@pytest.fixture
def pages(redis: RedisSiteStatistics, fresh: str) -> FirstPages:
    return FirstPages(redis, fresh, MOST)


@pytest.fixture
def first(fresh: str) -> list[Visit]:
    """All first pages of a site."""
    return [visit(fresh, str(number), number, number) for number in range(MOST)]


async def test_a_site_is_due_when_all_first_pages_are_told(pages, first, fresh) -> None:
    assert await pages.remember(first[:-1]) == []
    assert await pages.remember([visit(fresh + ".b", "0", 0), *first[-1:]]) == [fresh]
    assert sorted(await pages.take([fresh]), key=str) == sorted(map(page, first), key=str)


async def test_later_pages_are_not_kept(pages, first, fresh) -> None:
    await pages.remember(first[:-1])
    assert await pages.remember([visit(fresh, "later", MOST)]) == []
    assert len(await pages.take([fresh])) == MOST - 1


async def test_a_site_is_due_as_long_as_it_is_not_scheduled(pages, first, fresh) -> None:
    assert await pages.remember(first) == [fresh]
    assert await pages.remember([replace(first[0], is_counted=True, known=MOST)]) == [fresh]
    await pages.schedule([fresh])
    assert await pages.remember(first) == []
    assert len(await pages.take([fresh])) == MOST


async def test_nothing_is_scheduled_twice(pages, first, fresh) -> None:
    await pages.remember(first)
    await pages.settle(await pages.take([fresh]))
    assert await pages.take([fresh]) == []
    assert await pages.remember([*first, visit(fresh, "again", 0), visit(fresh, "late", 2 * MOST - 1)]) == []
    assert await pages.take([fresh]) == []


async def test_a_site_of_which_nothing_is_kept_is_never_due(pages, fresh) -> None:
    told = [visit(fresh, "0", MOST, again=True), visit(fresh, "1", 2 * MOST - 1), visit(fresh, "2", None)]
    assert await pages.remember(told) == []
    assert await pages.take([fresh]) == []
    await pages.schedule([fresh])
    assert await pages.remember([visit(fresh, "0", 0)]) == []
    assert len(await pages.take([fresh])) == 1


async def test_a_first_page_that_comes_again_takes_the_place_that_it_was_not_told_for(
    pages, first, fresh
) -> None:
    again = [visit(fresh, path, 7, again=True) for path in ("a", "b")]
    await pages.remember(first[:-1])
    assert await pages.remember(again) == [fresh]
    assert {each.key for each in await pages.take([fresh])} == {
        url_key(each.url) for each in (*first[:-1], again[0])
    }


async def test_a_page_that_was_never_told_does_not_hold_up_the_others_for_ever(pages, first, fresh) -> None:
    await pages.remember(first[:-1])
    assert await pages.remember([visit(fresh, "later", 2 * MOST - 1)]) == [fresh]
    assert len(await pages.take([fresh])) == MOST - 1


async def test_a_newer_message_takes_the_place_of_an_older_one(pages, first, fresh) -> None:
    await pages.remember(first)
    taken = await pages.take([fresh])
    newer = replace(first[0], origin=Origin("raw", 2, 50), known=40, is_counted=True)
    gone = replace(first[1], origin=Origin("raw", 2, 51), known=None)
    await pages.update([newer, gone, visit(fresh, "other", 40, again=True)])
    await pages.settle(taken)
    assert sorted(await pages.take([fresh]), key=str) == sorted([page(newer), page(gone)], key=str)


@pytest.mark.parametrize(("older", "newer"), [(4, 5), (9, 10), (2**53, 2**53 + 1)])
async def test_an_older_message_takes_the_place_of_no_newer_one(pages, first, fresh, older, newer) -> None:
    def at(offset: int) -> Visit:
        return replace(first[0], origin=Origin("raw", 2, offset), is_counted=True)

    await pages.remember([at(newer)])
    await pages.update([at(older)])
    await pages.remember([at(older)])
    assert await pages.take([fresh]) == [page(at(newer))]


async def test_a_worker_that_wakes_loses_no_page_and_moves_none_that_another_one_has_told(
    pages, first, fresh
) -> None:
    """It was frozen before it told of its pages; another one has cleaned these, and a newer message, too."""
    newer = replace(first[0], origin=Origin("raw", 2, 100), is_counted=True)
    await pages.remember([replace(each, known=MOST - 1, is_counted=True) for each in first])
    await pages.update([newer])
    await pages.remember([newer])
    assert await pages.remember(first) == [fresh]  # it wakes
    assert set(await pages.take([fresh])) == {page(each) for each in (newer, *first[1:])}


async def test_the_message_of_another_partition_takes_the_place_of_one(pages, first, fresh) -> None:
    elsewhere = replace(first[0], origin=Origin("raw", 1, 0), is_counted=True)
    await pages.remember([replace(first[0], origin=Origin("raw", 2, 5))])
    await pages.update([elsewhere])
    assert await pages.take([fresh]) == [page(elsewhere)]


async def test_an_older_message_that_is_settled_behind_a_newer_one_has_that_cleaned_once_more(
    pages, first, fresh
) -> None:
    newer = replace(first[0], origin=Origin("raw", 2, 50), is_counted=True)
    await pages.remember(first[:1])
    taken = await pages.take([fresh])
    await pages.update([newer])
    await pages.settle([page(newer)])
    assert await pages.take([fresh]) == []
    await pages.settle(taken)
    assert await pages.take([fresh]) == [page(newer)]
    await pages.settle([page(newer)])
    await pages.settle([page(newer)])
    assert await pages.take([fresh]) == []


async def test_a_newer_message_of_a_settled_page_is_noted_but_not_cleaned_again(pages, first, fresh) -> None:
    newer = replace(first[0], origin=Origin("raw", 2, 50), is_counted=True)
    await pages.remember(first[:1])
    taken = await pages.take([fresh])
    await pages.settle(taken)
    await pages.update([newer])
    await pages.remember([newer])
    assert await pages.take([fresh]) == []
    await pages.settle(taken)
    assert await pages.take([fresh]) == [page(newer)]


@pytest.mark.parametrize("is_settled", [False, True])
async def test_messages_that_are_told_later_are_to_be_cleaned_again(pages, first, fresh, is_settled) -> None:
    newer = page(replace(first[0], origin=Origin("raw", 2, 50)))
    await pages.remember(first[:1])
    assert await pages.catch_up([page(first[0]), page(visit(fresh, "other", 40))]) == []
    taken = await pages.take([fresh])
    if is_settled:
        await pages.settle(taken)
    assert await pages.catch_up([newer]) == [fresh]
    assert await pages.catch_up([newer]) == [fresh], "the one who was told may have died"
    assert await pages.take([fresh]) == [newer]
    await pages.settle([newer])
    assert await pages.catch_up([newer, *taken]) == []


async def test_pages_that_were_not_counted_before_move_nothing(pages, first, fresh) -> None:
    await pages.remember(first)
    await pages.update([replace(first[0], origin=Origin("raw", 2, 50))])
    assert page(first[0]) in await pages.take([fresh])


async def test_groups_and_sites_keep_pages_of_their_own(pages, first, fresh, redis) -> None:
    other = FirstPages(redis, f"{fresh}-other", MOST)
    await pages.remember(first)
    assert await other.take([fresh]) == []
    assert await pages.take([f"{fresh}.b"]) == []
    assert len(await pages.take([fresh, f"{fresh}.b"])) == MOST


async def test_any_site_and_url_is_kept(pages) -> None:
    strange = Visit("a b\n{c}\udcff", "\udc00{", Origin("crawl.a-b_c", 0, 2**62), 0, is_counted=False)
    await pages.remember([strange])
    assert await pages.take([strange.site]) == [page(strange)]


async def test_what_is_kept_expires(redis, first, fresh, stack) -> None:
    brief = FirstPages(redis, fresh, MOST, days=2)
    await brief.remember(first)
    async with Redis.from_url(stack.addresses.redis) as client:
        (key,) = await client.keys(f"dehusk:revisits:2:{{{url_key(fresh).hex()}}}:*")
        assert 47 * 3600 < await client.ttl(key) <= 48 * 3600
        await client.expire(key, 5)
        await brief.schedule([fresh])
        await brief.remember([visit(fresh, "0", 0)])
        assert await client.ttl(key) > 5


async def test_many_workers_have_a_site_scheduled_by_the_last_of_its_pages_alone(redis, fresh) -> None:
    pages = FirstPages(redis, fresh, 50)
    told = [[visit(fresh, str(number), number)] for number in range(50)]
    due = await asyncio.gather(*(pages.remember(each) for each in told))
    assert sum(map(len, due)) == 1


async def test_nothing_asks_nobody() -> None:
    class Nobody:
        async def run(self, script, calls):
            raise AssertionError("asked")

    pages = FirstPages(Nobody(), "group", MOST)
    await pages.update([visit("a", "0", 0)])
    assert await pages.remember([visit("a", "0", MOST)]) == []
    await pages.schedule([])
    assert await pages.take([]) == []
    await pages.settle([])
    assert await pages.catch_up([]) == []


async def test_what_no_worker_has_written_is_no_first_page(redis, pages, first, fresh, stack) -> None:
    await pages.remember(first)
    other, odd = visit(fresh + ".other", "0", 0), visit(fresh + ".odd", "0", 0)
    async with Redis.from_url(stack.addresses.redis) as client:
        await client.set(pages._key(other.site), "x")
        await client.hset(pages._key(odd.site), url_key(odd.url), "12")
    assert len(await pages.take([fresh, other.site, odd.site])) == MOST
    await pages.update([replace(odd, is_counted=True)])
    assert await pages.take([odd.site]) == [page(odd)]
