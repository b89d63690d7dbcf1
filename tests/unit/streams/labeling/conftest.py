"""Sessions of labeling, in a real process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.streams.inspection.inspection import open_inspector_pool
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.streams.labeling.session import Session
from dehusk.streams.labeling.store import Outcome, open_store
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.settings import PageLimits
from dehusk.streams.worker_settings import WorkerSettings

Label = Callable[[Sequence[Outcome]], AbstractAsyncContextManager[Session]]


@pytest.fixture
def labels_path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


@pytest.fixture
def torn(labels_path: Path) -> Path:
    """A file of labels whose last line is torn."""
    labels_path.write_bytes(b'{"id":')
    return labels_path


@pytest.fixture
def lose_labels(labels_path: Path) -> Callable[[], None]:
    """Removes the file of labels."""
    return labels_path.unlink


@pytest.fixture(scope="module")
def pool() -> Iterator[PreparationPool]:
    """A process that works on the pages of all tests of a module."""
    opening = open_inspector_pool(WorkerSettings(page=PageLimits(max_blocks=100)))
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        yield runner.run(opening.__aenter__())
        runner.run(opening.__aexit__(None, None, None))


@pytest.fixture
def labeling(labels_path: Path, pool: PreparationPool) -> Label:
    """Opens a session of pages whose labels the rules suggest."""

    @asynccontextmanager
    async def opened(pages: Sequence[Outcome]) -> AsyncIterator[Session]:
        with open_store(pages) as store, open_labels_file(labels_path) as file:
            yield Session(store, file, pool, RulesLabeler())

    return opened
