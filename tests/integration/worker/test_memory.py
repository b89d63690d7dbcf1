"""A worker's memory while a backlog builds up in Kafka, not in the worker, and while huge pages come in."""

import asyncio

from dehusk.streams.settings import MIB
from dehusk.streams.sources.source import Record

LIMIT = 600 * MIB
"""Memory that a worker may hold whatever the backlog."""


async def test_a_backlog_without_triton_does_not_grow_the_worker(bench, site, stack) -> None:
    backlog = _enlarged(site(2500), 60_000)
    triton = stack.services["triton"]
    worker = bench.worker("--labeler", "triton", "--processes", "2")
    await bench.produce(backlog[:100])
    await bench.until_done()
    await asyncio.to_thread(triton.kill)
    try:
        await bench.produce(backlog[100:1300])
        await bench.until(lambda: list(worker.report()["unavailable"]) == ["triton"])
        await _until_settled(worker)
        half = worker.memory()
        await bench.produce(backlog[1300:])
        await _until_settled(worker)
        whole = worker.memory()
    finally:
        await asyncio.to_thread(triton.start)
    assert whole < LIMIT
    assert whole - half < 16 * MIB
    await bench.until_done()
    assert worker.memory() < LIMIT
    assert len({message.key for message in await bench.documents()}) == len(backlog)


async def test_huge_pages_do_not_grow_the_worker_without_bounds(bench, site) -> None:
    lines = b"<ol><li>" * 200 + b"<pre>" + b"a\n" * 7 * MIB
    blocks = b"<p class=a>one two three four five" * 90_000
    huge = [
        Record(f"https://h.example/{number}".encode(), html, (("content-type", b"text/html"),))
        for number, html in enumerate([lines, blocks] * 5)
    ]
    neighbours = site(100)
    worker = bench.worker("--labeler", "onnx", "--processes", "4")
    await bench.produce([*huge, *neighbours])
    peak = 0
    while await bench.left():
        peak = max(peak, worker.memory())
        await asyncio.sleep(0.1)
    assert peak < LIMIT
    assert {record.key for record in neighbours} <= {message.key for message in await bench.documents()}


async def _until_settled(worker) -> None:
    """Wait until the worker's buffers are as full as they get."""
    before = 0
    while (now := worker.memory()) > before + MIB:
        before = now
        await asyncio.sleep(3)


def _enlarged(records: list[Record], size: int) -> list[Record]:
    """The pages with a script that makes each as large as real ones are."""
    script = b"<script>" + b"x" * size + b"</script>"
    return [Record(record.key, record.value + script, record.headers) for record in records]
