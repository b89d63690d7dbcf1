"""What the tests of real crawlers share: a site, a topic for its pages, and README's recipes."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from dehusk.streams.demo.server import serve
from dehusk.streams.demo.sites import SHIPPED
from dehusk.streams.kafka import Topic, create_topics
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import KafkaSettings, TopicSettings
from tests.crawlers.attached import Attached
from tests.crawlers.programs import ROOT


@dataclass(frozen=True)
class Site:
    """A documentation site on loopback."""

    start: str
    pages: Mapping[str, int]
    """The URL of every page, and the bytes of its HTML."""


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Kafka and Redis; the worker has the model inside."""
    with LocalStack(tmp_path_factory.mktemp("stack"), parts=["kafka", "redis"]) as running:
        yield running


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """The handbook that dehusk ships, served on loopback."""
    with serve(SHIPPED.directory) as url:
        files = SHIPPED.directory.rglob("*.html")
        pages = {url + str(file.relative_to(SHIPPED.directory)): file.stat().st_size for file in files}
        yield Site(url + SHIPPED.start, pages)


@pytest.fixture
def attached(stack: LocalStack, tmp_path: Path) -> Attached:
    """A topic for the crawler to fill."""
    name = f"crawl-{uuid4().hex[:12]}"
    topics = TopicSettings(f"{name}-raw", f"{name}-cleaned", f"{name}-dead", name)
    asyncio.run(create_topics(KafkaSettings(stack.addresses.kafka), [Topic(topics.input, 1, 1)]))
    return Attached(stack, topics, tmp_path)


@pytest.fixture
def recipe(attached: Attached) -> Callable[[str], str]:
    """The code of README's recipe for a crawler, with this test's brokers and topic in it."""

    def code(crawler: str) -> str:
        readme = (ROOT / "README.md").read_text()
        found = re.search(rf"^\*\*{crawler}\*\*.*?^```\w*\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
        assert found, f"README has no recipe for {crawler}"
        return found[1].replace("kafka:9092", attached.brokers).replace("raw-pages", attached.topic)

    return code
