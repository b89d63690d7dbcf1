"""The delivery of batches whose pages may be the first of their sites, which are to be cleaned again."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from dehusk.inference.sites import NameSite
from dehusk.streams.sites.revisits import FirstPages, Visit
from dehusk.streams.worker.assembly import CleanedMessage, origin_of
from dehusk.streams.worker.availability import UNAVAILABLE, Dependency
from dehusk.streams.worker.delivery import Delivery
from dehusk.streams.worker.requests import request

Answer = TypeVar("Answer")
_log = logging.getLogger(__name__)


class Scheduling:
    """Delivers, remembers first pages, and asks for a revisit once enough of their site are known.

    While Redis is unavailable nobody waits for it: pages that are delivered then are not cleaned again.
    """

    def __init__(
        self,
        delivery: Delivery,
        first_pages: FirstPages,
        redis: Dependency,
        name_site: NameSite,
        *,
        topic: str,
        group: str,
    ) -> None:
        self._delivery = delivery
        self._first_pages = first_pages
        self._redis = redis
        self._name_site = name_site
        self._topic = topic
        self._group = group

    async def deliver(self, batch: Sequence[CleanedMessage]) -> None:
        """Return once the brokers hold everything, and the requests that it gives rise to."""
        visits = [visit for cleaned in batch for visit in self._visits(cleaned)]
        await self._ask(partial(self._first_pages.update, visits))
        await self._delivery.deliver(batch)
        if due := await self._ask(partial(self._first_pages.remember, visits)):
            await self._request(due)

    async def _request(self, sites: Iterable[str]) -> None:
        """Ask for revisits; a worker that dies before it has noted so asks again, which does no harm."""
        records = [request(site, self._group) for site in sites]
        if not all(await self._delivery.send(self._topic, records)):
            _log.warning("topic %s takes not even a request: raise its max.message.bytes", self._topic)
        await self._ask(partial(self._first_pages.schedule, sites))

    async def _ask(self, ask: Callable[[], Awaitable[Answer]]) -> Answer | None:
        if self._redis.unavailable:
            return None
        try:
            return await ask()
        except UNAVAILABLE as error:
            self._redis.missed(error)
            return None

    def _visits(self, cleaned: CleanedMessage) -> Iterator[Visit]:
        """The pages of a message, and those that have gone."""
        yield from cleaned.visits
        for record in cleaned.records:
            if record.value is None and record.key is not None:
                url = record.key.decode(errors="replace")
                if site := self._name_site(url):
                    yield Visit(site, url, origin_of(cleaned.message), None, is_counted=False)
