"""A Triton that is slow, or wrong, for one page or for all: the real one, behind a proxy."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from dehusk.schemas.outcomes import BrokenReason

Spoil = Callable[[service_pb2.ModelInferRequest], str | None]
"""What goes wrong with a request: `late`, `refused`, `nan` or nothing."""

POISON = 17
"""Blocks of a page that makes Triton fail, beside those of any other page; no stand-in has so many."""


@dataclass
class Proxy(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Passes requests on to Triton, and its answers back, unless they are to be spoiled."""

    triton: service_pb2_grpc.GRPCInferenceServiceStub
    spoil: Spoil = lambda _: None
    address: str = ""

    async def ModelMetadata(self, request, context):  # noqa: N802 the protocol's name
        return await self.triton.ModelMetadata(request)

    async def ModelConfig(self, request, context):  # noqa: N802 the protocol's name
        return await self.triton.ModelConfig(request)

    async def ModelInfer(self, request, context):  # noqa: N802 the protocol's name
        fault = self.spoil(request)
        if fault == "late":
            await asyncio.sleep(600)
        if fault == "refused":
            await context.abort(grpc.StatusCode.INTERNAL, "out of memory")
        answer = await self.triton.ModelInfer(request)
        if fault == "nan":
            answer.raw_output_contents[0] = bytes(np.full(blocks(request), np.nan, np.float32))
        return answer


def blocks(request: service_pb2.ModelInferRequest) -> int:
    return next(each.shape[1] for each in request.inputs if each.name == "word_len")


@pytest.fixture
async def proxy(stack) -> AsyncIterator[Proxy]:
    async with grpc.aio.insecure_channel(stack.addresses.triton_grpc) as channel:
        servicer = Proxy(service_pb2_grpc.GRPCInferenceServiceStub(channel))
        server = grpc.aio.server()
        service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(servicer, server)
        servicer.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        yield servicer
        await server.stop(None)


@pytest.fixture
def worker(bench, proxy):
    return bench.worker("--labeler", "triton", "--triton", proxy.address, "--triton-seconds", "0.5")


async def test_requests_that_time_out_at_random_cost_no_page(bench, site, proxy, worker) -> None:
    chance = random.Random(1)
    await bench.until(worker.has_partitions)
    proxy.spoil = lambda _: "late" if chance.random() < 0.5 else None
    records = site(60)
    await bench.produce(records)
    await bench.until_done()
    assert not await bench.dead_letters()
    assert {message.key for message in await bench.documents()} == {record.key for record in records}


@pytest.mark.parametrize("fault", ["late", "refused", "nan"])
async def test_a_page_that_fails_alone_is_the_only_dead_letter(bench, site, proxy, worker, fault) -> None:
    *records, poison = site(60)
    long = poison.value.replace(b"<main>", b"<main>" + b"<p>more of it</p>" * POISON)
    poison = replace(poison, value=long)
    proxy.spoil = lambda request: fault if blocks(request) > POISON else None
    await bench.produce([*records[:30], poison, *records[30:]])
    await bench.until_done()
    (letter,) = await bench.dead_letters()
    assert (letter.original.key, letter.reason) == (poison.key, BrokenReason.REJECTED_BY_MODEL)
    assert {message.key for message in await bench.documents()} == {record.key for record in records}


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
