"""The headline of a page, by its headings, its title, and the titles of other pages of its site."""

import json
from collections import Counter
from html import escape

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dehusk.inference.metadata.headline import MAX_LENGTH, find_headline, headline_block
from dehusk.inference.metadata.titles import MAX_PARTS, counted_parts, title_keys
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import SegmentedPage
from dehusk.schemas.sites import BlockFrequencies

URL = "https://www.example-site.org/a"


def page_of(title: str, body: str = "", *, og_title: str = "", site_name: str = "", json_ld: str = "") -> str:
    return (
        f"<html><head><title>{title}</title>"
        f'<meta property=og:title content="{og_title}"><meta property=og:site_name content="{site_name}">'
        f"<script type=application/ld+json>{json_ld}</script></head><body>{body}<p>Text</p></body></html>"
    )


def segmented(html: str) -> SegmentedPage:
    return segment(html.encode())


def headline_of(html: str) -> str | None:
    return find_headline(segmented(html), URL)


@pytest.mark.parametrize(
    ("title", "body", "headline"),
    [
        ("On foxes | Wildlife", "<h1>Wildlife</h1><h1>On foxes</h1>", "On foxes"),
        ("On foxes – a guide | Wildlife", "<h1>On foxes: A Guide</h1>", "On foxes: A Guide"),
        ("Example Site » Blog » On foxes", "<h1>Example Site</h1><h1>On foxes</h1>", "On foxes"),
        ("Everything on foxes and their food", "<h1>Foxes and their food</h1>", "Foxes and their food"),
        ("On foxes | All of Wildlife", "<h1>Wildlife</h1><h2>On foxes</h2>", "On foxes"),
        ("On foxes | Wildlife", "<h1>Wildlife</h1><h3>On foxes</h3><h2>Food</h2>", "On foxes"),
        ("Foxes in winter and spring", "<h1>The winter of foxes, and their spring</h1>", None),
        ("Foxes in winter and spring", "<h1>An unlikely friend</h1>", "An unlikely friend"),
        (
            "Topic: foxes in winter and spring",
            "<h1>Wild</h1><h2>Foxes in winter and spring</h2>",
            "Foxes in winter and spring",
        ),
        ("Topic: foxes in winter and spring", "<h1>Wild</h1><h3>Foxes in winter and…</h3>", "Wild"),
        (
            "Topic: foxes in winter and spring",
            "<h1>Wild</h1><h2>Foxes in winter</h2><h3>Foxes and winter in spring</h3>",
            "Wild",
        ),
        ("On foxes | Wildlife", "<h1>On foxes | Wildlife</h1><h1>On foxes</h1>", "On foxes"),
        ("Foxes of winter", "<h1>Animals</h1><h1>Food</h1>", "Foxes of winter"),
        ("Foxes of winter", "<h1><a href=/>Animals</a></h1>", "Foxes of winter"),
        ("Foxes of winter", "<h1>Animals <a href=#b>link</a></h1>", "Animals link"),
        ("Foxes of winter", "<footer><h1>More</h1></footer>", "Foxes of winter"),
        ("狐の食べ物_動物図鑑", "<h1>狐の食べ物</h1>", "狐の食べ物"),
        ("狐の食べ物_動物図鑑", "", "狐の食べ物"),
        ("", "<h1>On <b>red</b><br>foxes</h1>", "On red foxes"),
        ("", "<h1>One</h1><h1>Two</h1>", None),
        ("On foxes", "<h1><span>On</span> <div>foxes</div></h1><h1>Food</h1>", "On foxes"),
        ("Foxes in wild", "<h1>Animal <b>foxes</b><button>Copy path</button></h1>", "Animal foxes"),
        ("On foxes", "<h1><div>Part 1</div><button>On foxes</button></h1>", "Part 1 On foxes"),
        ("On foxes", "<h1><button><div>On</div><div>foxes</div></button></h1>", "On foxes"),
        ("Food - On foxes | Wildlife", "<h1><span>Food</span>&nbsp;On foxes</h1>", "Food - On foxes"),
        ("Food - On foxes | Wildlife", "<h1>Food: On foxes</h1>", "Food: On foxes"),
        ("On &amp;nbsp; and foxes", "<h1>On &amp;nbsp; and foxes</h1>", "On &nbsp; and foxes"),
        ("Foxes &amp; hens", "<h1>Foxes &amp; hens</h1>", "Foxes & hens"),
        ("Foxes &#x26; hens", "<h1>Foxes &amp;#x26; hens</h1>", "Foxes & hens"),
    ],
)
def test_a_heading_that_the_title_names_or_is_like_or_the_only_one(
    title: str, body: str, headline: str | None
) -> None:
    if headline is None and title:
        headline = body.removeprefix("<h1>").removesuffix("</h1>")
    assert headline_of(page_of(title, body)) == headline


@pytest.mark.parametrize(
    ("title", "headline"),
    [
        ("On foxes | Wildlife", "On foxes"),
        ("On foxes - a guide | Wildlife", "On foxes - a guide"),
        ("On foxes - Example Site", "On foxes"),
        ("Example Site: on foxes", "on foxes"),
        ("On foxes / wolves - Wildlife", "On foxes / wolves"),
        ("«On foxes» is a book", "«On foxes» is a book"),
        ("On foxes « Wildlife", "On foxes"),
        ("Why snake_case: a study of well-known names", "Why snake_case: a study of well-known names"),
        ("foxes:red [Example Site]", "foxes:red"),
        ("Fish &amp;#8217;n&amp;#8217; chips", "Fish ’n’ chips"),
        ("Example Site", "Example Site"),
        ("ثعالب الشتاء | الحياة", "ثعالب الشتاء"),
        ("שועלים – טבע", "שועלים"),
    ],
)
def test_a_title_without_the_name_of_its_site(title: str, headline: str) -> None:
    assert headline_of(page_of(title)) == headline


def test_a_heading_of_the_address_of_the_site_is_no_headline() -> None:
    page = page_of("Site.Example Red foxes", "<h1>site.example</h1>")
    assert find_headline(segmented(page), "https://www.site.example/a") == "Site.Example Red foxes"
    assert find_headline(segmented(page), "") == "site.example"


def test_what_is_declared_goes_before_the_title_but_after_headings() -> None:
    json_ld = json.dumps({"headline": 'Foxes, "in short"'})
    declared = page_of("Foxes", og_title="On foxes - Wildlife", site_name="Wildlife")
    assert headline_of(declared) == "On foxes"
    assert headline_of(page_of("Foxes", og_title="On foxes", json_ld=json_ld)) == 'Foxes, "in short"'
    several = json.dumps([{"headline": "One"}, {"headline": "Two"}])
    assert headline_of(page_of("Foxes", json_ld=several)) == "Foxes"
    assert headline_of(page_of("Foxes", "<h1>Foxes</h1>", json_ld=json_ld)) == "Foxes"
    assert headline_of(page_of("Foxes", json_ld='{"headline": "\\ud800"}')) == "Foxes"


def known(page: SegmentedPage, titles: list[str]) -> BlockFrequencies:
    """Count the parts of the titles of the page and of others."""
    counts = Counter(part for title in (page.title, *titles) for part in counted_parts(title))
    parts = np.array([counts[part] for part in counted_parts(page.title)], np.uint32)
    return BlockFrequencies(1 + len(titles), np.ones(len(page), np.uint32), parts)


def headline_beside(html: str, *titles: str) -> str | None:
    page = segmented(html)
    return find_headline(page, URL, known(page, list(titles)))


def test_what_most_other_pages_have_in_their_titles_is_the_sites() -> None:
    html = page_of("Natural Wonders - On foxes", "<h1>Natural Wonders</h1><h2>On foxes</h2>")
    assert headline_of(html) == "Natural Wonders"
    others = [f"Natural Wonders - {number}" for number in range(3)]
    assert headline_beside(html, *others[:2]) == "Natural Wonders"
    assert headline_beside(html, *others) == "On foxes"


def test_what_many_other_pages_have_is_the_name_of_a_section() -> None:
    html = page_of("Food | Mice | Documentation | All of it")
    others = [f"Food | {number} | Documentation | All of it" for number in range(4)]
    more = [f"Den | {number} | Documentation | All of it" for number in range(20)]
    assert headline_of(html) == "Food"
    assert headline_beside(html, *others, *more) == "Mice"


def test_a_title_that_shares_nothing_with_those_of_other_pages_is_kept_whole() -> None:
    html = page_of("Foxes - a guide")
    assert headline_of(html) == "Foxes"
    assert headline_beside(html, "One", "Two", "Three") == "Foxes - a guide"


def test_numbers_tell_parts_of_titles_apart() -> None:
    html = page_of("Chapter 1 - A Book", "<h1>Chapter 1</h1>")
    others = [f"Chapter {number} - A Book" for number in range(2, 9)]
    assert headline_beside(html, *others) == "Chapter 1"
    assert len({*title_keys("Chapter 1").tolist(), *title_keys("Chapter 2").tolist()}) == 2


def test_a_page_whose_title_says_nothing_has_the_first_heading_that_others_do_not_have() -> None:
    page = segmented(page_of("All of it", "<h2>Menu</h2><h2>On foxes</h2>"))
    parts, seen = np.array([9], np.uint32), np.array([9, 1, 1], np.uint32)
    assert find_headline(page, URL, BlockFrequencies(9, seen, parts)) == "On foxes"
    assert find_headline(page, URL) == "All of it"


def test_the_name_of_the_site_is_the_headline_of_its_front_page() -> None:
    front = page_of(
        "Foxes — Foxes", "<a href=/>Foxes</a><main><h1>Foxes</h1><p>All of them.</p><h2>Red ones</h2>"
    )
    seen, parts = np.array([9, 9, 1, 1], np.uint32), np.array([9], np.uint32)
    assert find_headline(segmented(front), URL, BlockFrequencies(9, seen, parts)) == "Foxes"


@pytest.mark.parametrize(
    ("heading", "headline"),
    [
        ("<h1>Index</h1>", "Index"),
        ("<h1><a href=/>Index</a></h1>", "Letters"),
        ("<h1 hidden>Index</h1>", "Letters"),
    ],
)
def test_a_heading_that_other_pages_have_is_the_headline_before_lesser_ones(
    heading: str, headline: str
) -> None:
    body = f"<h3>Navigation</h3>{heading}<h2>Letters</h2><h3>Navigation</h3>"
    seen, parts = np.array([9, 9, 1, 9], np.uint32), np.array([9, 9], np.uint32)
    page = segmented(page_of("Index — Manual", body))
    assert find_headline(page, URL, BlockFrequencies(9, seen, parts)) == headline


def test_a_heading_that_most_other_pages_have_is_none_unless_it_is_in_the_menu() -> None:
    parts, seen = np.array([1], np.uint32), np.array([9, 9, 1], np.uint32)
    alone = segmented(page_of("On foxes", "<h1>Our offers</h1><h2>Red foxes</h2>"))
    assert find_headline(alone, URL) == "Our offers"
    assert find_headline(alone, URL, BlockFrequencies(9, seen, parts)) == "On foxes"
    in_menu = segmented(page_of("On foxes", "<ul><li>Our offers</ul><h1>Our offers</h1>"))
    assert find_headline(in_menu, URL, BlockFrequencies(9, seen, parts)) == "Our offers"


@pytest.mark.parametrize(
    "title",
    [
        "x" * 1_000_000,
        "a | " * 250_000,
        "- " * 500_000,
        "—_" * 500_000,
        "狐-" * 300_000,
        " [" * 500_000,
        "« » " * 200_000,
        ": " * 500_000,
        "&amp;amp;" * 100_000,
    ],
)
def test_a_title_of_a_million_characters_is_read_at_its_beginning(title: str) -> None:
    page = SegmentedPage(title, None, (), (), (), (), ())

    found = find_headline(page, URL)
    title_keys(title)
    assert found is None or len(found) <= MAX_LENGTH
    assert find_headline(segmented(f"<h1>{title}</h1>"), URL) == found or found is not None


@pytest.mark.parametrize("title", ["", " ", "| - » :", "—", "!?", "\u202e\u200b", "&#0;", "\0", "[", "«»"])
def test_a_title_without_a_letter_is_no_headline(title: str) -> None:
    assert headline_of(page_of(title)) is None
    assert headline_of(page_of(title, "<h1>…</h1>", og_title="|", site_name="-")) is None
    assert headline_of(page_of(title, "<h1>On foxes</h1>")) == "On foxes"


def test_control_characters_are_left_out() -> None:
    assert headline_of(page_of("On\x01 \x1b[1mfoxes\x7f")) == "On [1mfoxes"


@pytest.mark.parametrize(
    ("title", "body", "block"),
    [
        ("On red foxes - Site", "<h1>Site</h1><h1>On red foxes</h1><h2>On red</h2>", 1),
        ("On red foxes", "<h1 hidden>On red foxes</h1><p>x</p><h1>On red foxes</h1>", 2),
        ("On red foxes", "<h1 hidden>On red foxes</h1><p>x</p>", 0),
        ("On red foxes", "<h1><button>Copy link</button>On red foxes</h1>", 1),
        ("On red foxes", "<h2>Foxes</h2><h3>On red foxes</h3>", 1),
        ("On red foxes of the hills - Site", "<p>x</p><p>On red foxes of the hills</p>", 1),
        ("Wolves", "<p>x</p><h1 hidden>A</h1><h1>B</h1><h1>C</h1>", 2),
        ("Wolves", "<p>x</p>", None),
        ("", "", None),
    ],
)
def test_readers_see_the_headline_in_a_heading_or_else_in_a_text(
    title: str, body: str, block: int | None
) -> None:
    assert headline_block(segmented(page_of(title, body)), URL) == block


def test_only_the_first_of_many_headings_are_read() -> None:
    body = "".join(f"<h2>Section {number}</h2>" for number in range(50_000))
    page = segmented(page_of("Section 49999", f"{body}<h1>Section 49999</h1>"))
    assert page.headline_sources is not None
    assert len(page.headline_sources.headings) == 60
    assert find_headline(page, URL) == "Section 49999"


TEXTS = st.text(max_size=30) | st.text("ab|-–»«:_/[] \0\u202e狐", max_size=30)


DECLARED = st.fixed_dictionaries(
    {"title": TEXTS, "og_title": TEXTS, "site_name": TEXTS, "json_ld": TEXTS},
    optional={"url": st.sampled_from([URL, "http://[", "x://", "https://狐.jp/"])},
)


@given(DECLARED, st.lists(st.tuples(st.integers(1, 4), TEXTS), max_size=4), st.integers(1, 9))
@example({"title": "a|", "og_title": "", "site_name": "", "json_ld": ""}, [], 4)
@example({"title": "", "og_title": "", "site_name": "", "json_ld": ""}, [(1, "\u2122")], 1)
def test_whatever_a_page_declares_its_headline_is_sound(
    declared: dict[str, str], headings: list[tuple[int, str]], pages: int
) -> None:
    body = "".join(f"<h{level}>{escape(text)}</h{level}>" for level, text in headings)
    html = page_of(
        escape(declared["title"]),
        body,
        og_title=escape(declared["og_title"]),
        site_name=escape(declared["site_name"]),
        json_ld=json.dumps({"headline": declared["json_ld"]}).replace("<", "\\u003c"),
    )
    page, url = segment(html.encode("utf-8", "replace")), declared.get("url", "")
    parts = np.full(len(title_keys(page.title)), pages, np.uint32)
    assert len(parts) <= MAX_PARTS
    frequencies = BlockFrequencies(pages, np.full(len(page), pages, np.uint32), parts)
    assert headline_block(page, url) in (None, *range(len(page)))
    for found in (find_headline(page, url), find_headline(page, url, frequencies)):
        if found is not None:
            assert 0 < len(found) <= MAX_LENGTH
            assert found == " ".join(found.split())
            assert any(map(str.isalnum, found))
            found.encode()
