"""The requests of second cleanings: what is asked for, and when a request is done with."""

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaConnectionError

from dehusk.streams.settings import TopicSettings
from dehusk.streams.worker.revisits.requests import Requests, request
from dehusk.streams.worker_settings import WorkerSettings
from tests.settling import settle

SETTINGS = WorkerSettings(topics=TopicSettings(group="g"))
PARTITION = TopicPartition("revisits", 0)


def record(offset: int, site: str, group: str = "g", value: bytes | None = b"") -> SimpleNamespace:
    made = request(site, group)
    return SimpleNamespace(
        topic="revisits",
        partition=0,
        offset=offset,
        key=made.key,
        value=made.value if value == b"" else value,
    )


class Consumer:
    """A consumer that gives what the test says, or raises it, and notes what is committed."""

    def __init__(self, *polls: object, commit_error: Exception | None = None) -> None:
        self.polls = list(polls)
        self.commit_error = commit_error
        self.committed: list[dict] = []
        self.is_exhausted = asyncio.Event()

    async def getmany(self, **_: object) -> dict:
        if not self.polls:
            self.is_exhausted.set()
            await asyncio.Event().wait()
        poll = self.polls.pop(0)
        if isinstance(poll, Exception):
            raise poll
        return {PARTITION: poll} if poll else {}

    async def commit(self, offsets: dict) -> None:
        self.committed.append(dict(offsets))
        if self.commit_error is not None:
            raise self.commit_error


async def handled(consumer: Consumer) -> list[list[str]]:
    """The sites that are handled together, until the consumer has no more."""
    found: list[list[str]] = []

    async def handle(sites) -> None:
        assert len(consumer.committed) == len(found), "what was handled before is committed"
        found.append(list(sites))

    working = asyncio.create_task(Requests(consumer, SETTINGS).run(handle))
    exhausted = asyncio.create_task(consumer.is_exhausted.wait())
    await asyncio.wait([working, exhausted], return_when=asyncio.FIRST_COMPLETED)
    assert not working.done(), working.result()
    working.cancel()
    return found


async def test_requests_are_committed_once_they_are_handled() -> None:
    consumer = Consumer([record(4, "a"), record(5, "b")], [], [record(6, "a")])
    assert await handled(consumer) == [["a", "b"], ["a"]]
    assert consumer.committed == [{PARTITION: 6}, {PARTITION: 7}]


async def test_a_site_that_is_asked_for_twice_is_handled_once() -> None:
    assert await handled(Consumer([record(1, "a"), record(2, "a")])) == [["a"]]


@pytest.mark.parametrize("value", [None, b"{", b"[]", b"1", b'{"group": "other"}', b'{"group": 7}'])
async def test_what_is_no_request_to_this_group_is_passed_over(value: bytes | None) -> None:
    consumer = Consumer([record(1, "a", value=value), record(2, "b")])
    assert await handled(consumer) == [["b"]]
    assert consumer.committed == [{PARTITION: 3}]


async def test_any_site_can_be_asked_for() -> None:
    sites = ["", "a b", "\udcff", "ü.example"]
    assert await handled(Consumer([record(at, site) for at, site in enumerate(sites)])) == [sites]


async def test_a_topic_that_cannot_be_read_is_tried_again_and_said(caplog: pytest.LogCaptureFixture) -> None:
    consumer = Consumer(KafkaConnectionError("gone"), KafkaConnectionError("gone"), [record(1, "a")])
    assert await handled(consumer) == [["a"]]
    assert "no page is cleaned a second time" in caplog.text


@pytest.mark.parametrize("error", [CommitFailedError(), IllegalStateError("not assigned")])
async def test_requests_that_cannot_be_committed_do_not_end_the_worker(error: Exception) -> None:
    consumer = Consumer([record(1, "a")], [record(2, "b")], commit_error=error)
    assert await handled(consumer) == [["a"], ["b"]]


async def test_a_rebalance_waits_for_what_is_being_handled() -> None:
    consumer, may_end, ended = Consumer([record(1, "a")]), asyncio.Event(), []
    requests = Requests(consumer, SETTINGS)

    async def handle(_: object) -> None:
        await may_end.wait()

    working = asyncio.create_task(requests.run(handle))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(requests.wait())
    waiting.add_done_callback(ended.append)
    await settle()
    assert not ended
    may_end.set()
    await waiting
    assert consumer.committed == [{PARTITION: 2}]
    working.cancel()
