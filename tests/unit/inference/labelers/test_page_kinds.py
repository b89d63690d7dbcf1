"""Kinds of pages, told by a small model that tells them by the number of blocks."""

import numpy as np
import pytest

from dehusk.inference.labelers.batching import WINDOW_BLOCKS, join
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.signature import (
    PAGE_KIND,
    SIGNATURES,
    STRUCTURE_WITH_LINKS,
    STRUCTURE_WITH_PAGE_KIND,
)
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import PAGE_KINDS, ModelVersion, Prediction
from tests.encoded import whole_page
from tests.unit.streams.models import graphs

MODEL = ModelVersion("m", "1")
HALF = np.full(2, 0.5, np.float32)
EVEN = np.full(len(PAGE_KINDS), 1 / len(PAGE_KINDS), np.float32)


@pytest.fixture(scope="module")
def labeler(tmp_path_factory: pytest.TempPathFactory) -> OnnxLabeler:
    repository = tmp_path_factory.mktemp("repository")
    graphs.write_version(repository / "m" / "1", graphs.with_kinds())
    return OnnxLabeler("m", repository=repository)


def joined(*kinds: np.ndarray) -> Prediction | Broken:
    """The answer of two blocks in each of some windows, with these kinds."""
    return join(whole_page(2 * len(kinds)), [[HALF, HALF, each] for each in kinds], MODEL, "triton")


def test_the_signature_names_the_kinds_in_their_order() -> None:
    with_kinds = [each for each in SIGNATURES if PAGE_KIND in each.answer]
    assert with_kinds == [STRUCTURE_WITH_PAGE_KIND, STRUCTURE_WITH_LINKS]
    for each in with_kinds:
        assert each.declared.endswith(f"; comment FP32; page_kind FP32 {' '.join(PAGE_KINDS)}")


async def test_each_page_of_a_batch_gets_its_own_kinds(labeler: OnnxLabeler) -> None:
    blocks = (3, 4, 5, 6, 3, 30, 1, 2)
    for count, labels in zip(blocks, await labeler.label([whole_page(each) for each in blocks]), strict=True):
        assert isinstance(labels, Prediction)
        assert labels.page_kinds is not None
        assert labels.page_kinds.tolist() == pytest.approx(graphs.kinds_of(count))
        assert labels.probabilities.tolist() == [0.5] * count
        assert labels.comments is not None
        assert labels.comments.tolist() == pytest.approx([0.1] * count)


async def test_a_page_without_blocks_has_no_kind(labeler: OnnxLabeler) -> None:
    (labels,) = await labeler.label([whole_page(0)])
    assert isinstance(labels, Prediction)
    assert labels.page_kinds is None


async def test_the_kinds_of_a_page_in_windows_are_their_mean_by_blocks(labeler: OnnxLabeler) -> None:
    rest = 512
    (labels,) = await labeler.label([whole_page(WINDOW_BLOCKS + rest)])
    assert isinstance(labels, Prediction)
    assert labels.page_kinds is not None
    columns = zip(graphs.kinds_of(WINDOW_BLOCKS), graphs.kinds_of(rest), strict=True)
    expected = [0.8 * first + 0.2 * second for first, second in columns]
    assert labels.page_kinds.tolist() == pytest.approx(expected, abs=1e-6)
    assert labels.page_kinds.dtype == np.float32


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        (EVEN[1:], "6 probabilities for 7 kinds of page"),
        (np.empty(0, np.float32), "0 probabilities for 7 kinds of page"),
        (np.concatenate([EVEN, EVEN]), "14 probabilities for 7 kinds of page"),
        (EVEN * np.float32(np.nan), "no probability"),
        (np.array([2, -1, 0, 0, 0, 0, 0], np.float32), "no probability"),
        (EVEN * np.float32(0.9), "whose sum is not 1"),
        (np.zeros_like(EVEN), "whose sum is not 1"),
    ],
)
def test_kinds_that_are_no_probabilities_are_rejected_in_any_window(kinds: np.ndarray, says: str) -> None:
    for windows in ((kinds,), (EVEN, kinds), (kinds, EVEN)):
        broken = joined(*windows)
        assert isinstance(broken, Broken)
        assert broken.reason is BrokenReason.REJECTED_BY_MODEL
        assert says in broken.detail
    assert isinstance(joined(EVEN, EVEN), Prediction)


def test_half_precision_is_precise_enough() -> None:
    assert isinstance(joined(EVEN.astype(np.float16).astype(np.float32)), Prediction)
