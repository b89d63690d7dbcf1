"""Second cleaning of the first pages of a site, scheduled once enough of its pages are known."""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from dehusk.inference.sites import NameSite
from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.pages import Message
from dehusk.streams.availability import Dependencies, Dependency, ask_if_there, back_off, insist
from dehusk.streams.kafka.raw_messages import RawMessages
from dehusk.streams.preparation.process import Oversized
from dehusk.streams.settings import FlowLimits
from dehusk.streams.sites.revisits import FirstPage, FirstPages, Visit, url_key
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.input.membership import Membership
from dehusk.streams.worker.monitoring.metrics import Metrics, RevisitOutcome
from dehusk.streams.worker.results import CleanedMessage, Result, delivering, end_traces
from dehusk.streams.worker.revisits.requests import Request, write_request
from dehusk.streams.worker.steps.batch import MessageCleaner
from dehusk.streams.worker.steps.flow import DeliveryProtocol

_log = logging.getLogger(__name__)
REVISION = 2
"""Revision of the documents."""
PagesByOrigin = Mapping[Origin, Sequence[FirstPage]]
"""Pages to clean again, by their messages."""
Send = Callable[[str, Sequence[Record]], Awaitable[list[Origin | None]]]
"""Sends records to a topic; returns the position of each, None if it is too large."""
Publish = Callable[[Sequence[Record]], Awaitable[list[Origin | None]]]
"""Tries once to send documents to the output topic; returns the answers before the first failure."""


@dataclass(frozen=True, slots=True, eq=False)
class Revisiting:
    """Second cleanings of the first pages of sites, one batch at a time, in parallel to the flow.

    Only documents that lack no dependency are published, as others could be worse than the first ones; their
    pages are retried. A page without a document this time keeps its first one.
    """

    _first_pages: FirstPages
    _raw: RawMessages
    _cleaner: MessageCleaner
    _publish_documents: Publish
    _dependencies: Dependencies
    _limits: FlowLimits
    _metrics: Metrics
    _topics: Dependency = field(
        default_factory=partial(Dependency, "an input topic", "its pages wait to be cleaned again")
    )

    async def revisit(self, requests: Sequence[Request]) -> None:
        """Clean all first pages that are asked for again, however long that takes."""
        sites = await self._sites(requests)
        attempt = 0
        while sites and (
            pages := await insist(self._dependencies.redis, partial(self._first_pages.take, sites))
        ):
            is_settled = not self._is_degraded and await self._clean_all(pages)
            attempt = 0 if is_settled else attempt + 1
            if not is_settled:
                await back_off(attempt)

    async def _sites(self, requests: Sequence[Request]) -> list[str]:
        """Return the sites whose pages are to be cleaned again; tell Redis of newer messages of pages."""
        sites = [request.site for request in requests if not request.newer]
        if newer := [page for request in requests for page in request.newer]:
            sites += await insist(self._dependencies.redis, partial(self._first_pages.catch_up, newer))
        return list(dict.fromkeys(sites))

    @property
    def _is_degraded(self) -> bool:
        """True if documents would lack a dependency."""
        return self._dependencies.redis.unavailable or self._dependencies.labeler.unavailable

    async def _clean_all(self, pages: Sequence[FirstPage]) -> bool:
        """Clean pages again; return True if any of them is settled."""
        by_origin: defaultdict[Origin, list[FirstPage]] = defaultdict(list)
        for page in pages:
            by_origin[page.origin].append(page)
        settled, batch = 0, []
        for origin in by_origin:
            message = await insist(self._topics, partial(self._raw.read, origin))
            if message is None:
                settled += await self._settle(RevisitOutcome.EXPIRED, by_origin[origin])
            else:
                batch.append(message)
            if self._is_full(batch):
                settled += await self._clean(batch, by_origin)
                batch = []
        return settled + await self._clean(batch, by_origin) > 0

    def _is_full(self, batch: Sequence[Message]) -> bool:
        size = sum(len(message.value or b"") for message in batch)
        return len(batch) >= self._limits.batch_pages or size >= self._limits.batch_bytes

    async def _clean(self, messages: Sequence[Message], by_origin: PagesByOrigin) -> int:
        """Clean messages; return the number of their settled pages."""
        settled = 0
        while messages:
            results = await self._cleaner.clean(messages)
            if isinstance(results[0], Oversized):
                results = [await self._cleaner.clean_alone(messages[0])]
            settled += await self._publish(results, by_origin)
            end_traces(results)
            messages = messages[len(results) :]
        return settled

    async def _publish(self, results: Sequence[Result], by_origin: PagesByOrigin) -> int:
        """Publish results of pages that have no newer message; return the number of settled pages."""
        done = [each for each in results if isinstance(each, CleanedMessage) and not each.degraded]
        taken = {page for each in done for page in by_origin[origin_of(each.message)]}
        pages = {(page.origin, page.key): page for page in taken}
        documents = [
            (page, record)
            for each in done
            for record in each.records
            if (page := pages.get((origin_of(each.message), url_key(record.url))))
        ]
        with delivering(done):
            published, failed, unknown = await self._send(taken, documents)
        await self._settle(RevisitOutcome.PUBLISHED, published)
        await self._settle(RevisitOutcome.FAILED, failed)
        await self._mark_settled(unknown)  # the newer messages are cleaned once more, behind what was sent
        return len(published) + len(failed)

    async def _send(
        self, taken: set[FirstPage], documents: Sequence[tuple[FirstPage, Record]]
    ) -> tuple[set[FirstPage], set[FirstPage], set[FirstPage]]:
        """Send documents of pages; before each attempt, leave out those of which a newer message has come.

        Return the pages of which a document is published, those that have none, and those of which it is
        unknown. Other pages have a newer message.
        """
        sites = {page.site for page in taken}
        published: set[FirstPage] = set()
        refused: set[FirstPage] = set()
        tried: set[FirstPage] = set()
        attempt = 0
        while True:
            kept = taken.intersection(
                await insist(self._dependencies.redis, partial(self._first_pages.take, sites))
            )
            documents = [(page, record) for page, record in documents if page in kept]
            if not documents:
                failed = (refused | kept) - published
                return published, failed, tried - published - failed
            tried.update(page for page, _ in documents)
            positions = await self._publish_documents([record for _, record in documents])
            for (page, _), position in zip(documents, positions, strict=False):
                (refused if position is None else published).add(page)
            documents = documents[len(positions) :]
            if documents:
                await back_off(attempt)
                attempt += 1

    async def _settle(self, outcome: RevisitOutcome, pages: Collection[FirstPage]) -> int:
        """Mark pages in the store, count them by their outcome, and return their number."""
        if pages:
            await self._mark_settled(pages)
            self._metrics.revisits.labels(outcome).inc(len(pages))
        return len(pages)

    async def _mark_settled(self, pages: Collection[FirstPage]) -> None:
        if pages:
            await insist(self._dependencies.redis, partial(self._first_pages.settle, pages))


@dataclass(frozen=True, slots=True, eq=False)
class Scheduling:
    """Delivery that stores first pages, and requests a revisit once enough pages of a site are known.

    It does not wait for Redis: pages that are delivered while it is unavailable are not cleaned again. Redis
    is told nothing while the membership is not confirmed, as others may have passed the messages by then.
    """

    _delivery: DeliveryProtocol
    _membership: Membership
    _send: Send
    _first_pages: FirstPages
    _redis: Dependency
    _name_site: NameSite
    _topic: str
    _group: str

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        """Return once the brokers hold all results, and the revisit requests that follow from them."""
        visits = [visit for cleaned in batch for visit in self._visits(cleaned)]
        await self._membership.wait_until_held()
        if not await ask_if_there(self._redis, partial(self._update, visits)):
            await self._tell_later(visits)
        await self._delivery.deliver(batch)
        await self._membership.wait_until_held()
        if due := await ask_if_there(self._redis, partial(self._first_pages.remember, visits)):
            await self._request(due)

    def give_up(self) -> None:
        """Send nothing more of what is being delivered."""
        self._delivery.give_up()

    async def renew(self) -> None:
        """Wait until nothing is left of what was given up."""
        await self._delivery.renew()

    async def _update(self, visits: Sequence[Visit]) -> bool:
        await self._first_pages.update(visits)
        return True

    async def _tell_later(self, visits: Iterable[Visit]) -> None:
        """Have whoever reads the requests tell Redis of visits, once it is there.

        A second cleaning would else publish the older messages of their pages behind what is delivered now.
        """
        newer: defaultdict[str, list[FirstPage]] = defaultdict(list)
        for visit in visits:
            if visit.may_be_kept:
                newer[visit.site].append(FirstPage(visit.site, url_key(visit.url), visit.origin))
        await self._send_requests([Request(site, tuple(pages)) for site, pages in newer.items()])

    async def _send_requests(self, requests: Iterable[Request]) -> None:
        records = [write_request(request, self._group) for request in requests]
        if None in await self._send(self._topic, records):
            _log.warning("topic %s takes not even a request: raise its max.message.bytes", self._topic)

    async def _request(self, sites: Iterable[str]) -> None:
        """Request revisits; a worker that dies before the note in Redis repeats them, which is harmless."""
        await self._send_requests([Request(site) for site in sites])
        await ask_if_there(self._redis, partial(self._first_pages.schedule, sites))

    def _visits(self, cleaned: CleanedMessage) -> Iterator[Visit]:
        """Yield the visits of a message's pages, and of the pages that its tombstones remove."""
        yield from cleaned.visits
        for record in cleaned.records:
            if record.value is None and record.key is not None:
                url = record.key.decode(errors="replace")
                if site := self._name_site(url):
                    yield Visit(site, url, origin_of(cleaned.message), None, is_counted=False)
