import zlib

import numpy as np

from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.pages.altering import renamed
from dehusk.training.pages.labels import comment_blocks

HTML = """
<h1>Comments on the state of the mills, which are many this year</h1><p class=text>The mills grind.
<div id=comments class="comments-area" itemscope itemtype=https://schema.org/Comment>
<h3>12 <b>Comments</b></h3><div class=comment-body itemprop=comment>So they do.</div></div>
"""


def page_id(plural: str) -> str:
    """Find an id of a page whose comments get a name, where a heading tells of comments."""
    ids = (str(number) for number in range(10_000))
    return next(each for each in ids if f'class="{plural}-area"' in (renamed(each, HTML) or ""))


def tokens(html: str) -> set[int]:
    return set(segment(html.encode()).structure.tokens.tolist())


def token(name: str) -> int:
    return zlib.crc32(b"c:" + name.encode())


def test_classes_ids_and_headings_have_another_name():
    html = renamed(page_id("kommentare"), HTML)
    assert 'id="kommentare" class="kommentare-area"' in html
    assert 'class="kommentar-body"' in html
    assert segment(html.encode()).texts[2] == "12 Kommentare"
    assert tokens(html).isdisjoint({token("comment"), token("comments")})
    assert {token("kommentar"), token("kommentare")} <= tokens(html)


def test_longer_headings_and_texts_are_left():
    texts = segment(renamed(page_id("pinglun"), HTML).encode()).texts
    assert texts[:2] == segment(HTML.encode()).texts[:2]
    assert texts[2] == "12 评论"


def test_names_of_other_languages_are_known_where_no_gold_says_what_is_a_comment():
    page = segment(renamed(page_id("kommentare"), HTML).encode())
    assert np.flatnonzero(comment_blocks(page.structure)).tolist() == [3]


def test_names_that_may_mean_posts_are_given_where_a_heading_tells_comments():
    name = page_id("items")
    assert '<b>Comments</b></h3><div class="item-body"' in renamed(name, HTML)
    without = renamed(name, HTML.replace("<b>Comments</b>", "so far"))
    assert "item-" not in without
    assert "comment-body" not in without


def test_without_the_known_name_nothing_is_renamed():
    assert renamed("page", "<h2>Comments</h2><p class=post>So they do.") is None
