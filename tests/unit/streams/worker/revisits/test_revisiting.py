"""The second cleaning of pages, on doubles of all that it asks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.preparation.steps import Postponed
from dehusk.streams.settings import FlowLimits
from dehusk.streams.sites.revisits import FirstPage, url_key
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.preflight import name_dependencies
from dehusk.streams.worker.results import CleanedMessage, MessageTrace
from dehusk.streams.worker.revisits.requests import Request
from dehusk.streams.worker.revisits.revisiting import Revisiting
from dehusk.streams.worker_settings import WorkerSettings

LIMITS = FlowLimits()


def url(offset: int) -> str:
    return f"https://a.test/{offset}"


def page(offset: int, of_url: str | None = None) -> FirstPage:
    return FirstPage("a.test", url_key(of_url or url(offset)), Origin("raw", 0, offset))


class World:
    """First pages, a topic of messages with a page each, a cleaner and an output topic."""

    def __init__(self, *pages: FirstPage) -> None:
        self.kept = {(each.site, each.key): each for each in pages}
        self.told_later: tuple[FirstPage, ...] = ()
        self.gone: set[int] = set()
        self.results: dict[int, list[object]] = {}
        """Outcomes of messages instead of documents, in order."""
        self.away: list[str] = []
        """Services that do not answer when they are asked for the next times."""
        self.cleaned: list[list[int]] = []
        self.alone: list[int] = []
        self.sent: list[bytes | None] = []
        self.refused: set[bytes] = set()
        self.done: dict[tuple[str, bytes], FirstPage] = {}
        self.newer: FirstPage | None = None
        """Messages that come while the first document is on its way."""
        self.is_handled_by_another = False
        """True if another worker cleans these again meanwhile."""
        self.answered: list[int] = []
        """Numbers of the records that are answered at the next attempts, before one that fails."""
        self.newer_while_cleaned: FirstPage | None = None
        self.dependencies = name_dependencies(WorkerSettings())
        self.metrics = Metrics(CollectorRegistry(), ())

    async def take(self, sites: Sequence[str]) -> list[FirstPage]:
        self._answers("redis")
        return [each for each in self.kept.values() if each.site in sites]

    async def catch_up(self, pages: Sequence[FirstPage]) -> list[str]:
        self._answers("redis")
        self.kept |= {(each.site, each.key): each for each in pages}
        return [each.site for each in pages]

    async def settle(self, pages: Sequence[FirstPage]) -> None:
        self._answers("redis")
        for each in pages:
            if self.kept.get((each.site, each.key)) == each:
                self.done[each.site, each.key] = self.kept.pop((each.site, each.key))
            elif (newer := self.done.get((each.site, each.key), each)) != each:
                self.kept[each.site, each.key] = newer

    async def read(self, origin: Origin) -> Message | None:
        self._answers("kafka")
        return None if origin.offset in self.gone else Message(b"k", b"html", (), "raw", 0, origin.offset)

    async def clean(self, messages: Sequence[Message]) -> list[object]:
        self.cleaned.append([message.offset for message in messages])
        if (newer := self.newer_while_cleaned) is not None:
            self.kept[newer.site, newer.key] = newer
            self.newer_while_cleaned = None
        results = []
        for message in messages:
            result = self._result(message)
            if isinstance(result, Oversized):
                return results or [result]
            results.append(result)
        return results

    async def clean_alone(self, message: Message) -> object:
        self.alone.append(message.offset)
        return self._result(message)

    async def send(self, records: Sequence[Record]) -> list[Origin | None]:
        if self.newer is not None:
            self.kept[self.newer.site, self.newer.key] = self.newer
            if self.is_handled_by_another:
                self.done[self.newer.site, self.newer.key] = self.kept.pop((self.newer.site, self.newer.key))
            self.newer = None
        self.sent += [record.key for record in records]
        answered = self.answered.pop(0) if self.answered else len(records)
        positions = (Origin("cleaned", 0, offset) for offset in range(answered))
        return [
            None if record.key in self.refused else position
            for record, position in zip(records, positions, strict=False)
        ]

    def _answers(self, name: str) -> None:
        if name in self.away:
            self.away.remove(name)
            raise UnavailableError(name)

    def _result(self, message: Message) -> object:
        special = self.results.get(message.offset, [])
        if special:
            return (
                replace(special.pop(0), message=message)
                if isinstance(special[0], CleanedMessage)
                else special.pop(0)
            )
        return CleanedMessage(message, [Record(url(message.offset).encode(), b"document")])

    async def revisit(self, limits: FlowLimits = LIMITS) -> Counter[str]:
        """The pages by their outcome."""
        revisiting = Revisiting(self, self, self, self.send, self.dependencies, limits, self.metrics)
        await revisiting.revisit([Request("a.test", self.told_later)])
        assert not self.kept
        samples = next(iter(self.metrics.revisits.collect())).samples
        totals = [each for each in samples if each.name.endswith("_total") and each.value]
        return Counter({each.labels["outcome"]: int(each.value) for each in totals})


async def test_each_page_is_published_once() -> None:
    world = World(page(1), page(2), page(3))
    assert await world.revisit() == {"published": 3}
    assert world.sent == [url(offset).encode() for offset in (1, 2, 3)]
    assert await world.revisit() == {"published": 3}
    assert len(world.sent) == 3


async def test_batches_are_bounded_in_messages_and_bytes() -> None:
    world = World(*map(page, range(5)))
    assert await world.revisit(FlowLimits(batch_pages=2)) == {"published": 5}
    assert world.cleaned[:3] == [[0, 1], [2, 3], [4]]
    world = World(*map(page, range(5)))
    assert await world.revisit(FlowLimits(batch_bytes=len(b"html") * 3)) == {"published": 5}
    assert world.cleaned == [[0, 1, 2], [3, 4]]


async def test_a_message_of_several_pages_is_cleaned_once_and_only_first_pages_are_published() -> None:
    world = World(page(1), page(1, "https://a.test/b"))
    records = [Record(each, b"d") for each in (b"https://a.test/1", b"https://a.test/b", b"https://a.test/c")]
    world.results[1] = [CleanedMessage(Message(None, None), records)]
    assert await world.revisit() == {"published": 2}
    assert (world.cleaned, world.sent) == ([[1]], [b"https://a.test/1", b"https://a.test/b"])


async def test_what_kafka_has_no_more_is_expired() -> None:
    world = World(page(1), page(2))
    world.gone = {1}
    assert await world.revisit() == {"published": 1, "expired": 1}


async def test_what_gives_no_document_has_failed_and_is_no_dead_letter() -> None:
    world = World(page(1), page(2), page(3))
    broken = CleanedMessage(Message(None, None))
    broken.fail("prepare", Broken(BrokenReason.RECORD_NOT_FOUND, "no file"))
    world.results[1], world.refused = [broken], {url(2).encode()}
    assert await world.revisit() == {"published": 1, "failed": 2}
    assert world.sent == [url(2).encode(), url(3).encode()]


async def test_another_page_at_the_place_of_the_message_is_not_published() -> None:
    world = World(page(1, "https://a.test/of-another-topic"))
    assert await world.revisit() == {"failed": 1}
    assert world.sent == []


async def test_degraded_documents_are_not_published_but_made_again() -> None:
    world = World(page(1))
    world.results[1] = [
        CleanedMessage(Message(None, None), [Record(b"k", b"d")], degraded=("frequencies",))
    ] * 2
    assert await world.revisit() == {"published": 1}
    assert (len(world.cleaned), world.sent) == (3, [url(1).encode()])


async def test_nothing_is_cleaned_while_a_dependency_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(page(1))
    world.dependencies.labeler.missed(UnavailableError("triton"))

    async def later(attempt: int) -> None:
        assert not world.cleaned
        world.dependencies.labeler.answered()

    monkeypatch.setattr("dehusk.streams.worker.revisits.revisiting.back_off", later)
    assert await world.revisit() == {"published": 1}


async def test_postponed_messages_are_tried_again() -> None:
    world = World(page(1), page(2))
    world.results[1] = [Postponed("registry"), Postponed("registry")]
    assert await world.revisit() == {"published": 2}
    assert world.sent == [url(2).encode(), url(1).encode()]


async def test_huge_pages_are_cleaned_alone() -> None:
    world = World(page(1), page(2), page(3))
    world.results[2] = [Oversized(), Oversized()]
    assert await world.revisit() == {"published": 3}
    assert (world.cleaned, world.alone) == ([[1, 2, 3], [2, 3], [3]], [2])


@pytest.mark.parametrize("away", [["redis"] * 3, ["kafka"] * 3, ["redis", "kafka", "redis", "kafka"]])
async def test_what_does_not_answer_is_asked_until_it_does(away: list[str]) -> None:
    world = World(page(1), page(2))
    world.away = away
    assert await world.revisit() == {"published": 2}
    assert len(world.sent) == 2
    assert not world.dependencies.redis.unavailable


async def test_a_newer_message_that_comes_meanwhile_is_cleaned_again_behind_the_older_one() -> None:
    world = World(page(1))
    world.newer = page(7, url(1))
    world.results[7] = [CleanedMessage(Message(None, None), [Record(url(1).encode(), None)])]
    assert await world.revisit() == {"published": 2}
    assert (world.cleaned, world.sent) == ([[1], [7]], [url(1).encode()] * 2)


async def test_a_newer_message_that_came_while_the_older_one_was_cleaned_is_published_alone() -> None:
    world = World(page(1))
    world.newer_while_cleaned = page(7, url(1))
    world.results[7] = [CleanedMessage(Message(None, None), [Record(url(1).encode(), None)])]
    assert await world.revisit() == {"published": 1}
    assert (world.cleaned, world.sent) == ([[1], [7]], [url(1).encode()])


async def test_a_newer_message_that_another_worker_settles_is_cleaned_again_after_the_older_one() -> None:
    world = World(page(1))
    world.newer, world.is_handled_by_another = page(7, url(1)), True
    world.results[7] = [CleanedMessage(Message(None, None), [Record(url(1).encode(), b"d")])]
    assert await world.revisit() == {"published": 2}
    assert (world.cleaned, world.sent) == ([[1], [7]], [url(1).encode()] * 2)


async def test_what_is_not_sent_is_sent_again_alone_and_not_cleaned_again() -> None:
    world = World(page(1), page(2), page(3))
    world.answered = [1, 0]
    assert await world.revisit() == {"published": 3}
    assert world.cleaned == [[1, 2, 3]]
    assert world.sent == [url(offset).encode() for offset in (1, 2, 3, 2, 3, 2, 3)]


@pytest.mark.parametrize("is_handled_by_another", [False, True])
async def test_what_is_not_sent_is_not_sent_behind_a_newer_message(is_handled_by_another) -> None:
    """The first attempt may have been successful, so the newer message is cleaned again in any case."""
    world = World(page(1))
    world.newer, world.is_handled_by_another = page(7, url(1)), is_handled_by_another
    world.results[7] = [CleanedMessage(Message(None, None), [Record(url(1).encode(), b"d")])]
    world.answered = [0]
    assert await world.revisit() == {"published": 1}
    assert (world.cleaned, world.sent) == ([[1], [7]], [url(1).encode()] * 2)


async def test_messages_that_redis_is_told_later_are_cleaned_again() -> None:
    world = World(page(1))
    world.told_later = (page(7, url(1)),)
    world.results[7] = [CleanedMessage(Message(None, None), [Record(url(1).encode(), b"d")])]
    world.away = ["redis"]
    assert await world.revisit() == {"published": 1}
    assert world.cleaned == [[7]]


async def test_requests_of_other_groups_alone_ask_nothing_of_redis() -> None:
    world = World(page(1))
    world.dependencies.redis.missed(UnavailableError("redis"))
    world.away = ["redis"]
    await Revisiting(world, world, world, world.send, world.dependencies, LIMITS, world.metrics).revisit([])
    assert world.dependencies.redis.unavailable
    assert world.away == ["redis"]


async def test_the_trace_of_a_batch_that_is_cleaned_again_ends_once_it_is_published(
    trace: MessageTrace,
) -> None:
    world = World(page(1), page(2))
    world.results[1] = [CleanedMessage(Message(None, None), degraded=("frequencies",), trace=trace)]
    world.results[2] = [CleanedMessage(Message(None, None), [Record(url(2).encode(), b"d")], trace=trace)]
    assert await world.revisit() == {"published": 2}
    assert trace.told == ["begin deliver", "deliver", 2, "end"]
