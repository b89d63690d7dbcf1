"""The demo from start to end: a site is crawled into Kafka, cleaned meanwhile, and every page is counted."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.counted import counted
from dehusk.streams.demo.crawler import Crawler
from dehusk.streams.demo.display import Display
from dehusk.streams.demo.outcome import Crawled, read_cleaned, read_crawled, read_dead
from dehusk.streams.demo.server import serve
from dehusk.streams.demo.sites import Site
from dehusk.streams.demo.summary import Summary
from dehusk.streams.kafka import Topic, create_topics, ensure_topics
from dehusk.streams.local.addresses import free_ports
from dehusk.streams.local.folder import temporary_folder, writing
from dehusk.streams.local.monitoring import Monitoring
from dehusk.streams.local.process import Program, Service
from dehusk.streams.local.restarts import Restarts
from dehusk.streams.local.stack import SERVICES, LocalStack
from dehusk.streams.local.worker import Worker
from dehusk.streams.settings import KafkaSettings, TopicSettings

_TOPICS = TopicSettings()
_PARTITIONS = 4
_SECONDS_BETWEEN_LOOKS = 0.25
_STALL_SECONDS = 60.0
"""How long the worker may finish no page, once the crawl is over, before the rest counts as lost."""


@dataclass(frozen=True, slots=True)
class DemoSettings:
    """What the demo is told."""

    site: Site
    pages: int
    """How many pages are crawled at most."""
    labeler: str
    directory: Path
    """Where the documents, dead letters, summary and logs are written; it exists."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What was counted while the worker ran."""

    crawled: Crawled
    skipped: dict[str, int]
    ended: float
    """When the last page was done with, in seconds since 1970."""


def run_demo(settings: DemoSettings, display: Display) -> Summary:
    """Crawl the site into Kafka, clean it while it is crawled, and count what became of every page.

    Raises:
        ConfigurationError: a service cannot run on this machine, or the results cannot be written.
        UnavailableError: a service did not start, or ended before its work was done.
    """
    services = [service for service in SERVICES if service != "triton" or settings.labeler == "triton"]
    with (
        temporary_folder() as folder,
        serve(settings.site.directory) as url,
        LocalStack(folder, services=services, report=display.service) as stack,
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
                watch.look()
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
    """Looks after the worker and the services that it needs."""

    monitoring: Monitoring
    worker: Service
    restarts: Restarts
    display: Display

    def wait_until_done(self, messages: int) -> None:
        """Wait until the worker is done with so many messages, or with no more of them."""
        done, since = 0, time.monotonic()
        while done < messages and time.monotonic() - since < _STALL_SECONDS:
            before, done = done, self.look()
            if done > before:
                since = time.monotonic()

    def look(self) -> int:
        """Shows how far the worker is, and answers how many messages it is done with."""
        self.restarts.look()
        if not self.worker.running:
            raise UnavailableError(f"the worker ended; {self.worker.last_words()}")
        report = self.monitoring.report()
        totals, waiting = report.totals, report.in_flight + (report.lag or 0)
        self.display.progress(
            f"{counted(totals.messages + waiting, 'page')} crawled; {counted(totals.documents, 'document')}, "
            f"{totals.skipped:,} skipped, {counted(totals.dead_letters, 'dead letter')}, {waiting:,} to come"
        )
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        return totals.messages


async def _summarise(settings: DemoSettings, kafka: KafkaSettings, run: _Run) -> Summary:
    cleaned = await read_cleaned(kafka, _TOPICS.output, settings.directory / "documents.jsonl")
    dead = await read_dead(kafka, _TOPICS.dead_letters, settings.directory / "dead-letters.jsonl")
    summary = Summary(
        site=settings.site.name,
        labeler=settings.labeler,
        pages=len(run.crawled.urls),
        documents=len(cleaned.urls & run.crawled.urls),
        empty_documents=cleaned.empty,
        skipped=run.skipped,
        dead_letters=dict(dead.reasons),
        seconds=run.ended - run.crawled.first,
        megabytes=run.crawled.bytes / 1e6,
        visible_characters=cleaned.visible,
        kept_characters=cleaned.kept,
        example_url=cleaned.example_url,
        example=cleaned.example,
        directory=settings.directory,
    )
    (settings.directory / "summary.json").write_bytes(summary.to_json() + b"\n")
    return summary
