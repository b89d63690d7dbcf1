"""Damaged sites in a Redis."""

import logging

import numpy as np
import pytest

from dehusk.streams.sites.redis_store import SiteBounds

KEY = "dehusk:3:{bad.test}"


def half_of(client, field):
    value = client.hget(KEY, field)
    client.hset(KEY, field, value[: len(value) // 2])


def replaced(client):
    client.delete(KEY)
    client.set(KEY, "x")


DAMAGE = {
    "another type": replaced,
    "state cut": lambda client: half_of(client, "state"),
    "no sizes": lambda client: client.hset(KEY, "texts", b"x"),
    "texts cut": lambda client: client.hset(KEY, "texts", client.hget(KEY, "texts")[:-1]),
    "too many structures": lambda client: client.hset(KEY, "structures", client.hget(KEY, "structures") * 2),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
async def test_a_damaged_site_is_counted_anew_and_no_other_one(start, opened, page, caplog, damage):
    server = start()
    async with opened(server) as store:
        bad, good = (
            [page(site, number, 1, 2) for number in range(300)] for site in ("bad.test", "good.test")
        )
        await store.observe([*bad, *good])
        with server.client() as client:
            damage(client)
        with caplog.at_level(logging.WARNING):
            answers = await store.observe([good[0], *bad[:2]])
        assert [answer.pages for answer in answers] == [299, 0, 1]
        assert [each.getMessage() for each in caplog.records].count(
            "what Redis kept of the site bad.test is damaged: it is counted anew"
        ) == 1
        caplog.clear()
        again = await store.observe([bad[0], page("bad.test", "new", 1)])
        assert [(answer.pages, answer.is_counted) for answer in again] == [(1, True), (2, False)]
        assert again[1].texts[0] == 2
        assert not caplog.records
        with server.client() as client:
            assert client.ttl(KEY) > 0


async def test_texts_that_are_on_no_page_do_not_stop_the_server(start, opened, page):
    server = start()
    async with opened(server, SiteBounds(texts=8)) as store:
        await store.observe([page("bad.test", 0, 1, 2, 3, 4, 5)])
        with server.client() as client:
            texts = bytearray(client.hget(KEY, "texts"))
            entries = np.frombuffer(texts, np.uint8, offset=64).reshape(-1, 6)
            entries[:, 4:] = 0
            client.hset(KEY, "texts", bytes(texts))
        await store.observe([page("bad.test", 1, *range(10, 20))])
        (answer,) = await store.observe([page("good.test", 1, 1)])
        assert answer.pages == 0
