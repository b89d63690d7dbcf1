"""The demo from start to end: a site is crawled into Kafka, cleaned meanwhile, and every page is counted."""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.demo.sites import Site, serve
from dehusk.streams.demo.summary import Crawled, Display, Summary, read_cleaned, read_crawled, read_dead
from dehusk.streams.folders import writing
from dehusk.streams.kafka.client import Topic, create_topics, ensure_topics
from dehusk.streams.local.folder import free_ports, temporary_folder
from dehusk.streams.local.process import Program, Service
from dehusk.streams.local.stack import SERVICES, LocalStack, Restarts
from dehusk.streams.local.worker import Monitoring, Worker
from dehusk.streams.settings import KafkaSettings, TopicSettings
from dehusk.streams.wording import pluralize


@dataclass(frozen=True, slots=True)
class Crawler(Program):
    """A Scrapy spider that follows the links of one site."""

    start: str
    brokers: str
    topic: str
    pages: int
    name: str = "crawler"

    def command(self) -> Sequence[str]:
        """Return the command line of a crawl that ends when no new link is left."""
        options = ["--brokers", self.brokers, "--topic", self.topic, "--pages", str(self.pages)]
        return [sys.executable, "-m", "dehusk.streams.demo.spider", self.start, *options]


_TOPICS = TopicSettings()
_PARTITIONS = 4
_POLL_SECONDS = 0.25
_STALL_SECONDS = 60.0
"""Time without a finished page, once the crawl is over, after which the rest counts as lost."""


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """Settings of the demo."""

    site: Site
    pages: int
    """Limit of the crawled pages."""
    labeler: str
    directory: Path
    """Existing folder for the documents, dead letters, summary and logs."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Counts of one run of the worker."""

    crawled: Crawled
    skipped: dict[str, int]
    ended: float
    """Time of the last page, in seconds since 1970."""


def run_demo(settings: DemoSettings, display: Display) -> Summary:
    """Crawl the site into Kafka, clean it while it is crawled, and count what became of every page.

    Raises:
        ConfigurationError: a service cannot run on this machine, or the results cannot be written.
        UnavailableError: a service did not start, or ended before its work was done.
    """
    services = [service for service in SERVICES if service != "triton" or settings.labeler == "triton"]
    with (
        temporary_folder() as folder,
        serve(settings.site.root(folder / "site")) as url,
        LocalStack(folder, services=services, on_progress=display.service) as stack,
    ):
        kafka = KafkaSettings(stack.addresses.kafka)
        asyncio.run(_create_topics(kafka))
        run = _run(settings, stack, url + settings.site.start, display)
        with writing(settings.directory):
            return asyncio.run(_summarise(settings, kafka, run))


async def _create_topics(kafka: KafkaSettings) -> None:
    await create_topics(kafka, [Topic(_TOPICS.input, _PARTITIONS, 1)])
    await ensure_topics(kafka, _TOPICS)


def _run(settings: DemoSettings, stack: LocalStack, start: str, display: Display) -> _Run:
    kafka = KafkaSettings(stack.addresses.kafka)
    program = Worker(stack.addresses, _TOPICS, settings.labeler, port=free_ports(1)[0])
    crawler = Crawler(start, kafka.brokers, _TOPICS.input, settings.pages)
    with _running(program, settings.directory, display) as worker:
        watch = _Watch(program.monitoring, worker, Restarts(stack.failures, display.milestone), display)
        with _running(crawler, settings.directory, display) as crawl:
            while crawl.running:
                watch.update()
        if crawl.status:
            raise UnavailableError(f"the crawler failed; {crawl.last_words()}")
        display.milestone("the crawl is over")
        crawled = asyncio.run(read_crawled(kafka, _TOPICS.input))
        watch.wait_until_done(crawled.messages)
        return _Run(crawled, program.monitoring.skipped(), time.time())


@contextmanager
def _running(program: Program, directory: Path, display: Display) -> Iterator[Service]:
    service = Service(program, directory / f"{program.name}.log")
    service.log.unlink(missing_ok=True)
    display.service(program.name, "starting")
    try:
        service.start()
        display.service(program.name, "ready")
        yield service
    finally:
        service.stop()


@dataclass(frozen=True, slots=True)
class _Watch:
    """A watch over the worker and the services that it needs."""

    monitoring: Monitoring
    worker: Service
    restarts: Restarts
    display: Display

    def wait_until_done(self, messages: int) -> None:
        """Wait until the worker is done with so many messages, or finishes no more of them."""
        done, last_progress = 0, time.monotonic()
        while done < messages and time.monotonic() - last_progress < _STALL_SECONDS:
            before, done = done, self.update()
            if done > before:
                last_progress = time.monotonic()

    def update(self) -> int:
        """Show the progress of the worker, and return the number of messages that it is done with."""
        self.restarts.restart_failed()
        if not self.worker.running:
            raise UnavailableError(f"the worker ended; {self.worker.last_words()}")
        report = self.monitoring.report()
        totals = report.totals
        self.display.progress(
            f"{pluralize(totals.documents, 'document')}, {totals.skipped:,} skipped, "
            f"{pluralize(totals.dead_letters, 'dead letter')}, a lag of {report.lag or 0:,}"
        )
        time.sleep(_POLL_SECONDS)
        return totals.messages


async def _summarise(settings: DemoSettings, kafka: KafkaSettings, run: _Run) -> Summary:
    cleaned = await read_cleaned(kafka, _TOPICS.output, settings.directory / "documents.jsonl")
    dead = await read_dead(kafka, _TOPICS.dead_letters, settings.directory / "dead-letters.jsonl")
    site, labeler, directory = settings.site.name, settings.labeler, settings.directory
    summary = Summary(site, labeler, run.crawled, cleaned, dead, run.skipped, run.ended, directory)
    (settings.directory / "summary.json").write_bytes(summary.to_json() + b"\n")
    return summary
