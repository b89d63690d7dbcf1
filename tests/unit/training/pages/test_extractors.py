import lzma

import numpy as np
import orjson
import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import ModelVersion
from dehusk.training.pages.extractors import agreed, resiliparse_text, taught, trafilatura_text
from dehusk.training.pages.labels import DROPPED

PROSE = "".join(
    f"<p>Mill number {number} grinds slowly, but fine, by day and night.</p>" for number in range(9)
)

REMARK = "I have lived beside the mill for thirty years, and it grinds far too loud at night."

COMMENTS = (
    f"<div id=comments class=comments><ol class=commentlist>{f'<li><p>{REMARK}</p></li>' * 9}</ol></div>"
)

HTML = f"<html><body><article><h1>Mühlen</h1>{PROSE}</article>{COMMENTS}</body></html>"


@pytest.mark.parametrize("extract", [trafilatura_text, resiliparse_text])
def test_they_read_text_and_bytes_alike_with_and_without_comments(extract):
    whole = extract(HTML)
    assert "Mill number 8" in whole
    assert REMARK in whole
    assert extract(HTML.encode()) == whole
    without = extract(HTML, comments=False)
    assert "Mill number 8" in without
    assert REMARK not in without


@pytest.mark.parametrize("extract", [trafilatura_text, resiliparse_text])
def test_a_page_without_text_gives_none(extract):
    assert extract("<html><body></body></html>") == ""


TEXTS = ("Home", "The mill " * 60, "It grinds " * 30, "Imprint")

WORDS = [text.lower().split() for text in TEXTS]


def votes(*teachers: str) -> list[np.ndarray]:
    return [np.array([mark == "x" for mark in teacher]) for teacher in teachers]


def test_what_two_of_three_keep_is_content_and_uncertain_where_the_third_does_not():
    labels = agreed(TEXTS, WORDS, votes(".xx.", ".xx.", ".x.x"))
    assert labels.content("7", TEXTS).tolist() == [False, True, True, False]
    assert labels.doubted("7", TEXTS).tolist() == [False, False, True, True]


def test_a_page_on_which_they_agree_on_too_little_is_dropped():
    assert agreed(TEXTS, WORDS, votes("x...", "x...", "x...")) == DROPPED
    assert agreed(TEXTS, WORDS, votes(".x..", "..x.", "...x")) == DROPPED


def test_comments_are_no_content_whatever_the_teachers_keep(tmp_path):
    remark = "I have lived beside the mill for thirty years, and I say that it grinds far too loud at night."
    prose = "".join(f"<p>Mill number {n} grinds slowly, but fine, by day and night.</p>" for n in range(9))
    comments = f"<ol class=commentlist>{f'<li><p>{remark}</p></li>' * 12}</ol>"
    html = f"<article><h1>Mills</h1>{prose}</article>{comments}"
    page = {"id": "7", "url": None, "html": html, "expected_text": None}
    (tmp_path / "pages.jsonl.xz").write_bytes(lzma.compress(orjson.dumps(page)))
    ((_, found),) = taught([tmp_path / "pages.jsonl.xz"], ModelVersion("dehusk", ""), DEFAULT_REPOSITORY, 1)
    texts = segment(html.encode()).texts
    kept = np.array(texts)[found.content("7", texts)].tolist()
    assert len([text for text in kept if "grinds slowly" in text]) == 9
    assert remark not in kept
    assert not found.doubted("7", texts)[texts.index(remark)]


def test_pages_without_gold_text_are_taught(tmp_path):
    prose = "".join(
        f"<p>Mill number {number} grinds slowly, but fine, by day and night." for number in range(9)
    )
    html = f"<nav><a href=/>Home</a></nav><article><h1>Mills</h1>{prose}</article><footer>Imprint</footer>"
    page = {"id": "7", "url": "http://mill.example/", "html": html, "expected_text": None}
    file = tmp_path / "pages.jsonl.xz"
    lines = [page, page | {"id": "8", "expected_text": "Mills"}, page | {"id": "9", "html": "<p>Hello"}]
    file.write_bytes(lzma.compress(b"\n".join(map(orjson.dumps, lines))))
    (_, first), last = taught([file], ModelVersion("dehusk", ""), DEFAULT_REPOSITORY, 1)
    texts = segment(html.encode()).texts
    kept = np.array(texts)[first.content("7", texts)].tolist()
    assert len([text for text in kept if "grinds" in text]) == 9
    assert "Home" not in kept
    assert last == ("pages/9", DROPPED)
