import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.grf.graph import features_of
from dehusk.inference.labelers.grf.labeler import seeds
from dehusk.inference.segmentation.segmentation import segment

PARAGRAPH = "The harbour was closed for three days, and no ship left it before the storm had passed."
CONTENT, BOILERPLATE, UNKNOWN = 1, 0, -1


def labels(html: str) -> list[int]:
    page = encode(segment(html.encode()))
    found = seeds(page, features_of(page))
    assert found.dtype == np.int8
    return found.tolist()


@pytest.mark.parametrize("element", ["article", "main", "div role=main"])
def test_paragraphs_of_the_article_are_content_and_others_unknown(element: str) -> None:
    end = element.split(maxsplit=1)[0]
    html = f"<{element}><p>{PARAGRAPH}</p><h2>Ships</h2></{end}><p>{PARAGRAPH}</p>"
    assert labels(html) == [CONTENT, UNKNOWN, UNKNOWN]


def test_without_an_article_all_paragraphs_are_content() -> None:
    assert labels(f"<p>{PARAGRAPH}</p><div>{PARAGRAPH}</div><p>Short.</p>") == [CONTENT, CONTENT, UNKNOWN]


def test_an_article_without_paragraphs_says_nothing() -> None:
    assert labels(f"<article><p>Short.</p></article><p>{PARAGRAPH}</p>") == [UNKNOWN, CONTENT]


@pytest.mark.parametrize("element", ["nav", "footer", "aside", "button", "header"])
def test_what_stands_around_the_content_is_boilerplate(element: str) -> None:
    assert labels(f"<{element}>{PARAGRAPH}</{element}><p>{PARAGRAPH}</p>") == [BOILERPLATE, CONTENT]


def test_the_header_of_an_article_is_part_of_it() -> None:
    assert labels(f"<article><header><p>{PARAGRAPH}</p></header></article>") == [CONTENT]


def test_a_short_link_is_boilerplate() -> None:
    assert labels(f"<p>{PARAGRAPH}</p><p><a href=/>Timetable</a></p>") == [CONTENT, BOILERPLATE]


def test_a_paragraph_that_is_mostly_linked_is_unknown() -> None:
    assert labels(f"<p>{PARAGRAPH} <a href=/>{PARAGRAPH}</a></p>") == [UNKNOWN]
