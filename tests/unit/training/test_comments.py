import pytest

from dehusk.inference.segmentation import segment
from dehusk.training.comments import comment_blocks, listed_comments
from dehusk.training.pages import GoldPage


def comments(html: str) -> list[str]:
    page = segment(html.encode())
    found = comment_blocks(page.structure)
    return [text for text, is_comment in zip(page.texts, found, strict=True) if is_comment]


@pytest.mark.parametrize(
    "opening",
    [
        "<div id=comments>",
        "<ol class=commentlist>",
        "<section class='user-comments wide'>",
        "<div id=disqus_thread>",
        "<div class=postComment>",
    ],
)
def test_what_stands_in_a_list_of_comments_is_one(opening):
    assert comments(f"<p>The mill turns.</p>{opening}<div><b>Ann</b><p>It does.</p></div>") == [
        "Ann",
        "It does.",
    ]


def test_headings_and_the_form_are_none():
    html = (
        "<div id=comments><h3>2 comments</h3><p>It does.<div id=respond><p>Leave a reply</div></div><p>End."
    )
    assert comments(html) == ["It does."]


def test_a_page_without_any_has_none():
    assert comments("<p>The mill turns.<p class=commentary-free>No comment.") == []


@pytest.mark.parametrize(("may_be_posts", "found"), [(False, [False, True]), (True, [False, False])])
def test_nothing_is_one_where_posts_may_be_called_so(may_be_posts, found):
    html = "<p>The mill turns.</p><ol class=commentlist><li>It does."
    page = GoldPage("7", "mill.example", "", html, None, kind="forum" if may_be_posts else "blog")
    assert listed_comments(page, segment(html.encode())).tolist() == found
