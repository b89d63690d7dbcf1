"""Workers of two releases in one group, in the order of the docs, and the messages that they share."""

import asyncio
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import orjson
import pytest

from dehusk.streams.kafka.client import Topic, control_topic, create_topics
from dehusk.streams.sources.source import Record
from tests import first_release
from tests.commands import DEHUSK
from tests.first_release import with_later_fields
from tests.integration.worker.conftest import Bench, Swapping
from tests.integration.worker.test_group import events, shown

OLDER = (sys.executable, Path(__file__).with_name("older_worker.py"), "worker")


@pytest.mark.parametrize("own_triton", ["web2text"], indirect=True)
async def test_workers_are_upgraded_one_after_the_other_and_the_repository_last(
    bench: Bench, site, fresh: str, own_triton: Swapping
) -> None:
    figures = f"{fresh}-figures"
    await create_topics(bench.kafka, [Topic(figures, 1, 1, {"cleanup.policy": "compact,delete"})])
    triton = ("--labeler", "triton", "--triton", own_triton.stack.addresses.triton_grpc)
    options = (*triton, "--monitoring-topic", figures)
    records = site(200)
    old = bench.worker(*options, program=OLDER)
    await bench.until(old.has_partitions)
    await bench.produce(records[:40])
    await bench.until_done()
    new = bench.worker(*options)
    await bench.until(new.has_partitions)
    await bench.produce(records[40:120])
    await bench.until_done()
    done = [worker.report()["totals"]["documents"] for worker in (old, new)]
    assert all(done)
    for worker in (old, new):
        await shown(worker, 2, sum(done))
    await own_triton.swap("dehusk", "2")  # too early: an old worker is left
    late = bench.worker(*options, program=OLDER)
    assert await asyncio.to_thread(late.process.wait, 60) == 1
    *_, line = late.log.read_text().splitlines()
    assert "declares the signature 'structure 2 crc32; " in line
    assert not late.says("Traceback")
    await bench.produce(records[120:])
    await bench.until(lambda: not old.is_ready())
    assert "declares the signature" in old.report()["unavailable"]["triton"]
    await bench.until(lambda: new.report()["totals"]["documents"] > done[1])
    assert new.is_ready()
    assert old.stop() == 0
    await bench.until_done()
    documents = await bench.documents()
    versions = {message.key: orjson.loads(message.value)["model"]["version"] for message in documents}
    assert [versions[record.key] for record in records] == ["1"] * 120 + ["2"] * 80
    assert not await bench.dead_letters()


def current(value: bytes) -> bytes:
    """A state of the first release with times of today."""
    fields = orjson.loads(value)
    fields["state"]["started"] = fields["state"]["point"]["time"] = time.time()
    return orjson.dumps(fields)


async def test_what_workers_of_other_releases_write_is_read(bench: Bench, site, fresh: str) -> None:
    group, (figures, control, again) = bench.topics.group, (f"{fresh}-{name}" for name in ("f", "c", "r"))
    topics = [*(Topic(name, 1, 1) for name in (figures, again)), control_topic(control, 1)]
    await create_topics(bench.kafka, topics)
    worker = bench.worker(
        *("--labeler", "onnx", "--monitoring-topic", figures, "--control-topic", control),
        *("--revisit-topic", again, "--revisit-after", "12"),
    )
    await bench.until(worker.has_partitions)
    pages = site(8)
    await bench.produce(pages)
    await bench.until_done()
    first = current(first_release.STATE)
    for name, value in {
        "older": first,
        "newer": with_later_fields(first),
        "of another layout": first.replace(b'"layout":1', b'"layout":2'),
    }.items():
        await bench.produce_to(figures, [Record(orjson.dumps([group, name]), value)])
    async with aclosing(events(worker, "group")) as told:
        await anext(told)
        async for state in told:
            workers = {row["worker"] for row in state["group"]["workers"]}
            documents = state["state"]["counts"]["totals"]["documents"]
            if {"older", "newer"} < workers and documents == len(pages) + 2 * 9:
                break
    await bench.until(lambda: worker.says("it is not of layout 1"))
    report = first_release.REPORT.replace(b"host-1", b"older")
    records = [
        Record(f"worker/dehusk/{group}/older".encode(), report),
        Record(f"state/dehusk/{group}".encode(), with_later_fields(first_release.ROLLOUT)),
    ]
    await bench.produce_to(control, records)
    status = [DEHUSK, "model", "status", "dehusk", "--json", "--group", group, "--control-topic", control]
    following: list[int] = []
    while following != [1, 1]:
        told = await asyncio.to_thread(
            subprocess.run, [*status, "--brokers", bench.kafka.brokers], capture_output=True, check=True
        )
        following = [each["revision"] for each in orjson.loads(told.stdout)["workers"]]
    request = Record(f"{fresh}.example".encode(), orjson.dumps({"group": group, "tomorrow": {"deep": [1]}}))
    await bench.produce_to(again, [request])
    await bench.until(
        lambda: worker.metric("dehusk_revisits_total", "outcome").get("published") == len(pages)
    )
    assert worker.is_ready()
    assert not worker.says("Traceback")
    assert worker.stop() == 0
