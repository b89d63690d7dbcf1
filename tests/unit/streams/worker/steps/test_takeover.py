"""Log lines about a model that is swapped."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction
from dehusk.streams.worker.steps.labeling import TakeoverLog

PAGE = encode(segment(b"<p>text</p>"))
EMPTY = encode(segment(b""))
REJECTED = encode(segment(b"<p>other text</p>"))


class SwappedLabeler:
    """A labeler whose pages are answered by versions as they were when each batch began."""

    def __init__(self, version: str) -> None:
        self.versions = [version]
        self.closed = False
        self.free = asyncio.Event()
        self.free.set()

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        versions = self.versions
        await self.free.wait()
        if not versions:
            raise UnavailableError("unavailable")
        return [self._answer(page, versions[at % len(versions)]) for at, page in enumerate(pages)]

    def _answer(self, page: EncodedPage, version: str) -> Prediction | Broken:
        if page is REJECTED:
            return Broken(BrokenReason.REJECTED_BY_MODEL, "")
        # nobody is asked about a page without blocks: its version may be an old one
        named = version if len(page) else "1"
        return Prediction(np.ones(len(page), np.float32), ModelVersion("m", named), "triton")

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO", "dehusk")
    return caplog


def started(version: str | None = "1") -> tuple[SwappedLabeler, TakeoverLog]:
    labeler = SwappedLabeler("1")
    return labeler, TakeoverLog(labeler, version and ModelVersion("m", version))


async def test_each_takeover_is_told_once(said: pytest.LogCaptureFixture) -> None:
    labeler, log = started()
    for versions in (["1"], ["2"], ["1"]):
        labeler.versions = versions
        for _ in range(3):
            assert len(await log.label([PAGE, EMPTY, REJECTED])) == 3
            await log.label([EMPTY])
    assert [(record.levelname, record.getMessage()) for record in said.records] == [
        ("INFO", "model m: version 2 takes over from 1"),
        ("INFO", "model m: version 1 takes over from 2"),
    ]


async def test_batches_under_way_do_not_tell_of_it_again(said: pytest.LogCaptureFixture) -> None:
    labeler, log = started()
    labeler.free.clear()
    batches = []
    for versions in (["1"], ["1", "2"], ["2"], ["1"], ["2"]):
        labeler.versions = versions
        batches.append(asyncio.create_task(log.label([PAGE, PAGE])))
        await asyncio.sleep(0)
    labeler.free.set()
    await asyncio.gather(*batches)
    assert said.messages == ["model m: version 2 takes over from 1"]


async def test_a_model_that_was_away_at_the_start_is_told_once_it_answers(
    said: pytest.LogCaptureFixture,
) -> None:
    labeler, log = started(None)
    labeler.versions = []
    with pytest.raises(UnavailableError):
        await log.label([PAGE])
    labeler.versions = ["3"]
    await log.label([PAGE])
    await log.label([PAGE])
    assert said.messages == ["model m: version 3 answers"]


async def test_closing_it_closes_the_labeler() -> None:
    labeler, log = started()
    await log.close()
    assert labeler.closed
