"""Dependencies that become unavailable while a worker runs: dead, or silent."""

import asyncio
import sys
from functools import partial

import orjson
import pytest

from dehusk.streams.local.folder import free_ports
from tests.integration.worker.conftest import Worker
from tests.integration.worker.frozen import away, paused


async def documents(bench) -> list[dict]:
    return [orjson.loads(message.value) for message in await bench.documents()]


async def test_a_broker_that_restarts_costs_nothing(bench, site, stack) -> None:
    records = site(600)
    worker = bench.worker()
    await bench.produce(records[:300])
    await bench.until(worker.has_partitions)
    await asyncio.to_thread(stack.services["kafka-1"].kill)
    await asyncio.sleep(8)
    await asyncio.to_thread(stack.services["kafka-1"].start)
    await bench.produce(records[300:])
    await bench.until_done()
    assert {message.key for message in await bench.documents()} == {record.key for record in records}
    assert worker.stop() == 0


def is_missed(worker: Worker, name: str) -> bool:
    """Tell if a worker is not ready because it misses one dependency."""
    return not worker.is_ready() and list(worker.report()["unavailable"]) == [name]


async def test_an_idle_worker_notices_that_a_dependency_is_unavailable(bench, stack) -> None:
    patience = "600"  # more than the test has: a server that is frozen is silent long before
    worker = bench.worker("--labeler", "triton", "--triton-seconds", patience)
    await bench.until(lambda: worker.has_partitions() and worker.is_ready())

    def gauge(name: str) -> int:
        return worker.metric("dehusk_dependency_unavailable", "dependency")[name]

    for name, program, go in (
        ("kafka", "kafka-1", "stop"),
        ("kafka", "kafka-1", "pause"),
        ("redis", "redis", "pause"),
        ("triton", "triton", "stop"),
        ("triton", "triton", "pause"),
    ):
        async with away(stack.services[program], go):
            await bench.until(partial(is_missed, worker, name))
            assert gauge(name) == 1
        await bench.until(lambda name=name: worker.is_ready() and gauge(name) == 0)


async def test_a_worker_that_starts_without_redis_or_triton_misses_them_before_a_page_comes(bench) -> None:
    nowhere = f"127.0.0.1:{free_ports(1)[0]}"
    absent = ("--redis", f"redis://{nowhere}/0", "--triton", nowhere)
    worker = bench.worker(*absent, "--labeler", "triton", "--when-triton-is-unavailable", "rules")
    await bench.until(worker.has_partitions)
    await bench.until(lambda: list(worker.report()["unavailable"]) == ["redis", "triton"])
    assert not worker.is_ready()


async def test_the_lag_is_what_kafka_says_while_a_worker_waits(bench, site, stack) -> None:
    records = site(3000)
    worker = bench.worker("--labeler", "triton", "--triton-seconds", "2")
    await bench.produce(records[:200])
    await bench.until(worker.has_partitions)
    await bench.until_done()
    triton = stack.services["triton"]
    async with paused(triton):
        await bench.produce(records[200:1600])
        await bench.until(lambda: not worker.is_ready())
        await bench.produce(records[1600:])  # while no partition is fetched, once the buffers are full
        await bench.until(lambda: worker.report()["lag"] == 2800)
        await bench.until(lambda: worker.counter("dehusk_lag_seconds") > 1)
        assert await bench.left() == 2800
        assert sum(worker.metric("dehusk_partition_lag", "partition").values()) == 2800
    await bench.until_done()
    await bench.until(lambda: worker.report()["lag"] == worker.counter("dehusk_lag_seconds") == 0)


@pytest.mark.parametrize("go", ["stop", "pause"])
async def test_a_stop_does_not_wait_for_a_kafka_that_is_gone(bench, site, stack, go: str) -> None:
    records = site(600)
    worker = bench.worker("--grace-seconds", "600")
    await bench.until(worker.has_partitions)
    await bench.produce(records)
    await bench.until(worker.is_busy)
    async with away(stack.services["kafka-1"], go):
        assert await asyncio.to_thread(worker.stop) == 0
    assert worker.says("stopping without Kafka, which does not answer")
    assert not worker.says("Traceback")
    bench.worker()
    await bench.until_done()
    assert {message.key for message in await bench.documents()} == {record.key for record in records}


@pytest.mark.parametrize("go", ["stop", "pause"])
async def test_without_redis_pages_are_cleaned_and_marked(bench, site, stack, go: str) -> None:
    records = site(300)
    redis = stack.services["redis"]
    worker = bench.worker("--redis-seconds", "5")
    await bench.produce(records[:100])
    await bench.until_done()
    async with away(redis, go):
        await bench.produce(records[100:200])
        await bench.until_done()
        assert list(worker.report()["unavailable"]) == ["redis"]
    await bench.until(lambda: not worker.report()["unavailable"])
    await bench.produce(records[200:])
    await bench.until_done()

    by_url = {document["url"]: document for document in await documents(bench)}
    found = [by_url[record.key.decode()] for record in records]
    assert [document["degraded"] for document in found[:100]] == [[]] * 100
    assert [document["degraded"] for document in found[100:200]] == [["frequencies"]] * 100
    assert all(document["template"] is None for document in found[100:200])
    assert found[-1]["degraded"] == []
    assert found[-1]["template"]["pages_seen"] > 100
    assert not worker.report()["unavailable"]


@pytest.mark.parametrize("go", ["kill", "pause"])
async def test_without_triton_a_worker_waits(bench, site, stack, go: str) -> None:
    records = site(200)
    worker = bench.worker("--labeler", "triton")
    await bench.produce(records[:100])
    await bench.until_done()
    async with away(stack.services["triton"], go):
        await bench.produce(records[100:])
        await bench.until(lambda: worker.report()["in_flight"] > 0)
        await asyncio.sleep(3)
        assert len(await bench.documents()) == 100
    await bench.until_done()
    found = await documents(bench)
    assert {document["url"] for document in found} == {record.key.decode() for record in records}
    assert {document["labeler"] for document in found} == {"triton"}


async def test_without_triton_rules_may_label(bench, site, stack) -> None:
    records = site(300)
    triton = stack.services["triton"]
    worker = bench.worker(
        "--labeler", "triton", "--when-triton-is-unavailable", "rules", "--triton-seconds", "2"
    )
    await bench.produce(records[:100])
    await bench.until_done()
    async with paused(triton):
        await bench.produce(records[100:200])
        await bench.until_done()
    await bench.until(lambda: not worker.report()["unavailable"])
    await bench.produce(records[200:])
    await bench.until_done()

    by_url = {document["url"]: document for document in await documents(bench)}
    found = [by_url[record.key.decode()] for record in records]
    marks = [(document["labeler"], document["degraded"]) for document in found]
    assert marks == [("triton", [])] * 100 + [("rules", ["model"])] * 100 + [("triton", [])] * 100


NOT_READING = """
from dehusk.streams.worker import run
from dehusk.streams.worker.input import lag
from dehusk.streams.worker.input.consumer import Consumer
from dehusk.streams.worker.monitoring import monitor

lag.STANDSTILL_SECONDS = monitor.STANDSTILL_SECONDS = 3.0
run._STALL_SECONDS = 10.0
Consumer.resume_flow = lambda consumer: None

from dehusk.streams.__main__ import main

main()
"""
"""A worker that never begins to read its partitions, and notices sooner that it does not."""


async def test_a_worker_that_reads_nothing_of_its_partitions_ends(bench, site) -> None:
    worker = bench.worker("--page-seconds", "0.1", program=(sys.executable, "-c", NOT_READING, "worker"))
    await bench.until(lambda: worker.has_partitions() and worker.is_ready())
    await asyncio.sleep(8)
    assert worker.is_ready(), "there is nothing to read"
    await bench.produce(site(20))
    await bench.until(lambda: not worker.is_ready())
    assert "has read nothing for" in worker.page("healthz")
    await bench.until(lambda: not worker.is_alive())
    assert worker.process.returncode == 75
    assert worker.says("nothing was read for")


async def test_a_stop_does_not_wait_for_a_dependency_that_is_stuck(bench, site, stack) -> None:
    worker = bench.worker("--labeler", "triton", "--grace-seconds", "8")
    await bench.until(worker.has_partitions)
    triton = stack.services["triton"]
    async with paused(triton):
        await bench.produce(site(100))
        await bench.until(lambda: worker.report()["in_flight"] > 0)
        assert await asyncio.to_thread(worker.stop) == 0
        assert await bench.left() == 100
    bench.worker("--labeler", "triton")
    await bench.until_done()
    assert len({message.key for message in await bench.documents()}) == 100


async def test_partitions_change_hands_while_triton_is_stuck(bench, site, stack) -> None:
    first = bench.worker("--labeler", "triton")
    await bench.until(first.has_partitions)
    triton = stack.services["triton"]
    async with paused(triton):
        await bench.produce(site(100))
        await bench.until(lambda: first.report()["in_flight"] > 0)
        second = bench.worker("--labeler", "rules")
        await bench.until(lambda: second.says("reads 2 partitions"))
    await bench.until_done()
    assert len({message.key for message in await bench.documents()}) == 100


async def test_what_is_missing_at_the_start_is_said_in_one_line(bench, fresh) -> None:
    worker = bench.worker("--input", f"{fresh}-absent")
    assert await asyncio.to_thread(worker.process.wait) == 1
    assert worker.says(f"--create --topic {fresh}-absent --partitions")
    worker = bench.worker("--labeler", "triton", "--model", "absent")
    assert await asyncio.to_thread(worker.process.wait) == 1
    assert worker.says("'absent'") or worker.says("absent")
    assert "Traceback" not in bench.logs()
