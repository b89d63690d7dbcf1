"""Requests of second cleanings when a batch with first pages is delivered."""

import asyncio

import pytest

from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.availability import Dependency
from dehusk.streams.sites.revisits import FirstPage, Visit, url_key
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.input.membership import Membership, boot_time
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.revisits.requests import Request, write_request
from dehusk.streams.worker.revisits.revisiting import Scheduling
from tests.settling import settle


class World:
    """A delivery and first pages, which note in order what they are told."""

    def __init__(self, *due: str, error: Exception | None = None, takes: bool = True) -> None:
        self.due = list(due)
        self.error = error
        self.takes = takes
        self.told: list[tuple[str, object]] = []
        self.membership = Membership(session_seconds=3600)
        self.membership.confirm(boot_time())
        self.is_lost_by_delivery = False

    async def deliver(self, batch) -> None:
        self.told.append(("deliver", len(batch)))
        if self.is_lost_by_delivery:
            self.membership.lose()

    def give_up(self) -> None:
        self.told.append(("give up", None))

    async def renew(self) -> None:
        self.told.append(("renew", None))

    async def send(self, topic: str, records) -> list[Origin | None]:
        self.told.append((topic, list(records)))
        return [Origin(topic, 0, 0) if self.takes else None for _ in records]

    async def update(self, visits) -> None:
        self._tell("update", [visit.url for visit in visits])

    async def remember(self, visits) -> list[str]:
        self._tell("remember", [visit.url for visit in visits])
        return self.due

    async def schedule(self, sites) -> None:
        self._tell("schedule", list(sites))

    def _tell(self, name: str, what: object) -> None:
        self.told.append((name, what))
        if self.error is not None:
            raise self.error


def scheduling(world: World, redis: Dependency) -> Scheduling:
    return Scheduling(
        world,
        world.membership,
        world.send,
        world,
        redis,
        lambda url: url[8:],
        "revisits",
        "g",
    )


@pytest.fixture
def redis() -> Dependency:
    return Dependency("redis", "")


@pytest.fixture
def cleaned(message: Message) -> CleanedMessage:
    """A message of a page and a tombstone."""
    gone = Record(b"https://gone", None)
    visit = Visit("a", "https://a", origin_of(message), 1, is_counted=False)
    return CleanedMessage(message, records=[Record(b"https://a", b"document"), gone], visits=[visit])


URLS = ["https://a", "https://gone"]


async def test_newer_messages_are_told_before_their_documents_and_first_pages_behind_them(
    cleaned, redis
) -> None:
    world = World()
    await scheduling(world, redis).deliver([cleaned])
    assert world.told == [("update", URLS), ("deliver", 1), ("remember", URLS)]


async def test_a_page_of_no_site_that_has_gone_is_no_page_of_one(message, redis) -> None:
    world = World()
    await scheduling(world, redis).deliver([CleanedMessage(message, records=[Record(b"file:///", None)])])
    assert world.told == [("update", []), ("deliver", 1), ("remember", [])]


async def test_a_site_that_is_due_is_asked_for_before_that_is_noted(cleaned, redis) -> None:
    world = World("a", "b")
    await scheduling(world, redis).deliver([cleaned])
    assert world.told[3:] == [
        ("revisits", [write_request(Request(site), "g") for site in ("a", "b")]),
        ("schedule", ["a", "b"]),
    ]


@pytest.mark.parametrize("error", [UnavailableError("away"), ConfigurationError("password")])
async def test_documents_do_not_wait_for_redis_which_is_told_later(cleaned, redis, error) -> None:
    world = World("a", error=error)
    origin = origin_of(cleaned.message)
    cleaned.visits += [
        Visit("a", "https://a/again", origin, 7, is_counted=True),
        Visit("a", "https://a/unknown", origin, None, is_counted=False),
    ]
    delivering = scheduling(world, redis)
    await delivering.deliver([cleaned])
    assert redis.unavailable
    await delivering.deliver([cleaned])
    urls = ("https://a/again", "https://a/unknown")
    later = [
        Request("a", tuple(FirstPage("a", url_key(url), origin) for url in urls)),
        Request("gone", (FirstPage("gone", url_key("https://gone"), origin),)),
    ]
    told = [("revisits", [write_request(each, "g") for each in later]), ("deliver", 1)]
    assert world.told[1:] == told * 2


async def test_a_topic_that_takes_no_request_is_said(cleaned, redis, caplog) -> None:
    world = World("a", takes=False)
    await scheduling(world, redis).deliver([cleaned])
    assert "topic revisits takes not even a request" in caplog.text
    assert world.told[-1] == ("schedule", ["a"])


@pytest.mark.parametrize(
    ("is_lost_by_delivery", "told"), [(False, []), (True, [("update", URLS), ("deliver", 1)])]
)
async def test_redis_is_told_nothing_by_a_worker_that_is_no_member(
    cleaned, redis, is_lost_by_delivery, told
) -> None:
    world = World()
    world.is_lost_by_delivery = is_lost_by_delivery
    if not is_lost_by_delivery:
        world.membership.lose()
    delivering = asyncio.create_task(scheduling(world, redis).deliver([cleaned]))
    await settle()
    assert world.told == told
    world.membership.mark_drained()
    world.membership.confirm(boot_time())
    await delivering
    assert world.told == [("update", URLS), ("deliver", 1), ("remember", URLS)]
