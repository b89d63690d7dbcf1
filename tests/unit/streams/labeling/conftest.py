"""Sessions of labeling, in a real process."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from dehusk.inference.rules import RulesLabeler
from dehusk.streams.inspection.inspection import open_inspector_pool
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.streams.labeling.session import Session
from dehusk.streams.labeling.shelf import Outcome, open_shelf
from dehusk.streams.labeling.suggestions import Suggester
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.registry import SourceSettings

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


@pytest.fixture
def labeling(labels_path: Path) -> Label:
    """Opens a session of pages whose labels the rules suggest."""

    @asynccontextmanager
    async def opened(pages: Sequence[Outcome]) -> AsyncIterator[Session]:
        async with open_inspector_pool("auto", SourceSettings(), PageLimits(max_blocks=100)) as pool:
            with open_shelf(pages) as shelf, open_labels_file(labels_path) as file:
                yield Session(shelf, file, pool, Suggester(RulesLabeler()))

    return opened
