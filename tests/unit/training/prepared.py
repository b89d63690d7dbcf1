"""Prepared pages of sites that differ, with a menu, an article under headings, a comment and a footer."""

from dataclasses import replace

import numpy as np

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import SegmentedPage
from dehusk.training.arrays import Bools
from dehusk.training.pages.prepared import PreparedPage
from dehusk.training.scores import score_words

SENTENCES = (
    "the mill grinds slowly but it grinds fine",
    "a river turns the wheel at night",
    "nobody counts the sacks",
)


def site_html(number: int) -> str:
    """A page with a menu, an article under headings, a comment and a footer; different from site to site."""
    menu = "".join(f"<li><a href=/{k}>Menu {k} of {number}</a></li>" for k in range(5))
    body = "".join(
        f"<h2>Part {k} {number}</h2><p>{SENTENCES[(k + number) % 3]}, said number {number * k}.</p>"
        for k in range(2 + number % 3)
    )
    return (
        f"<html><head><title>Mill {number}</title></head><body>"
        f"<div class='main-nav n{number}'><ul>{menu}</ul></div>"
        f"<div id=content class='article-body'>{body}</div>"
        f"<ol class=commentlist><li>Nice mill, says visitor {number}</li></ol>"
        f"<div class=footer>Imprint {number} Contact</div></body>"
    )


def prepared(number: int) -> PreparedPage:
    """Return one of them."""
    segmented = segment(site_html(number).encode())
    content = np.array(["h2" in path or path.endswith("/p") for path in segmented.paths])
    return replace(
        labeled(number, segmented, content),
        page_type=("article", "forum")[number % 2],
        stripped=bool(number % 2),
        comment=np.array(["Nice" in text for text in segmented.texts]),
    )


def labeled(number: int, segmented: SegmentedPage, content: Bools) -> PreparedPage:
    """Return a prepared article of a site of its own, without comments."""
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    return PreparedPage(
        id=str(number),
        collection="mills",
        site=f"mill{number}.example",
        page_type="article",
        stripped=False,
        words=words,
        gold=tuple(word for block, kept in zip(words, content, strict=True) if kept for word in block),
        has_gold=True,
        repaired=False,
        encoded=encode(segmented),
        content=content,
        comment=np.zeros(len(content), np.bool_),
        uncertain=np.zeros(len(content), np.bool_),
        reliable=True,
        scripts={},
    )
