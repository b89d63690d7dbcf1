"""Reading of a page's metadata."""

import json
from datetime import UTC, date, datetime

import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.metadata import Metadata, MetadataLevel
from dehusk.schemas.options import DocumentOptions

URL = "https://www.a.test/b/c.html"


def read(html: str, *, url: str = URL, level: MetadataLevel = MetadataLevel.FAST) -> Metadata:
    metadata = segment(html.encode(), url=url, options=DocumentOptions(metadata=level)).metadata
    assert metadata is not None
    return metadata


def json_ld(**item: object) -> str:
    return f'<script type="application/ld+json">{json.dumps({"@type": "Article", **item})}</script>'


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


def test_nothing_is_read_where_it_is_not_asked_for() -> None:
    assert segment(json_ld(author="A").encode()).metadata is None


def test_a_page_that_says_nothing_has_no_metadata() -> None:
    assert read("<p>text") == Metadata()


@pytest.mark.parametrize(
    ("html", "author"),
    [
        (json_ld(author="Ann"), "Ann"),
        (json_ld(author={"@type": "Person", "name": "Ann"}), "Ann"),
        (json_ld(author=[{"name": "Ann"}, "Bo", {"name": ["Cy"]}]), "Ann; Bo; Cy"),
        (json_ld(author=["Ann", "ann", "Ann"]), "Ann"),
        (json_ld(**{"@id": "#a", "@type": "Person", "name": "Ann"}) + json_ld(author={"@id": "#a"}), "Ann"),
        (json_ld(**{"@id": "#x", "author": {"@id": "#x", "author": {"@id": "#x"}}}), None),
        (json_ld(author="By Ann"), "Ann"),
        (json_ld(author=[{"name": "Su Du"}, {"name": "Visit Norway"}]), "Su Du; Visit Norway"),
        (json_ld(author="<a href=x>Ann</a>"), "Ann"),
        (json_ld(author={"name": '<b>By</b> &lt;a href="x"&gt;Ann Lee&lt;/a&gt;'}), "Ann Lee"),
        (json_ld(author="<br>") + meta("author", "Ann"), "Ann"),
        (json_ld(author="https://a.test/ann") + meta("author", "Ann"), "Ann"),
        (json_ld(author={"name": {"name": 1}}) + meta("author", "Ann"), "Ann"),
        (meta("article:author", "https://facebook.com/ann") + meta("dc.creator", "Ann"), "Ann"),
        ('<meta name="AUTHOR" content=" Ann&amp;Bo ">', "Ann&Bo"),
        ('<a rel="nofollow author" href=/ann>by Ann</a> <a rel=author>Ann</a>', "Ann"),
        ("<a rel=author>Ann</a><a rel=author>Bo</a>", None),
        ("<div itemscope itemtype=https://schema.org/Article><i itemprop=author>Ann</i></div>", "Ann"),
        (
            "<div itemscope itemtype=//schema.org/Article>"
            "<p itemprop=author itemscope itemtype=//schema.org/Person>"
            "Written by <b itemprop=name>Ann</b></p></div>",
            "Ann",
        ),
        ("<div itemscope itemtype=https://schema.org/Comment><i itemprop=author>Ann</i></div>", None),
        ("<div itemscope itemtype=//schema.org/Article><i itemprop=author>Ann</i></div>" * 2, None),
        (
            "<meta itemprop=name content=x><ul><li itemscope><i itemprop=author>Bo</i></ul>"
            "<div itemscope itemtype=//schema.org/Article><i itemprop=author>Ann</i></div>",
            "Ann",
        ),
        (
            "<div itemscope itemtype=//schema.org/Recipe><i itemprop=author>Ann</i>"
            "<p itemprop=review itemscope itemtype=//schema.org/Review><i itemprop=author>Bo</i></p></div>",
            "Ann",
        ),
        (
            "<div itemscope itemtype=//schema.org/WebPage>"
            "<p itemprop=mainEntity itemscope itemtype=//schema.org/Article><i itemprop=author>Ann</i></div>",
            "Ann",
        ),
        (json_ld(author="Ann").replace("json", "json; charset=utf-8"), "Ann"),
        (json_ld(author="Ann").replace("json", "jsonx"), None),
        (
            json_ld(**{"@type": "ProfilePage", "mainEntity": {"@id": "#a"}})
            + json_ld(author={"@id": "#a"})
            + json_ld(**{"@type": "Person", "@id": "#a", "name": "Ann"}),
            "Ann",
        ),
        (meta("author", "page.head.extra.author") + meta("dc.creator", "Ann"), "Ann"),
        (meta("author", "{{ post.author }}"), None),
        (meta("author", "/ann"), None),
        (meta("author", ", Ann Lee"), "Ann Lee"),
        (meta("author", "作者：林中"), "林中"),
        (meta("author", "Author.com"), "Author.com"),
        ("<a rel=author>Google +</a>", None),
        ("<a rel=author>该日志由 Ann 于2年前发表</a>", "Ann"),
        (meta("author", "By Ann Lee and Bo Kim"), "Ann Lee; Bo Kim"),
        (json_ld(author="Ann Lee, Bo van der Berg, and Cy O’Doe"), "Ann Lee; Bo van der Berg; Cy O’Doe"),
        (json_ld(author=[{"name": "Ann Lee & Bo Kim"}, {"name": "Ann Lee"}]), "Ann Lee; Bo Kim"),
        (meta("author", "Ann Lee, Senior Editor"), "Ann Lee, Senior Editor"),
        (meta("author", "Ann Lee, Garden Educator"), "Ann Lee, Garden Educator"),
        (meta("author", "Ann Lee, The Fox Times"), "Ann Lee, The Fox Times"),
        (meta("author", "Lee, Ann"), "Lee, Ann"),
        (meta("author", "García Pérez, María José"), "García Pérez, María José"),
        (meta("author", "Ann Lee, Head Coach"), "Ann Lee, Head Coach"),
        (meta("author", "Ann Lee; Bo Kim"), "Ann Lee; Bo Kim"),
        (meta("author", "Lee Park, Ann Mary; Kim Roe, Bo Cy"), "Lee Park, Ann Mary; Kim Roe, Bo Cy"),
        ("<a rel=author>文章由 李在明 发布</a>", "李在明"),
        (meta("author", "Fox & Hen"), "Fox & Hen"),
        (meta("author", "x" * 201), None),
        (meta("author", "2024"), None),
    ],
)
def test_author(html: str, author: str | None) -> None:
    assert read(html).author == author


MORNING = datetime(2024, 5, 1, 8, tzinfo=UTC)
DAY = date(2024, 5, 1)


@pytest.mark.parametrize(
    ("html", "published"),
    [
        (json_ld(datePublished="2024-05-01T10:00:00+02:00"), MORNING),
        (json_ld(datePublished=["2024-05-01"]), date(2024, 5, 1)),
        (json_ld(datePublished=1714550400), MORNING),
        (json_ld(datePublished=[True, 1714550400000]), MORNING),
        (
            json_ld(datePublished="0000-00-00") + meta("article:published_time", "2024-05-01"),
            date(2024, 5, 1),
        ),
        (json_ld(datePublished=20240501) + meta("date", "2024-05-01"), date(2024, 5, 1)),
        (json_ld(**{"@type": "WebPage", "datePublished": "2024-05-01"}), date(2024, 5, 1)),
        ("<time datetime=2024-05-01 class='entry-date published updated'>1 May</time>", date(2024, 5, 1)),
        ("<time datetime=2024-05-01 pubdate>1 May</time>", date(2024, 5, 1)),
        ("<time datetime=2024-05-01 pubdate></time><time datetime=2024-05-02 pubdate></time>", None),
        ("<time datetime=2024-05-01>today</time>", None),
        (
            json_ld(**{"@type": "QAPage", "mainEntity": {"@type": "Question", "dateCreated": "2024-05-01"}}),
            DAY,
        ),
        (json_ld(**{"@type": "Question", "datePublished": "2024-05-01"}), DAY),
        (
            json_ld(**{"@type": "Blog", "blogPost": {"@type": "BlogPosting", "datePublished": "2024-05-01"}}),
            DAY,
        ),
        (
            json_ld(
                **{"@type": "Blog", "blogPost": [{"@type": "BlogPosting", "datePublished": "2024-05-01"}]}
            ),
            DAY,
        ),
        (
            json_ld(
                **{"@type": "Blog", "blogPost": [{"@type": "BlogPosting", "datePublished": "2024-05-01"}] * 2}
            ),
            None,
        ),
        (json_ld(**{"@type": "VideoObject", "uploadDate": "2024-05-01"}), DAY),
        (json_ld(**{"@type": ["WebPage", "FAQPage"], "datePublished": "2024-05-01"}), DAY),
        (meta("citation_publication_date", "2024 May 1"), DAY),
        (meta("published", "1 мая 2024"), DAY),
        (meta("published-date", "2024-05-01"), DAY),
        (
            "<div itemscope itemtype=//schema.org/Article><i itemprop=uploadDate content=2024-05-01></div>",
            DAY,
        ),
        (
            "<div itemscope itemtype=//schema.org/BlogPosting>"
            "<time itemprop=datePublished datetime=2024-05-01></div>",
            date(2024, 5, 1),
        ),
    ],
)
def test_published(html: str, published: date | None) -> None:
    assert read(html).published == published


def test_a_time_keeps_its_offset_and_its_day() -> None:
    found = read(json_ld(datePublished="2024-05-01T00:00:00+02:00", dateModified="2024-05-02T23:30:00-08:00"))
    assert found.published is not None
    assert found.published.isoformat() == "2024-05-01T00:00:00+02:00"
    assert found.modified is not None
    assert found.modified.isoformat() == "2024-05-02T23:30:00-08:00"
    assert (found.published_day, found.modified_day) == (DAY, date(2024, 5, 2))
    assert type(found.published_day) is date


@pytest.mark.parametrize(
    ("html", "url", "published"),
    [
        ("<html lang=en-GB>", URL, date(2024, 6, 5)),
        ("<html lang=en-US>", URL, date(2024, 5, 6)),
        ("<html lang=en>", "https://a.co.uk/x", date(2024, 6, 5)),
        ("<html lang=fr>", URL, date(2024, 6, 5)),
        (meta("og:locale", "de_DE"), URL, date(2024, 6, 5)),
        ("<html>", URL, None),
        ("<html lang=en>", "http://[", date(2024, 5, 6)),
    ],
)
def test_language_and_country_say_which_number_is_the_month(
    html: str, url: str, published: date | None
) -> None:
    assert read(html + meta("date", "05/06/2024"), url=url).published == published


def test_the_date_of_an_address_is_that_of_publication_where_no_other_is_declared() -> None:
    url = "https://a.test/2024/05/01/x"
    assert read("", url=url).published == date(2024, 5, 1)
    assert read(meta("article:published_time", "2024-05-02"), url=url).published == date(2024, 5, 2)


@pytest.mark.parametrize(
    ("html", "modified"),
    [
        (json_ld(dateModified="2024-05-01T08:00:00Z"), MORNING),
        (meta("og:updated_time", "1714550400"), MORNING),
        ("<time datetime=2024-05-01 class=updated>1 May</time>", date(2024, 5, 1)),
    ],
)
def test_modified(html: str, modified: date) -> None:
    assert read(html).modified == modified
    assert read(html).published is None


@pytest.mark.parametrize(
    ("html", "url", "canonical"),
    [
        ("<link rel=canonical href=/x>", URL, "https://www.a.test/x"),
        ("<link rel=Canonical href='d e.html'>", URL, "https://www.a.test/b/d%20e.html"),
        ("<base href=/z/><link rel=canonical href=x>", URL, "https://www.a.test/z/x"),
        ("<link rel=canonical href=//b.test/x>", URL, "https://b.test/x"),
        ("<link rel=canonical href=javascript:alert(1)>" + meta("og:url", "/y"), URL, "https://www.a.test/y"),
        ("<link rel=canonical href=/x>", "", None),
        ("<link rel=canonical href=https://b.test/x>", "", "https://b.test/x"),
        ("<link rel=canonical href='http://[x'>", URL, None),
        ("<link rel=canonical href=data:text/html,x>", URL, None),
        (f"<link rel=canonical href=/{'x' * 2048}>", URL, None),
        (f"<link rel=canonical href=/{'x' * 200_000}>", URL, None),
        ("<a rel=canonical href=/x>", URL, None),
    ],
)
def test_canonical_url(html: str, url: str, canonical: str | None) -> None:
    assert read(html, url=url).canonical_url == canonical


@pytest.mark.parametrize(
    "html",
    [
        meta("og:image", "i.png"),
        json_ld(image=["i.png", "j.png"]),
        json_ld(image={"@type": "ImageObject", "url": "i.png"}),
        json_ld(**{"@id": "#i", "@type": "ImageObject", "contentUrl": "i.png"})
        + json_ld(image={"@id": "#i"}),
        json_ld(**{"@id": "#i", "@type": "ImageObject", "url": "i.png"}) + json_ld(image="#i"),
        json_ld(image={"@type": "ImageObject", "url": ["i.png"]}),
        meta("og:image", "\\b\\i.png"),
        "<link rel=image_src href=i.png>",
        "<div itemscope itemtype=//schema.org/Recipe><img itemprop=image src=i.png></div>",
        meta("og:image", "data:image/png;base64,AAAA") + meta("twitter:image", "i.png"),
        meta("og:image", "https://s0.wp.com/i/blank.jpg") + meta("twitter:image", "i.png"),
        meta("og:image", "/spacer.gif") + json_ld(image="i.png"),
    ],
)
def test_image(html: str) -> None:
    assert read(html).image == "https://www.a.test/b/i.png"


@pytest.mark.parametrize(("path", "author"), [("/", None), ("/tag/foxes/", None), ("/foxes/", "Ann Lee")])
def test_a_list_of_pages_has_no_author_of_theirs(path: str, author: str | None) -> None:
    assert read(BYLINE, url=f"https://a.test{path}", level=MetadataLevel.FULL).author == author
    declared = read(meta("author", "Bo") + BYLINE, url=f"https://a.test{path}", level=MetadataLevel.FULL)
    assert declared.author == "Bo"


@pytest.mark.parametrize("text", ["Just another WordPress site", "Description", "&#x200b;", "--"])
def test_a_description_that_nobody_wrote_is_none(text: str) -> None:
    assert read(meta("description", text)).description is None
    assert read(meta("description", text) + meta("og:description", "On foxes")).description == "On foxes"


def test_a_tag_has_letters_and_is_not_the_category_of_what_has_none() -> None:
    assert read(meta("keywords", "#, foxes, Uncategorized, -, Без рубрики, 2024")).tags == ("foxes", "2024")


def test_description() -> None:
    assert read(meta("description", " a &amp;amp; b\n<b>c</b> ")).description == "a & b c"
    assert read(json_ld(description="d") + meta("description", "")).description == "d"
    assert read(meta("description", f"a &amp;#{'9' * 5_000}; b")).description == "a \ufffd b"
    long = read(meta("description", "word " * 200_000)).description
    assert long is not None
    assert 1990 < len(long) <= 2000


@pytest.mark.parametrize(
    "html",
    [
        meta("og:site_name", "Site"),
        json_ld(publisher={"@type": "Organization", "name": "Site"}),
        json_ld(**{"@type": "WebSite", "name": "Site"}),
        json_ld(**{"@type": ["WebSite"], "name": "Site"}),
        json_ld(**{"@type": "https://schema.org/WebSite", "name": "Site"}),
        meta("application-name", "Site"),
    ],
)
def test_site_name(html: str) -> None:
    assert read(html).site_name == "Site"


def test_references_to_characters_do_not_part_tags() -> None:
    assert read(json_ld(keywords="Q&amp;A, R&#038;D")).tags == ("Q&A", "R&D")


def test_tags() -> None:
    html = (
        meta("article:tag", "One")
        + meta("keywords", "one, two;、three")
        + json_ld(keywords=["four", "five,one"])
    )
    assert read(html + "<a rel=tag>six</a>").tags == ("One", "two", "three", "four", "five", "six")
    many = "".join(meta("article:tag", f"t{number}") for number in range(10_000))
    assert read(many + meta("og:type", "article")).tags == tuple(f"t{number}" for number in range(50))


@pytest.mark.parametrize(
    ("html", "page_type"),
    [
        (json_ld(**{"@type": "NewsArticle"}) + meta("og:type", "website"), "NewsArticle"),
        (json_ld(**{"@type": "https://schema.org/Product"}), "Product"),
        (json_ld(**{"@type": "WebPage"}) + meta("og:type", "Article"), "article"),
        (json_ld(**{"@type": "WebPage"}), "WebPage"),
        (json_ld(**{"@type": "BreadcrumbList"}), None),
        (json_ld(**{"@type": {"a": 1}}), None),
    ],
)
def test_page_type(html: str, page_type: str | None) -> None:
    assert read(html).page_type == page_type


CC = "https://creativecommons.org/licenses/by/4.0/"


@pytest.mark.parametrize(
    ("html", "license"),
    [
        (f"<a rel='license noopener' href={CC}>CC BY</a>", CC),
        (f"<link rel=license href={CC}>", CC),
        (json_ld(license=CC), CC),
        (json_ld(license={"@type": "CreativeWork", "name": "CC BY 4.0"}), "CC BY 4.0"),
        (json_ld(license={"@type": "CreativeWork", "url": CC}), CC),
        (meta("dcterms.license", "CC BY 4.0"), "CC BY 4.0"),
        (meta("dcterms.license", "All rights reserved."), None),
    ],
)
def test_license(html: str, license: str | None) -> None:  # noqa: A002 the name of the field
    assert read(html).license == license


@pytest.mark.parametrize(
    ("html", "robots"),
    [
        (meta("robots", "NOINDEX, nofollow,,max-snippet:-1"), ("noindex", "nofollow", "max-snippet:-1")),
        (meta("robots", "none"), ("noindex", "nofollow")),
        (meta("robots", "noindex") + meta("robots", "noarchive, noindex"), ("noindex", "noarchive")),
        (meta("googlebot", "noindex"), ()),
    ],
)
def test_robots(html: str, robots: tuple[str, ...]) -> None:
    assert read(html).robots == robots


def test_what_stands_in_drawings_and_templates_is_not_of_the_page() -> None:
    inside = meta("author", "Ann")
    assert read(f"<svg><desc>{inside}</desc></svg><template>{inside}</template>").author in (None, "Ann")
    assert read(f"<template>{inside}</template>").author is None


BYLINE = "<h1>On foxes</h1><p class=byline>By Ann Lee</p><span class=post-date>May 1, 2024</span>"


def test_bylines_are_read_where_nothing_is_declared_and_all_is_asked_for() -> None:
    assert read(BYLINE) == Metadata()
    found = read(BYLINE, level=MetadataLevel.FULL)
    assert (found.author, found.published) == ("Ann Lee", date(2024, 5, 1))
    declared = read(BYLINE + json_ld(author="Bo", datePublished="2024-06-01"), level=MetadataLevel.FULL)
    assert (declared.author, declared.published) == ("Bo", date(2024, 6, 1))


@pytest.mark.parametrize(
    ("html", "author", "shown"),
    [
        ("<p class=byline hidden>By Ann Lee", "Ann Lee", None),
        ("<p class=comment-author>Bo Ray<p class=byline>By Ann Lee", "Ann Lee", "Ann Lee"),
        ("<p class=author>作者 林中", "林中", "林中"),
        ("<blockquote>Nice!<cite class=author>Bo Ray</cite></blockquote>", None, None),
        ("<p>Nice!<p class=review_rating-author>Bo Ray<p class=byline>By Ann Lee", "Ann Lee", "Ann Lee"),
        ("<div class=testimonial><p>Nice!<p class=author>Bo Ray</div>", None, None),
        ("<div class='preview reviewed'><p class=author>Bo Ray</div>", "Bo Ray", "Bo Ray"),
        ("<div class=review-header><h1>Foxes</h1><p class=byline>By Ann Lee</div>", "Ann Lee", "Ann Lee"),
        ("<div class='reviewed-by'><p class='byline reviewer'>Ann Lee</div>", "Ann Lee", "Ann Lee"),
        ("<article class=review><p class=author>Ann Lee</article>", "Ann Lee", "Ann Lee"),
        ("<div style='visibility:hidden'><p class=byline>By Ann Lee", "Ann Lee", None),
        (
            "<div style='visibility:hidden'><p class=byline style='visibility:visible'>Ann Lee",
            *["Ann Lee"] * 2,
        ),
        (
            "<p class=byline>By Ann <i hidden>B</i> <i style='visibility:hidden'>C</i> Lee",
            "Ann B C Lee",
            "Ann Lee",
        ),
        ("<p class=byline hidden>By Ann Lee<p class=byline>By Ann Lee", "Ann Lee", "Ann Lee"),
        ("<p itemprop=author hidden>Ann Lee", "Ann Lee", None),
        ("<a rel=author hidden>Ann Lee", "Ann Lee", None),
        ("<p hidden><meta itemprop=author content='Ann Lee'>", "Ann Lee", "Ann Lee"),
    ],
)
def test_hidden_text_is_metadata_unless_it_is_dropped(
    html: str, author: str | None, shown: str | None
) -> None:
    for drop_hidden, expected in ((False, author), (True, shown)):
        options = DocumentOptions(metadata=MetadataLevel.FULL, drop_hidden=drop_hidden)
        page = segment(html.encode(), options=options)
        assert page.metadata is not None
        assert page.metadata.author == expected
