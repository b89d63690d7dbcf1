from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.grf.labeler import UNDECIDED, spread
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage

PARAGRAPH = "<p>The harbour was closed for three days, and no ship left it before the storm had passed.</p>"
LINK = "<li><a href='/a'>Section</a></li>"
LINKS, PARAGRAPHS = 8, 6
PAGE = encode(segment(f"<ul>{LINK * LINKS}</ul><div>{PARAGRAPH * PARAGRAPHS}</div>".encode()))


def labels(page: EncodedPage, **known: int) -> npt.NDArray[np.int8]:
    """Labels of blocks by `block_<index>`, the others unknown."""
    of_all = np.full(len(page), -1, np.int8)
    for name, label in known.items():
        of_all[int(name.removeprefix("block_"))] = label
    return of_all


def test_labels_spread_to_what_is_alike() -> None:
    spread_out = spread(PAGE, labels(PAGE, block_1=0, block_10=1))
    assert (spread_out[:LINKS] < UNDECIDED).all()
    assert (spread_out[LINKS:] > UNDECIDED).all()


def test_a_labeled_block_keeps_its_label() -> None:
    spread_out = spread(PAGE, labels(PAGE, block_2=1, block_3=0))
    assert spread_out[2] == 1
    assert spread_out[3] == 0


def test_one_label_says_more_of_what_is_alike() -> None:
    spread_out = spread(PAGE, labels(PAGE, block_10=1))
    assert spread_out[LINKS:].min() > spread_out[: LINKS - 1].max()


def test_without_labels_nothing_is_decided() -> None:
    assert spread(PAGE, labels(PAGE)).tolist() == [UNDECIDED] * len(PAGE)


def test_a_window_without_labels_is_undecided() -> None:
    long = encode(segment(f"<ul>{LINK * 2053}</ul>".encode()))
    spread_out = spread(long, labels(long, block_2052=0))
    assert (spread_out[:2048] == UNDECIDED).all()
    assert (spread_out[2048:] < UNDECIDED).all()


def test_a_page_without_blocks_has_no_answers() -> None:
    empty = encode(segment(b""))
    assert spread(empty, labels(empty)).tolist() == []


def test_a_page_of_one_block_is_answered() -> None:
    one = encode(segment(b"<p>alone"))
    assert spread(one, labels(one)).tolist() == [UNDECIDED]
    assert spread(one, labels(one, block_0=1)).tolist() == [1]


def test_labels_of_another_page_are_refused() -> None:
    with pytest.raises(ValueError, match="for 14 blocks"):
        spread(PAGE, np.zeros(3, np.int8))


def test_other_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="1, 0, or -1"):
        spread(PAGE, labels(PAGE, block_3=2))


def test_a_page_without_elements_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="only texts and paths"):
        spread(replace(PAGE, structure=None), labels(PAGE))
