"""The second cleaning of the first pages of a site, when enough pages of it are known."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from dehusk.schemas.documents import Origin
from dehusk.schemas.pages import Message
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.settings import FlowLimits
from dehusk.streams.sites.revisits import FirstPage, FirstPages, url_key
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.assembly import CleanedMessage, origin_of
from dehusk.streams.worker.availability import UNAVAILABLE, Dependency
from dehusk.streams.worker.backoff import back_off
from dehusk.streams.worker.cleaning import Cleaner, Result, end_traces
from dehusk.streams.worker.dependencies import Dependencies
from dehusk.streams.worker.metrics import Metrics
from dehusk.streams.worker.tracing.traces import delivering

REVISION = 2
"""Of the documents."""
Answer = TypeVar("Answer")
Wanted = Mapping[Origin, Sequence[FirstPage]]
"""The pages that are to be cleaned again, by their messages."""
Send = Callable[[Sequence[Record]], Awaitable[list[bool]]]
"""Publishes documents: whether the brokers took each or refused it for its size."""


class Raw(Protocol):
    """Where messages are read from once more."""

    async def read(self, origin: Origin) -> Message | None:
        """The message at a place; None where it is no more.

        Raises one of UNAVAILABLE while that cannot be said.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Revisiting:
    """Cleans the pages of sites again, one batch at a time, beside the flow.

    A document is published only if nothing was missing when it was made: else it could be worse than the
    first one, and the page is tried again. What gives no document this time keeps its first.
    """

    _first_pages: FirstPages
    _raw: Raw
    _cleaner: Cleaner
    _send: Send
    _dependencies: Dependencies
    _limits: FlowLimits
    _metrics: Metrics
    _topics: Dependency = field(
        default_factory=partial(Dependency, "an input topic", "its pages wait to be cleaned again")
    )

    async def revisit(self, sites: Sequence[str]) -> None:
        """Return once no page of the sites is left to be cleaned again, however long that takes."""
        trial = 0
        while sites and (pages := await self._of_redis(partial(self._first_pages.take, sites))):
            is_settled = not self._is_hindered and await self._clean_all(pages)
            trial = 0 if is_settled else trial + 1
            if not is_settled:
                await back_off(trial)

    @property
    def _is_hindered(self) -> bool:
        """Whether documents could not be made without missing something."""
        return self._dependencies.redis.unavailable or self._dependencies.labeler.unavailable

    async def _clean_all(self, pages: Sequence[FirstPage]) -> bool:
        """Whether any of the pages is dealt with."""
        wanted: defaultdict[Origin, list[FirstPage]] = defaultdict(list)
        for page in pages:
            wanted[page.origin].append(page)
        settled, batch = 0, []
        for origin in wanted:
            message = await _answer(self._topics, partial(self._raw.read, origin))
            if message is None:
                settled += await self._settle("expired", wanted[origin])
            else:
                batch.append(message)
            if self._is_full(batch):
                settled += await self._clean(batch, wanted)
                batch = []
        return settled + await self._clean(batch, wanted) > 0

    def _is_full(self, batch: Sequence[Message]) -> bool:
        size = sum(len(message.value or b"") for message in batch)
        return len(batch) >= self._limits.batch_pages or size >= self._limits.batch_bytes

    async def _clean(self, messages: Sequence[Message], wanted: Wanted) -> int:
        """How many pages of the messages are dealt with."""
        settled = 0
        while messages:
            results = await self._cleaner.clean(messages)
            if isinstance(results[0], Oversized):
                results = [await self._cleaner.clean_alone(messages[0])]
            settled += await self._publish(results, wanted)
            end_traces(results)
            messages = messages[len(results) :]
        return settled

    async def _publish(self, results: Sequence[Result], wanted: Wanted) -> int:
        """How many pages of the results are dealt with."""
        done = [each for each in results if isinstance(each, CleanedMessage) and not each.degraded]
        pages = {(page.origin, page.key): page for each in done for page in wanted[origin_of(each.message)]}
        found = [
            (record, key)
            for each in done
            for record in each.records
            if (key := (origin_of(each.message), url_key((record.key or b"").decode(errors="replace"))))
            in pages
        ]
        with delivering(done):
            taken = await self._send([record for record, _ in found])
        published = {key for (_, key), is_taken in zip(found, taken, strict=True) if is_taken}
        await self._settle("published", [page for key, page in pages.items() if key in published])
        await self._settle("failed", [page for key, page in pages.items() if key not in published])
        return len(pages)

    async def _settle(self, outcome: str, pages: Sequence[FirstPage]) -> int:
        """How many pages there are; they are forgotten, and counted."""
        if pages:
            await self._of_redis(partial(self._first_pages.settle, pages))
            self._metrics.revisits.labels(outcome).inc(len(pages))
        return len(pages)

    async def _of_redis(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        return await _answer(self._dependencies.redis, ask)


async def _answer(dependency: Dependency, ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """What a dependency answers, however long it is unavailable."""
    trial = 0
    while True:
        try:
            answer = await ask()
        except UNAVAILABLE as error:
            dependency.missed(error)
            await back_off(trial)
            trial += 1
        else:
            dependency.answered()
            return answer
