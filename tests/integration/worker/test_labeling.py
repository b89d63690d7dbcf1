"""A Triton that is slow, or wrong, for one page or for all: the real one, behind a proxy."""

import asyncio
import random
from dataclasses import replace

import pytest

from dehusk.schemas.outcomes import BrokenReason
from tests.integration.conftest import topics_of

POISON = 17
"""Blocks of a page that makes Triton fail, beside those of any other page; no stand-in has so many."""


@pytest.fixture
async def proxy(stack, open_proxy):
    async with open_proxy(stack.addresses.triton_grpc) as opened:
        yield opened


@pytest.fixture
def worker(bench, proxy):
    return bench.worker("--labeler", "triton", "--triton", proxy.address, "--triton-seconds", "0.5")


async def test_requests_that_time_out_at_random_cost_no_page(bench, site, proxy, worker) -> None:
    chance = random.Random(1)
    await bench.until(worker.has_partitions)
    proxy.spoil = lambda _: "late" if chance.random() < 0.5 else None
    records = site(30)
    await bench.produce(records)
    await bench.until_done()
    assert not await bench.dead_letters()
    assert {message.key for message in await bench.documents()} == {record.key for record in records}


async def test_a_page_that_fails_alone_is_the_only_dead_letter(bench, site, open_proxy) -> None:
    async with asyncio.TaskGroup() as tasks:
        for fault in ("late", "refused", "nan"):
            tasks.create_task(fail_alone(bench, site(60), open_proxy, fault))


async def fail_alone(bench, pages, open_proxy, fault: str) -> None:
    *records, poison = pages
    long = poison.value.replace(b"<main>", b"<main>" + b"<p>more of it</p>" * POISON)
    poison = replace(poison, value=long)
    topics = topics_of(f"{bench.topics.group}-{fault}")
    async with open_proxy(bench.stack.addresses.triton_grpc) as proxy, bench.beside(topics) as own:
        proxy.spoil = lambda request: fault if request.inputs[1].shape[1] > POISON else None
        own.worker("--labeler", "triton", "--triton", proxy.address, "--triton-seconds", "1.5")
        await own.produce([*records[:30], poison, *records[30:]])
        await own.until_done()
        (letter,) = await own.dead_letters()
        assert (letter.original.key, letter.reason) == (poison.key, BrokenReason.REJECTED_BY_MODEL)
        assert {message.key for message in await own.documents()} == {record.key for record in records}


async def test_a_model_that_answers_no_numbers_for_any_page_is_waited_for(bench, site, proxy, worker) -> None:
    records = site(100)
    await bench.produce(records[:50])
    await bench.until_done()
    proxy.spoil = lambda _: "nan"
    await bench.produce(records[50:])
    await bench.until(lambda: not worker.is_ready())
    await bench.until(lambda: worker.says("the labeler rejects every page"))
    assert "an answer that is no probability" in worker.report()["unavailable"]["triton"]
    await asyncio.sleep(3)
    assert not await bench.dead_letters()
    proxy.spoil = lambda _: None
    await bench.until_done()
    await bench.until(worker.is_ready)
    assert not await bench.dead_letters()
    assert {message.key for message in await bench.documents()} == {record.key for record in records}
