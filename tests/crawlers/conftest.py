"""Fixtures of the tests of real crawlers: a site, a topic for its pages, and the recipes of the docs."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from dehusk.streams.demo.sites import SHIPPED, serve
from dehusk.streams.local.stack import LocalStack
from dehusk.streams.settings import TopicSettings
from tests.crawlers.attached import Attached
from tests.crawlers.programs import ROOT

OLD_PAGE = '<meta charset="windows-1252"><p>Schöne Grüße aus Köln, wo die Straße heißt wie früher.'
LINKS = '<a href="old.html">an old page</a> <a href="gone.html">a page that is gone</a>'


@dataclass(frozen=True)
class Site:
    """A documentation site on loopback, with a link to nowhere."""

    start: str
    pages: Mapping[str, int]
    """The URL of every page, and the bytes of its HTML in UTF-8."""


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    """Kafka and Redis; the worker has the model inside."""
    with LocalStack(tmp_path_factory.mktemp("stack"), services=("kafka", "redis")) as running:
        yield running


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The handbook that dehusk ships, and a page whose markup alone declares its encoding, on loopback."""
    folder = tmp_path_factory.mktemp("site")
    start = SHIPPED.root(folder) / SHIPPED.start
    start.write_text(start.read_text().replace("</body>", f"{LINKS}</body>"))
    files = {file.relative_to(folder): file.stat().st_size for file in folder.rglob("*.html")}
    (folder / "old.html").write_text(OLD_PAGE, "windows-1252")
    with serve(folder) as url:
        pages = {url + str(file): size for file, size in files.items()}
        yield Site(url + SHIPPED.start, {**pages, f"{url}old.html": len(OLD_PAGE.encode())})


@pytest.fixture
def attached(stack: LocalStack, tmp_path: Path) -> Attached:
    """A topic for the crawler to fill."""
    name = f"crawl-{uuid4().hex[:12]}"
    topics = TopicSettings(f"{name}-raw", f"{name}-cleaned", f"{name}-dead", name)
    attached = Attached(stack, topics, tmp_path)
    attached.probe("--create", "--partitions", "1")
    return attached


@pytest.fixture
def recipe(attached: Attached) -> Callable[[str], str]:
    """The code of the docs' recipe for a crawler, with this test's brokers and topic in it."""

    def code(crawler: str) -> str:
        recipes = (ROOT / "docs/how-to/crawlers.md").read_text()
        found = re.search(rf"^## {crawler}\n.*?^```\w*\n(.*?)^```", recipes, re.MULTILINE | re.DOTALL)
        assert found, f"the docs have no recipe for {crawler}"
        return found[1].replace("kafka:9092", attached.brokers).replace("raw-pages", attached.topic)

    return code
