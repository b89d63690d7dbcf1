import zlib

import numpy as np
import pytest

from inference.segmentation import segment
from training.comments import comment_blocks
from training.shortening import labels_by_text, shortened

PARAGRAPHS = [f"Mill number {number} grinds slowly, but fine." for number in range(6)]
REMARKS = [f"Remark {number}: so it does." for number in range(12)]
HTML = (
    "<nav><a href=/>Home</a></nav><article><blockquote><p>{}</blockquote>{}</article>"
    "<ol class=commentlist>{}</ol>"
).format(
    PARAGRAPHS[0],
    "".join(f"<p>{text}</p>" for text in PARAGRAPHS[1:]),
    "".join(f"<li class=comment id=c-{number}>{text}</li>" for number, text in enumerate(REMARKS)),
)
TEXTS = segment(HTML.encode()).texts
CONTENT = np.array([text in PARAGRAPHS for text in TEXTS])
COMMENT = np.array([text in REMARKS for text in TEXTS])


def page_id(left: int) -> str:
    """The id of a page of which so many paragraphs are left."""
    names = (str(number) for number in range(100))
    return next(name for name in names if zlib.crc32(name.encode()) % 2 == left - 1)


@pytest.mark.parametrize("left", [1, 2])
def test_the_first_paragraphs_and_all_comments_are_left(left):
    page = segment(shortened(page_id(left), HTML, TEXTS, CONTENT, COMMENT).encode())
    assert page.texts == ("Home", *PARAGRAPHS[:left], *REMARKS)
    assert comment_blocks(page.structure).sum() == len(REMARKS)


def test_a_page_with_few_comments_or_paragraphs_is_not_shortened():
    few_comments = COMMENT & (np.cumsum(COMMENT) < 10)
    few_paragraphs = CONTENT & (np.cumsum(CONTENT) < 4)
    name = page_id(1)
    assert shortened(name, HTML, TEXTS, CONTENT, few_comments) is None
    assert shortened(name, HTML, TEXTS, few_paragraphs, COMMENT) is None


def test_labels_go_with_the_texts():
    others = ("Imprint", "Remark  3: so it does.", PARAGRAPHS[1])
    assert labels_by_text(TEXTS, CONTENT, others).tolist() == [False, False, True]
    assert labels_by_text(TEXTS, COMMENT, others).tolist() == [False, True, False]
