"""A plain Scrapy spider: `python -m dehusk.streams.demo.spider URL --brokers … --topic … --pages …`.

Its item pipeline is all that a Scrapy project needs to be attached to dehusk.
"""

import re
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self
from urllib.parse import urldefrag, urljoin

import click
from aiokafka import AIOKafkaProducer
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

from dehusk.streams.settings import MIB

_LARGEST_PAGE = 16 * MIB
_SETTINGS = {
    "BOT_NAME": "dehusk-demo",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_MAXSIZE": _LARGEST_PAGE,
    "ITEM_PIPELINES": {"dehusk.streams.demo.spider.KafkaPipeline": 100},
    "LOG_LEVEL": "INFO",
    "REMOTE_CONTROL_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
}


@dataclass(frozen=True, slots=True)
class CrawledPage:
    """A page as it was crawled."""

    url: str
    body: bytes
    status: int
    content_type: bytes


class KafkaPipeline:
    """A sink that puts each page on a Kafka topic: the URL is the key, the untouched body the value."""

    def __init__(self, brokers: str, topic: str) -> None:
        self._producer = AIOKafkaProducer(bootstrap_servers=brokers, max_request_size=2 * _LARGEST_PAGE)
        self._topic = topic

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return a pipeline for the brokers and the topic in the crawler's settings."""
        return cls(crawler.settings["KAFKA_BROKERS"], crawler.settings["KAFKA_TOPIC"])

    async def open_spider(self) -> None:
        """Connect before the first page."""
        await self._producer.start()

    async def process_item(self, page: CrawledPage) -> CrawledPage:
        """Wait until the broker has the page."""
        headers = [
            ("content-type", page.content_type),
            ("status", str(page.status).encode()),
            ("fetched-at", datetime.now(UTC).isoformat().encode()),
        ]
        await self._producer.send_and_wait(self._topic, page.body, key=page.url.encode(), headers=headers)
        return page

    async def close_spider(self) -> None:
        """Disconnect after the last page."""
        await self._producer.stop()


class SiteSpider(Spider):
    """A spider that follows the links of one site, up to a number of pages."""

    name = "site"

    def __init__(self, start: str, pages: int) -> None:
        super().__init__()
        self._start = start
        self._pages = pages
        self._asked = {start}
        self._links = LinkExtractor(allow=re.escape(urljoin(start, "/")))

    async def start(self) -> AsyncIterator[Request]:
        """Request the first page like any other, so that links back to it are known."""
        yield Request(self._start)

    def parse(self, response: Response) -> Iterator[CrawledPage | Request]:
        """Yield the page, and a request for each new link."""
        content_type = response.headers.get("Content-Type") or b""
        yield CrawledPage(response.url, response.body, response.status, content_type)
        if isinstance(response, TextResponse):
            yield from map(Request, self._new_links(response))

    def _new_links(self, response: TextResponse) -> Iterator[str]:
        for link in self._links.extract_links(response):
            url = urldefrag(link.url).url
            if len(self._asked) < self._pages and url not in self._asked:
                self._asked.add(url)
                yield url


@click.command()
@click.argument("url")
@click.option("--brokers", required=True)
@click.option("--topic", required=True)
@click.option("--pages", type=int, required=True)
def main(url: str, brokers: str, topic: str, pages: int) -> None:
    """Crawl from URL and put at most so many pages on the topic; status 1 if one did not get there."""
    process = AsyncCrawlerProcess({**_SETTINGS, "KAFKA_BROKERS": brokers, "KAFKA_TOPIC": topic})
    crawler = process.create_crawler(SiteSpider)
    process.crawl(crawler, start=url, pages=pages)
    process.start()
    stats = crawler.stats
    finished = stats is not None and stats.get_value("finish_reason") == "finished"
    sys.exit(not finished or bool(stats and stats.get_value("log_count/ERROR")))


if __name__ == "__main__":
    main()
