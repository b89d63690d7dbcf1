"""Dates that readers see, read from whole pages."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dehusk.inference.metadata.dated_blocks import Hints
from dehusk.inference.metadata.visible_dates import WEIGHTS, candidates
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.metadata import Metadata, MetadataLevel
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.pages import SegmentedPage

DAY = date(2024, 5, 1)
PROSE = "<p>" + "The red fox is the largest of the true foxes, and one of the most widespread animals. " * 6
TITLE = "<title>On red foxes - Site</title>"


def read(html: str, *, url: str = "https://a.test/b", drop_hidden: bool = False) -> Metadata:
    options = DocumentOptions(metadata=MetadataLevel.FULL, drop_hidden=drop_hidden)
    metadata = segment(html.encode(), url=url, options=options).metadata
    assert metadata is not None
    return metadata


COMMENTS = "<ol class=comment-list>" + "".join(
    f"""<li class="comment even"><article class=comment-body><footer class=comment-meta><b>Bob Ray</b> says:
    <div class=comment-metadata><time datetime=2024-06-0{day}T10:00Z>June {day}, 2024</time></div></footer>
    <p>Thanks.</p></article></li>"""
    for day in range(1, 4)
)


def page(after: str = "", *, before: str = "", below: str = "") -> str:
    return f"{TITLE}{before}<main><h1>On red foxes</h1>{after}{PROSE}{below}</main>"


@pytest.mark.parametrize(
    "html",
    [
        page("<p>May 1, 2024"),
        page("<div>By Ann Lee | May 1, 2024 | 3 comments</div>"),
        page("<div>Posted on May 1, 2024 Updated on June 2, 2024</div>"),
        page("<div><span>1 May 2024</span> <span>2 June 2024</span> by Ann</div>"),
        page("<div>2 June 2024 1 May 2024</div>"),
        page(before="<div>May 1, 2024</div>"),
        page("<div>2024年5月1日 10:00</div>"),
        page("<div>发布时间：2024-05-01 更新时间：2024-06-02</div>"),
        page("<div>Опубликовано: 1 мая 2024</div>"),
        page("<p>May 1, 2024", below="<ul>" + "<li><h3>Other</h3><p>June 2, 2024</li>" * 5 + "</ul>"),
        page("<p>May 1, 2024", before="<header><div>Today is Monday, 3 June 2024</div></header>"),
        page("<time datetime=2024-05-01>yesterday</time>"),
        page("<div>Posted <time datetime=2024-05-01T10:00>3 hours ago</time> by Ann</div>"),
        page("<blockquote><p>June 2, 2024</blockquote><p>May 1, 2024"),
        page(below="<footer><p>This entry was posted on May 1, 2024</footer>"),
        page(below="<p>Short" * 100 + "<p>Published: May 1, 2024 | Updated: June 2, 2024"),
        page("<p>For immediate release: May 1, 2024"),
        page("<p>access_time May 1, 2024"),
        page("<p>May 1, 2024", below=COMMENTS),
        f"{TITLE}<h2>On red foxes</h2><p>May 1, 2024{PROSE}",
    ],
)
def test_the_day_of_publication_is_found_near_the_headline(html: str) -> None:
    assert read(html).published_day == DAY


@pytest.mark.parametrize(
    "html",
    [
        page(),
        page("<p>Updated on May 1, 2024"),
        page("<blockquote><p>May 1, 2024</blockquote>"),
        page(below="<p>The meeting in Vienna, which people of all ages went to, was on May 1, 2024" + PROSE),
        page(below="<nav><p>May 1, 2024</nav>"),
        page(below=COMMENTS),
        page(below="<p>Short" * 100 + "<p>May 1, 2024"),
        page(below="<p>Short" * 300 + "<p>Published: May 1, 2024"),
        page(below="<footer>© May 1, 2024 by the owners</footer>"),
        page(
            below="<ul>"
            + "".join(f"<li><h3>Other</h3><p>June {day}, 2024</li>" for day in range(1, 9))
            + "</ul>"
        ),
        "".join(f"<h2><a href=x>Story {day}</a></h2><p>May {day}, 2024</p>" for day in range(1, 9)),
        f"{TITLE}<h1>On red foxes</h1><p>a<p>b<p>c" + f"<h2>Story</h2><div>May 1, 2024</div>{PROSE}" * 2,
        "<title>Prices of May 1, 2024</title><h1>Prices of May 1, 2024</h1>" + PROSE,
    ],
)
def test_a_page_that_shows_no_date_of_its_own_has_none(html: str) -> None:
    assert read(html).published is None


def test_posts_of_a_forum_have_the_date_of_the_first() -> None:
    posts = "".join(
        f"<article><div>ann <time datetime=2024-05-0{day}T10:00:00+02:00>{day} days ago</time></div>"
        f"{PROSE}</article>"
        for day in range(1, 8)
    )
    found = read(f"{TITLE}<h1>On red foxes</h1>{posts}")
    assert found.published is not None
    assert found.published.isoformat() == "2024-05-01T10:00:00+02:00"


def test_the_first_of_two_posts_has_the_date() -> None:
    menu = "<ul>" + "<li>Menu" * 9 + "</ul>"
    posts = "".join(f"<table><tr><td>May {day}, 2024<tr><td>{PROSE}</table>" for day in (1, 2))
    assert read(f"{TITLE}<h1>On red foxes</h1>{menu}{posts}").published_day == DAY


def test_posts_of_vbulletin_that_are_declared_as_comments_have_the_date_of_the_first() -> None:
    menu = "<ul>" + "<li>Menu" * 9 + "</ul>"
    posts = "<ol>" + "".join(
        "<li class='postbit postcontainer' itemscope itemtype=http://schema.org/Comment>"
        f"<div class=posthead>05-0{day}-2024, 09:03 AM</div><div>ann</div><div>{PROSE}</div></li>"
        for day in range(1, 4)
    )
    html = f"<html lang=en>{TITLE}<h1>Thread: On red foxes</h1>{menu}{posts}"
    assert read(html).published_day == DAY
    assert read(html.replace("postbit postcontainer", "comment")).published is None


def test_posts_that_repeat_the_headline_have_the_date_of_the_first() -> None:
    posts = "".join(
        f"<h3>{'Re: ' if day > 1 else ''}On red foxes</h3><p>by <b>ann</b> » May {day}, 2024 11:23 am{PROSE}"
        for day in range(1, 8)
    )
    assert read(f"{TITLE}<h1>On red foxes</h1>{posts}").published_day == DAY


def test_entries_that_have_the_headline_in_their_own_are_a_list() -> None:
    entries = "".join(
        f"<h2><a href=/{day}>Why On red foxes</a></h2><p>May {day}, 2024</p>{PROSE}" for day in range(1, 6)
    )
    assert read(f"{TITLE}<h1>On red foxes</h1>{entries}").published is None


def test_a_date_before_the_headline_is_not_that_of_the_first_post() -> None:
    posts = f"<h2>#1 Wed May 1, 2024</h2>{PROSE * 3}" * 7
    menu = "<ul>" + "<li>Menu" * 10 + "</ul>"
    html = f"{TITLE}<h2>#1 Wed May 1, 2024</h2>{menu}<h1>On red foxes</h1>{menu}{posts}"
    assert read(html).published_day == DAY


def test_the_last_change_is_read_where_it_is_labeled() -> None:
    found = read(page("<div>Posted May 1, 2024. Last edited: June 2, 2024</div>"))
    assert (found.published_day, found.modified_day) == (DAY, date(2024, 6, 2))
    assert read(page("<p>May 1, 2024")).modified is None
    older = read(page("<div>Posted May 1, 2024. Last edited: April 2, 2024</div>"))
    assert (older.published_day, older.modified_day) == (DAY, None)


@pytest.mark.parametrize(
    "foot",
    [
        "<footer><ul><li>This page was last edited on 1 May 2024, at 10:16.</ul></footer>",
        "<div>start.txt · Zuletzt geändert: 2024/05/01 21:47 von ann</div>",
        "<footer>Last updated on <time datetime=2024-05-01T10:00>3 days ago</time> by Ann</footer>",
        "<footer>© Ann, 2020-2024 <span>最后更新： 2024-05-01 14:17</span></footer>",
    ],
)
def test_the_last_change_is_read_from_the_end_of_the_page(foot: str) -> None:
    long = page(below="<p>Short" * 100)
    assert read(long + foot).modified_day == DAY
    assert read(long + foot).published is None
    assert read(page("<p>June 2, 2024") + foot).modified is None
    assert read(long + foot + foot.replace("2024", "2023")).modified is None


@pytest.mark.parametrize(
    "html",
    [
        "<footer>Terms of use, which all who read this page agree to by what they do "
        "on it, and should read at times (updated May 1, 2024).</footer>",
        "<footer><p>News and updates</p><p>May 1, 2024</p></footer>",
        "<footer>Site last updated: May 1, 2024</footer>",
        "<footer>Privacy Policy (last updated May 1, 2024)</footer>",
        "<nav>Last updated on May 1, 2024</nav>",
        "<div class=comment><p>Last edited by Ann on May 1, 2024</div>",
        "<p>Last updated on May 1, 2024" + "<p>Short" * 50,
        "<h3>More</h3><ul><li><a href=/w>Wolves of the north</a> <span>Updated May 1, 2024</span></ul>",
        "<div><div>Ann, April 9, 2024</div><p>Yes</p></div>" * 4 + "<p>Last edited by Ann on May 1, 2024",
    ],
)
def test_other_dates_at_the_end_are_no_change_of_the_page(html: str) -> None:
    assert read(page(below="<p>Short" * 100) + html).modified is None


def test_a_heading_after_the_last_change_is_of_what_follows() -> None:
    foot = "<p>start.txt · Last modified: May 1, 2024<div><h3>Page tools</h3>"
    assert read(page(below="<p>Short" * 100) + foot).modified_day == DAY


def test_the_last_change_of_a_policy_is_that_of_its_own_page() -> None:
    foot = "<footer>Privacy Policy (last updated May 1, 2024)</footer>"
    html = page(below="<p>Short" * 100) + foot
    assert read(html.replace("On red foxes", "Our privacy policy")).modified_day == DAY


def test_the_month_in_the_address_says_which_number_is_the_month() -> None:
    html = "<html lang=en-US>" + page("<p>05/06/2024")
    assert read(html).published_day == date(2024, 5, 6)
    assert read(html, url="https://a.test/2024/06/on-foxes/").published_day == date(2024, 6, 5)


def test_hidden_dates_count_unless_they_are_dropped() -> None:
    html = page("<p hidden>Posted May 1, 2024</p>")
    assert read(html).published_day == DAY
    assert read(html, drop_hidden=True).published is None


def page_of(texts: list[str], paths: list[str]) -> SegmentedPage:
    one = segment(b"<p>x")
    assert one.structure is not None
    return replace(
        one,
        texts=tuple(texts),
        paths=tuple(paths),
        linked=(0,) * len(texts),
        hidden=(False,) * len(texts),
        structure=replace(one.structure, elements=np.full(len(texts), -1, np.int32)),
    )


PIECES = st.sampled_from(
    [
        *(
            "May 1, 2024",
            "2024-05-01",
            "1.5.2024",
            "updated",
            "Posted on",
            "©",
            "年",
            "2024年5月1日",
            "x" * 400,
            "20",
            "19",
        ),
        *("On red foxes", " | ", "٢٠٢٤", "1" * 50, "05/06/2024", "\u200f", "Joined"),
    ]
)
PATHS = st.sampled_from(
    [
        "html/body/h1",
        "html/body/p",
        "html/body/main/article/header/time",
        "html/body/ul/li/h3",
        "html/body/nav/a",
        "",
        "h1",
    ]
)
TEXT = st.lists(PIECES, min_size=1, max_size=4).map(" ".join)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(TEXT, PATHS), max_size=30),
    st.none() | st.integers(0, 29),
    st.lists(st.tuples(PIECES, PIECES), max_size=15),
    st.none() | st.tuples(st.integers(1900, 2099), st.integers(1, 12)),
)
def test_any_blocks_have_candidates_with_known_features(
    rows: list[tuple[str, str]],
    head: int | None,
    times: list[tuple[str, str]],
    month: tuple[int, int] | None,
) -> None:
    shown = page_of([text for text, _ in rows], [path for _, path in rows])
    head = None if head is None or head >= len(rows) else head
    for each in candidates(shown, head, Hints("en", None, times, month)):
        assert each.weight == pytest.approx(sum(WEIGHTS.get(feature, 0) for feature in each.features))
        assert len(set(each.features)) == len(each.features)
    assert candidates(shown, head, Hints()) == candidates(shown, head, Hints())


HUGE = {
    "dates": page("<p>May 1, 2024" * 50_000),
    "blocks with dates": page("<p>May 1, 2024" * 20_000),
    "digits": page("<p>" + "1" * 100_000 + "<p>" + "2024 " * 60),
    "times": page("".join(f"<time datetime=2024-05-01>May {n}</time> " for n in range(20_000))),
    "headings": TITLE + "<h1>On red foxes 2024</h1>" * 20_000,
    "a long headline": f"<title>{'word ' * 50_000}</title><h1>{'word ' * 50_000}</h1><p>May 1, 2024",
    "a long title": f"<title>{'a ' * 200_000}</title>" + "<h2>a a a</h2>" * 5_000,
    "white space": page("<p>1" + "&nbsp;" * 200 + "May" + "&nbsp;" * 200 + "2024"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("html", HUGE.values(), ids=HUGE)
def test_a_page_of_many_dates_is_read_within_bounds(html: str) -> None:
    read(html)


@pytest.mark.parametrize(
    "product",
    [
        '<script type="application/ld+json">{"@type": "Product", "name": "Red fox"}</script>',
        "<meta property=og:type content=og:product>",
        "<meta property=og:type content=shop:item>",
    ],
)
def test_on_the_page_of_a_product_a_date_counts_by_its_label(product: str) -> None:
    assert read(product + page("<p>May 1, 2024")).published is None
    assert read(product + page("<p>Posted: May 1, 2024")).published_day == DAY


def test_an_article_about_a_product_has_its_date() -> None:
    product = '<script type="application/ld+json">{"@type": "Product", "name": "Red fox"}</script>'
    declared = product + "<meta property=og:type content=article>"
    assert read(declared + page("<p>May 1, 2024")).published_day == DAY


@pytest.mark.parametrize("classes", ["post category-reviews", "review"])
def test_an_article_that_is_a_review_has_its_date(classes: str) -> None:
    article = page("<p class=byline>By Ann Lee<p>May 1, 2024").replace("<main>", f"<main class='{classes}'>")
    assert read(article).published_day == DAY


def test_the_date_of_a_review_by_a_reader_is_not_the_page_s() -> None:
    review = "<div class=reviews><div class=review-head>Ann <span>May 1, 2024</span></div><p>Nice.</div>"
    assert read(page(review)).published is None
    assert read(page(review.replace("review", "content"))).published_day == DAY


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/index.html",
        "/tag/foxes/",
        "/blog/category/foxes",
        "/author/ann/",
        "/foxes/page/2/",
        "/#top",
    ],
)
def test_a_list_of_pages_has_no_date_of_theirs(path: str) -> None:
    assert read(page("<p>May 1, 2024"), url=f"https://a.test{path}").published is None


@pytest.mark.parametrize(
    "path",
    [
        "/?p=12",
        "/tag",
        "/archives/12",
        "/page/foxes",
        "/category/foxes/red/",
        "/2",
        "/category/foxes.html",
        "/authors/guidelines",
        "/topic/12-foxes/page/2/",
    ],
)
def test_a_page_that_is_no_list_has_its_date(path: str) -> None:
    assert read(page("<p>May 1, 2024"), url=f"https://a.test{path}").published_day == DAY
