"""The pages that say whether a labeler still labels."""

from collections.abc import Sequence

import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.labeler import LOCAL_LABELERS, open_local_labeler
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction
from dehusk.streams.labelers import PROBE
from dehusk.streams.worker.steps.labeling import ProbedLabeler


class Recording(RulesLabeler):
    """A labeler that notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[EncodedPage] = []

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        self.asked = list(pages)
        return await super().label(pages)


def page(blocks: int, words: int = 1) -> EncodedPage:
    return encode(segment(b"<p>%s</p>" % (b"text " * words) * blocks))


def test_the_probe_is_a_page_of_one_block() -> None:
    assert len(PROBE) == 1


async def test_pages_of_a_size_are_asked_for_that_were_labeled_before() -> None:
    labeler = Recording()
    probed = ProbedLabeler(labeler)
    small, large, long = [page(5) for _ in range(9)], page(100), page(5, words=200)
    await probed.label([*small, large, long])
    await probed.check(page(7))
    assert [id(each) for each in labeler.asked] == [id(each) for each in (PROBE, *small[-4:])]
    await probed.check(page(65))
    assert [id(each) for each in labeler.asked] == [id(each) for each in (PROBE, large)]
    await probed.check(page(6, words=250))
    assert [id(each) for each in labeler.asked] == [id(each) for each in (PROBE, long)]


class Reading(Recording):
    """A labeler that another model has taken over, which reads an encoding."""

    reads = False

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        if self.reads and any(each.web2text is None for each in pages):
            raise NotEncodedError(Encoding.WEB2TEXT)
        return await super().label(pages)


async def test_pages_that_lack_what_the_model_reads_by_now_are_not_asked_for() -> None:
    labeler = Reading()
    probed = ProbedLabeler(labeler)
    await probed.label([page(5)])
    labeler.reads = True
    await probed.check(page(5))
    assert [each.web2text is None for each in labeler.asked] == [False, False]


@pytest.mark.parametrize("name", LOCAL_LABELERS)
async def test_every_labeler_answers_the_probe_and_the_stand_ins(name: str) -> None:
    probed = ProbedLabeler(open_local_labeler(name))
    await probed.check()
    await probed.check(page(5))


@pytest.mark.parametrize("html", [b"<p>text text" * 20_000, b"<p>*" * 20_000])
async def test_huge_pages_are_not_kept(html: bytes) -> None:
    labeler = Recording()
    probed, huge = ProbedLabeler(labeler), encode(segment(html))
    await probed.label([huge])
    await probed.check(huge)
    assert huge not in labeler.asked
    assert len(labeler.asked) == 2


async def test_a_stand_in_for_a_page_without_words_has_blocks() -> None:
    labeler = Recording()
    await ProbedLabeler(labeler).check(encode(segment(b"<p>*" * 5)))
    assert [len(each) for each in labeler.asked] == [1, 4]


async def test_a_stand_in_of_the_size_is_asked_for_where_none_was_labeled_before() -> None:
    labeler = Recording()
    for blocks, words in ((1, 1), (100, 7), (2, 3000), (3 * WINDOW_BLOCKS, 2)):
        await ProbedLabeler(labeler).check(page(blocks, words))
        stand_in = labeler.asked[-1]
        assert len(stand_in).bit_length() == min(blocks, WINDOW_BLOCKS).bit_length()
        assert words / 2 <= stand_in.words.mean() <= words
