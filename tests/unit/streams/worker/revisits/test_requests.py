"""The requests of second cleanings: what is asked for, and when a request is done with."""

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.subscription_state import SubscriptionState
from aiokafka.errors import (
    CommitFailedError,
    GroupAuthorizationFailedError,
    IllegalStateError,
    KafkaConnectionError,
)

from dehusk.schemas.documents import Origin
from dehusk.streams.kafka import consumer as consumer_module
from dehusk.streams.settings import TopicSettings
from dehusk.streams.sites.revisits import FirstPage, url_key
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.revisits import requests as requests_module
from dehusk.streams.worker.revisits.requests import Request, Requests, write_request
from dehusk.streams.worker_settings import WorkerSettings
from tests import first_release
from tests.settling import settle

SETTINGS = WorkerSettings(topics=TopicSettings(group="g"))
PARTITION = TopicPartition("revisits", 0)


def record(
    offset: int, site: str, group: str = "g", value: bytes | None = b"", newer: tuple[FirstPage, ...] = ()
) -> SimpleNamespace:
    made = write_request(Request(site, newer), group)
    return SimpleNamespace(
        topic="revisits",
        partition=0,
        offset=offset,
        key=made.key,
        value=made.value if value == b"" else value,
    )


async def renew_nothing() -> None:
    raise AssertionError("nothing was given up")


class Coordinator:
    """A coordinator that a heartbeat failed: it keeps that error until it is asked to join again."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self._coordination_task: asyncio.Future[None] = asyncio.Future()

    def check_errors(self) -> None:
        if self.error is not None:
            raise self.error

    def request_rejoin(self) -> None:
        self.error = None


class Consumer:
    """A consumer that gives what the test says, or raises it, and notes what is committed."""

    def __init__(
        self, *polls: object, commit_error: Exception | None = None, group_error: Exception | None = None
    ) -> None:
        self._coordinator = Coordinator(group_error)
        self._subscription = SubscriptionState()
        self._subscription.subscribe({"revisits"})
        self.assign()
        self.topics = {"revisits": {0}}
        self.polls = list(polls)
        self.commit_error = commit_error
        self.committed: list[dict] = []
        self.is_exhausted = asyncio.Event()

    def assign(self) -> None:
        self._subscription.assign_from_subscribed([PARTITION])

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return self.topics.get(topic)

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
    return [[request.site for request in requests] for requests in await handled_requests(consumer)]


async def handled_requests(consumer: Consumer) -> list[list[Request]]:
    found: list[list[Request]] = []

    async def handle(requests) -> None:
        assert len(consumer.committed) == len(found), "what was handled before is committed"
        found.append(list(requests))

    working = asyncio.create_task(Requests(consumer, SETTINGS, Membership(6)).run(handle, renew_nothing))
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


async def test_the_newest_messages_of_pages_are_told() -> None:
    pages = tuple(
        FirstPage("\udcff", url_key(url), Origin("raw", 3, 2**53 + 1)) for url in ("\udc00", "https://a/")
    )
    (requests,) = await handled_requests(Consumer([record(1, "\udcff", newer=pages)]))
    assert requests == [Request("\udcff", pages)]


@pytest.mark.parametrize(
    "value",
    [
        first_release.REQUEST,
        first_release.with_later_fields(first_release.REQUEST),
        b'{"group": "g", "newer": [["0011223344556677", "raw", 0, 1, "of tomorrow"]]}',
    ],
)
async def test_requests_of_the_first_release_and_of_later_ones_are_read(value: bytes) -> None:
    page = FirstPage("a", bytes.fromhex("0011223344556677"), Origin("raw", 0, 1))
    (requests,) = await handled_requests(Consumer([record(1, "a", value=value)]))
    assert requests == [Request("a", (page,))]
    assert write_request(*requests, "g").value == first_release.REQUEST


@pytest.mark.parametrize("value", [b'{"group": "g"}', b'{"group": "g", "tomorrow": 1}'])
async def test_a_request_without_pages_is_for_those_that_are_kept(value: bytes) -> None:
    assert await handled_requests(Consumer([record(1, "a", value=value)])) == [[Request("a")]]


@pytest.mark.parametrize(
    "value",
    [
        *(None, b"{", b"[]", b"1", b'{"group": "other"}', b'{"group": 7}', b'{"group": "g", "newer": 1}'),
        b'{"group": "g", "newer": [["00", "raw", 0, 1]]}',
        b'{"group": "g", "newer": [["0011223344556677", "raw/1", 0, 1]]}',
        b'{"group": "g", "newer": [["0011223344556677", "raw", 0, -1]]}',
        b'{"group": "g", "newer": [["0011223344556677", "raw", 0]]}',
    ],
)
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


async def test_a_group_that_refused_a_heartbeat_is_joined_again(caplog: pytest.LogCaptureFixture) -> None:
    consumer = Consumer([record(1, "a")], group_error=GroupAuthorizationFailedError("g-revisits"))
    assert await handled(consumer) == [["a"]]
    assert "lacks Read on group g-revisits" in caplog.text


@pytest.mark.parametrize("error", [CommitFailedError(), IllegalStateError("not assigned")])
async def test_requests_that_cannot_be_committed_do_not_end_the_worker(error: Exception) -> None:
    consumer = Consumer([record(1, "a")], [record(2, "b")], commit_error=error)
    assert await handled(consumer) == [["a"], ["b"]]


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_a_commit_ends_with_its_topic_or_its_assignment(
    is_deleted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """aiokafka would try again until the topic is back, and block each rebalance until then."""
    monkeypatch.setattr(consumer_module, "CHECK_SECONDS", 0.01 if is_deleted else 3600.0)
    consumer = Consumer([record(1, "a")], [record(2, "b")])

    async def try_for_ever(_: object) -> None:
        consumer.committed.append({})
        if is_deleted:
            consumer.topics.clear()
        else:
            consumer.assign()
        await asyncio.Event().wait()

    monkeypatch.setattr(consumer, "commit", try_for_ever)
    async with asyncio.timeout(30):
        assert await handled(consumer) == [["a"], ["b"]]


async def test_a_rebalance_waits_for_what_is_being_handled() -> None:
    consumer, may_end, ended = Consumer([record(1, "a")]), asyncio.Event(), []
    requests = Requests(consumer, SETTINGS, Membership(6))

    async def handle(_: object) -> None:
        await may_end.wait()

    working = asyncio.create_task(requests.run(handle, renew_nothing))
    await asyncio.sleep(0)
    waiting = asyncio.create_task(requests.release())
    waiting.add_done_callback(ended.append)
    await settle()
    assert not ended
    may_end.set()
    await waiting
    assert consumer.committed == [{PARTITION: 2}]
    working.cancel()


class Handling:
    """A handling that ends, but for the first time only once it is cancelled; notes what it is given."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self.told: list[str] = []

    async def handle(self, requests) -> None:
        self.told += [request.site for request in requests]
        if len(self.told) == 1:
            try:
                await asyncio.Event().wait()
            finally:
                self.told.append("cancelled")

    async def renew(self) -> None:
        self.told.append("renewed")
        self.membership.mark_drained()


@pytest.fixture
def membership() -> Membership:
    return Membership(6)


@pytest.mark.parametrize("is_lost", [True, False])
async def test_what_is_handled_is_given_up_once_others_have_it(
    membership: Membership, is_lost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The membership is lost, or a rebalance has waited long enough."""
    monkeypatch.setattr(requests_module, "_REBALANCE_SECONDS", 0.01)
    consumer, handling = Consumer([record(1, "a")], [record(2, "b")]), Handling(membership)
    requests = Requests(consumer, SETTINGS, membership)
    working = asyncio.create_task(requests.run(handling.handle, handling.renew))
    await settle()
    assert (handling.told, consumer.committed) == (["a"], [])
    if is_lost:
        membership.lose()
    else:
        await requests.release()
    await consumer.is_exhausted.wait()
    assert handling.told == ["a", "cancelled", "renewed", "b"]
    assert consumer.committed == [{PARTITION: 3}]
    working.cancel()


async def test_requests_that_come_after_an_idle_member_was_lost_are_handled(membership: Membership) -> None:
    consumer, handling = Consumer([record(1, "a")]), Handling(membership)
    handling.told.append("before")
    membership.lose()
    working = asyncio.create_task(
        Requests(consumer, SETTINGS, membership).run(handling.handle, handling.renew)
    )
    await consumer.is_exhausted.wait()
    assert handling.told == ["before", "renewed", "a"]
    working.cancel()


async def test_an_error_of_the_handling_ends_the_loop(membership: Membership) -> None:
    async def fail(_: object) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        await Requests(Consumer([record(1, "a")]), SETTINGS, membership).run(fail, renew_nothing)
