from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.selection.site_signal import INPUTS, WEIGHTS, SignalNetwork, correct, inputs
from dehusk.schemas.pages import ModelVersion, Prediction
from dehusk.schemas.sites import SiteStatistics

EVEN = np.full(7, 1 / 7, np.float32)


@dataclass(frozen=True)
class Block:
    """Return the statistics of a block's site, by default without the block."""

    probability: float
    texts: int = 0
    in_structure: int = 0
    likely: float = 0.0


def statistics(pages: int, *blocks: Block) -> SiteStatistics:
    counts = np.array([(block.texts, block.in_structure) for block in blocks], np.uint32).reshape(-1, 2)
    return SiteStatistics(
        pages=pages,
        texts=counts[:, 0],
        structure_pages=counts[:, 1],
        structure_blocks=3 * counts[:, 1],
        structure_likely=np.array([block.likely for block in blocks], np.float32),
    )


def prediction(*blocks: Block) -> Prediction:
    probabilities = np.array([block.probability for block in blocks], np.float32)
    return Prediction(probabilities, ModelVersion("dehusk", "1"), "onnx", probabilities / 2, EVEN)


def after(pages: int, *blocks: Block) -> list[float]:
    """The corrected probabilities of blocks."""
    answer = correct(prediction(*blocks), statistics(pages, *blocks))
    assert answer.probabilities.dtype == np.float32
    return answer.probabilities.tolist()


def test_the_first_page_of_a_site_is_answered_as_it_would_be_alone() -> None:
    blocks = [Block(probability) for probability in (0.0, 0.3, 0.9, 1.0)]
    alone = prediction(*blocks)
    assert correct(alone, statistics(0, *blocks)) is alone


def test_only_the_probabilities_of_content_change() -> None:
    menu = Block(0.6, 8, 8, 0.6)
    alone = prediction(menu)
    answer = correct(alone, statistics(8, menu))
    assert answer.probabilities[0] != alone.probabilities[0]
    assert (answer.model, answer.labeler) == (alone.model, alone.labeler)
    assert answer.comments is alone.comments
    assert answer.page_kinds is EVEN
    assert (answer.uncorrected is alone.probabilities, alone.uncorrected) == (True, None)


def test_a_page_without_blocks_stays_without() -> None:
    assert after(3) == []


@pytest.mark.parametrize("pages", [3, 10, 1000])
def test_a_menu_that_seemed_content_is_dropped_once_it_was_seen_on_other_pages(pages: int) -> None:
    assert after(pages, Block(0.6, texts=pages, in_structure=pages, likely=0.6))[0] < 0.35


@pytest.mark.parametrize("pages", [3, 10, 1000])
def test_a_paragraph_that_a_page_is_sure_of_survives_its_repetition(pages: int) -> None:
    licence = Block(0.98, texts=pages, in_structure=pages, likely=0.95)
    assert after(pages, licence)[0] > 0.5


@pytest.mark.parametrize("pages", [3, 10, 1000])
def test_new_text_where_the_site_has_its_content_becomes_likely(pages: int) -> None:
    assert after(pages, Block(0.3, in_structure=pages, likely=0.95))[0] > 0.5


@pytest.mark.parametrize("pages", [3, 10, 1000])
def test_text_that_is_new_on_every_page_becomes_unlikely_where_such_text_was(pages: int) -> None:
    assert after(pages, Block(0.5, in_structure=pages, likely=0.1))[0] < 0.35


@pytest.mark.parametrize("pages", [1, 10, 1000])
def test_content_in_a_structure_of_content_stays_as_sure(pages: int) -> None:
    assert after(pages, Block(0.95, in_structure=pages, likely=0.95))[0] > 0.9


def test_what_was_never_likely_stays_unlikely() -> None:
    assert max(after(10, Block(0.001, in_structure=10, likely=0.001), Block(0.001))) < 0.05


SHARES = st.floats(0, 1, width=32)
BLOCKS = st.builds(Block, SHARES, st.integers(0, 20), st.integers(0, 20), SHARES)


@given(BLOCKS, st.integers(20, 2000))
def test_probabilities_stay_probabilities(block: Block, pages: int) -> None:
    assert 0 <= after(pages, block)[0] <= 1


@given(BLOCKS, st.integers(1, 20), st.integers(40, 2000))
def test_repetition_never_makes_a_block_likelier(block: Block, more: int, pages: int) -> None:
    seldom, often = after(pages, block, replace(block, texts=block.texts + more))
    assert often <= seldom + 1e-6


@given(BLOCKS, SHARES, st.integers(20, 2000))
def test_a_structure_of_likelier_blocks_never_makes_one_less_likely(
    block: Block, likely: float, pages: int
) -> None:
    low, high = sorted((block.likely, likely))
    below, above = after(pages, replace(block, likely=low), replace(block, likely=high))
    assert below <= above + 1e-6


def test_the_network_reads_logits_and_shares() -> None:
    block = Block(0.5, texts=1, in_structure=3, likely=0.5)
    columns = inputs(np.array([0.5], np.float32), statistics(3, block))
    assert dict(zip(INPUTS, columns[0].tolist(), strict=True)) == pytest.approx(
        {
            "logit": 0,
            "log_pages": np.log(4),
            "text_share": 1 / 4,
            "structure_share": 3 / 4,
            "structure_logit": 0,
        },
        abs=1e-6,
    )


def test_the_weights_are_written_as_they_are_read() -> None:
    network = SignalNetwork.read(WEIGHTS)
    assert network.weights.shape == (len(INPUTS), len(network.biases))
    assert (network.outputs >= 0).all()
    assert network.written() == WEIGHTS.read_bytes()
