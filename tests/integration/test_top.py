"""`dehusk top` on a real topic, as its users start it."""

import asyncio
import os
import pty
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
import pytest

from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.kafka.producer import Outgoing, create_producer, enqueue
from dehusk.streams.monitoring.messages import (
    SharedPoint,
    SharedState,
    end_record,
    point_record,
    state_record,
)
from dehusk.streams.monitoring.state import Counts, Point, State, Totals
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.sources.source import Record
from tests.commands import DEHUSK

COUNTS = Counts(Totals(10, 1000, 10, 9, 0, 0, 1, 0), {"not-html": 1}, {}, {})


@pytest.fixture
async def figures(kafka: KafkaSettings, fresh: str) -> str:
    """A topic on which two workers of a group have said how they are, and a third one that has stopped."""
    topic = f"{fresh}-figures"
    await create_topics(kafka, [Topic(topic, 1, 1, {"cleanup.policy": "compact,delete"})])
    ended = SharedPoint(Point(time.time() - 60, 7.0, 500.0, 0.5, 3, 1, 10**8, {}), COUNTS)
    records = [
        *(state_of(fresh, worker) for worker in ("one", "two")),
        state_of("other", "three"),
        point_record(fresh, "ended", ended),
        end_record(fresh, "ended"),
        Record(b"stranger", b"value"),
    ]
    await write(kafka, topic, records)
    return topic


def state_of(group: str, worker: str) -> Record:
    now = time.time()
    point = Point(now, 5.0, 500.0, 0.5, 3, 1, 10**8, {})
    state = State(point, "0.1.0", "dehusk version 7", now, COUNTS, (), 100, 1, (), 0, (), None, None)
    return state_record(group, worker, SharedState("host", None, state))


async def write(kafka: KafkaSettings, topic: str, records: list[Record]) -> None:
    async with create_producer(kafka) as producer:
        for record in records:
            await enqueue(producer, Outgoing(topic, record))


@contextmanager
def running(kafka: KafkaSettings, topic: str, group: str, *workers: str) -> Iterator[None]:
    """Have workers say how they are, again and again."""
    is_over = threading.Event()

    async def share() -> None:
        async with create_producer(kafka) as producer:
            while not is_over.is_set():
                for worker in workers:
                    await enqueue(producer, Outgoing(topic, state_of(group, worker)))
                await asyncio.sleep(0.2)

    sharing = threading.Thread(target=lambda: asyncio.run(share()))
    sharing.start()
    try:
        yield
    finally:
        is_over.set()
        sharing.join()


def top(kafka: KafkaSettings, figures: str, group: str, *options: str) -> list[str]:
    named = ["--brokers", kafka.brokers, "--monitoring-topic", figures, "--group", group]
    return [DEHUSK, "top", *named, *options]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_programs_read_the_group(kafka: KafkaSettings, figures: str, fresh: str) -> None:
    with running(kafka, figures, fresh, "one", "two"):
        ended = run(top(kafka, figures, fresh, "--once", "--json"))
    found = orjson.loads(ended.stdout)
    assert ended.returncode == 0
    assert [(row["worker"], row["gone_since"]) for row in found["workers"]] == [("one", None), ("two", None)]
    assert found["state"]["point"]["pages_per_second"] == 10.0
    assert found["counts"]["totals"]["documents"] == 27
    assert [point["pages_per_second"] for point in found["points"]] == [7.0]
    assert found["malformed"] == 1


def test_a_pipe_gets_one_report_in_which_a_killed_worker_is_silent(
    kafka: KafkaSettings, figures: str, fresh: str
) -> None:
    expected = f"group {fresh}: 1 worker, 1 silent; dehusk 0.1.0, dehusk version 7\n"
    with running(kafka, figures, fresh, "two"):
        for _ in range(5):  # a busy machine may let the other one be silent, too
            ended = run(top(kafka, figures, fresh))
            if ended.returncode == 0:
                break
    assert ended.stdout.startswith(expected)
    assert "\x1b" not in ended.stdout


def test_a_group_whose_workers_were_just_killed_does_not_run(
    kafka: KafkaSettings, figures: str, fresh: str
) -> None:
    ended = run(top(kafka, figures, fresh, "--once"))
    assert ended.returncode == 1
    assert ended.stdout.startswith(f"group {fresh}: 0 workers, 2 silent\nno worker heard from since ")


def test_a_topic_that_is_not_there_is_an_error(kafka: KafkaSettings, fresh: str) -> None:
    ended = run(top(kafka, f"{fresh}-none", fresh))
    assert ended.returncode == 1
    assert "does not exist" in ended.stderr


@pytest.mark.parametrize("key", [b"q", b"\xfcxQ", b"\x03"])
def test_a_key_ends_it(kafka: KafkaSettings, figures: str, fresh: str, key: bytes) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(DEHUSK, top(kafka, figures, fresh))
    seen = b""
    while b"pages/s" not in seen:
        seen += os.read(terminal, 1 << 16)
    os.write(terminal, key)
    try:
        while os.read(terminal, 1 << 16):
            """Output that is still to be read."""
    except OSError:
        """The terminal is closed."""
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
