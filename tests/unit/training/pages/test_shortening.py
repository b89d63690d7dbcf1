import zlib

import numpy as np
import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.pages.altering import labels_by_text, shortened, with_few_comments
from dehusk.training.pages.labels import comment_blocks

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


def test_the_first_comments_are_left():
    page = segment(with_few_comments("page", HTML, TEXTS, COMMENT).encode())
    assert page.texts == TEXTS[: len(page)]
    assert 2 <= len(page) - TEXTS.index(REMARKS[0]) <= 8


@pytest.mark.parametrize("left", range(2, 9))
def test_comments_that_stand_in_other_elements_go_with_these(left):
    names = (str(number) for number in range(1000))
    name = next(each for each in names if zlib.crc32(each.encode()) % 7 == left - 2)
    items = "".join(f"<div><b>Ann {text[7]}</b><div><p>{text}</div></div>" for text in REMARKS)
    html = f"<p>{PARAGRAPHS[0]}</p><section><h3>Remarks</h3>{items}</section>"
    texts = segment(html.encode()).texts
    comment = np.array([text in REMARKS for text in texts])
    page = segment(with_few_comments(name, html, texts, comment).encode())
    assert page.texts == texts[: 2 + 2 * left]


def test_one_comment_is_left_as_it_is():
    html = f"<p>{PARAGRAPHS[0]}</p><div>{REMARKS[0]}</div>"
    texts = segment(html.encode()).texts
    page = segment(with_few_comments("page", html, texts, np.array([False, True])).encode())
    assert page.texts == texts


def test_labels_go_with_the_texts():
    others = ("Imprint", "Remark  3: so it does.", PARAGRAPHS[1])
    assert labels_by_text(TEXTS, CONTENT, others).tolist() == [False, False, True]
    assert labels_by_text(TEXTS, COMMENT, others).tolist() == [False, True, False]
