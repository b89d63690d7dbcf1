"""Whatever a page says of itself, its metadata are sound."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import dehusk.schemas
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.metadata import Metadata, MetadataLevel
from dehusk.schemas.options import DocumentOptions
from tests.unit.schemas.test_documents import DOCUMENT

SCHEMA = Path(dehusk.schemas.__file__).parent / "json" / "cleaned-document.schema.json"
VALIDATOR = Draft202012Validator(json.loads(SCHEMA.read_text()))

# ruff: noqa: SIM905 -- names read better as words than as strings

KEYS = st.sampled_from(
    """
    @id @type @graph mainEntity author name datePublished dateModified description image url publisher
    keywords license
    creator contentUrl thumbnailUrl dateCreated
    """.split()
)
VALUES = st.sampled_from(
    [
        *(
            "Article",
            "https://schema.org/WebPage",
            "WebSite",
            "#a",
            "javascript:alert(1)",
            "../x",
            "//",
            "http://[",
            "\0",
        ),
        *(
            "2024-05-01T10:00:00Z",
            "0000-00-00",
            "99999-01-01",
            "By ",
            "<b>",
            "&#0;",
            "&#xD800;",
            ", ;",
            "\x1b[1m",
        ),
        *("http://[", "x" * 3_000, "\0", "\ud800", "\u202e"),
    ]
)
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | VALUES | st.text(max_size=20)
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)
META = st.tuples(
    st.sampled_from(
        """
        author og:title og:image og:url description article:published_time article:modified_time article:tag
        robots keywords og:type dc.creator dcterms.license og:site_name
        """.split()
    ),
    VALUES | st.text(max_size=30),
)
MARKUP = st.sampled_from(
    [
        *(
            "<div itemscope itemtype=//schema.org/Article>",
            "</div>",
            "<i itemprop='author name'>",
            "</i>",
            "Ann",
        ),
        *(
            "<time datetime=2024-05-01 class=published>",
            "<a rel='author tag license' href=x>",
            "<base href=http://[>",
        ),
        *(
            "<link rel=canonical href='java\0script:x'>",
            "<meta itemprop=datePublished content=x itemscope>",
            "<svg>",
        ),
        *("<b class='byline author'>", "<p>By Ann, 1 May 2024</p>"),
    ]
)


def assert_sound(html: bytes, url: str = "https://a.test/b") -> Metadata:
    for level in (MetadataLevel.FAST, MetadataLevel.FULL):
        metadata = segment(html, url=url, options=DocumentOptions(metadata=level)).metadata
        assert metadata is not None
        VALIDATOR.validate(json.loads(replace(DOCUMENT, metadata=metadata).to_json()))
    return metadata


def script(text: str) -> bytes:
    return b'<script type="application/ld+json">' + text.encode("utf-8", "replace") + b"</script>"


@given(st.lists(TREES, max_size=3), st.sampled_from(["https://a.test/b", "", "http://[", "x:y", "\0"]))
@settings(max_examples=200)
def test_any_json_ld_gives_sound_metadata(trees: list[object], url: str) -> None:
    assert_sound(b"".join(script(json.dumps(tree)) for tree in trees), url)


@given(
    st.text(max_size=300)
    | st.lists(VALUES | st.sampled_from(list('{}[]",:/*\\\n')), max_size=40).map("".join)
)
def test_any_text_in_place_of_json_gives_sound_metadata(text: str) -> None:
    assert_sound(script(text))


@given(st.lists(META, max_size=12), st.lists(MARKUP, max_size=30))
@settings(max_examples=200)
def test_any_markup_gives_sound_metadata(metas: list[tuple[str, str]], markup: list[str]) -> None:
    head = b"".join(
        f"<meta name='{name}' content='{content}'>".encode("utf-8", "replace") for name, content in metas
    )
    assert_sound(head + "".join(markup).encode())


CYCLE = json.dumps(
    [
        {"@id": "#a", "@type": "Article", "author": {"@id": "#b"}, "mainEntity": {"@id": "#a"}},
        {"@id": "#b", "name": {"@id": "#a"}, "author": {"@id": "#b"}},
    ]
)
HOSTILE = {
    "a cycle of ids": script(CYCLE),
    "deep graphs": script('{"@graph":[' * 20_000 + "]}" * 20_000),
    "deep arrays": script("[" * 100_000),
    "comments without an end": script("/*" * 24_000),
    "comments and quotes": script('{"a": "//' * 5_000),
    "commas": script("[" + ", " * 24_000 + "]"),
    "open quotes": script('"\\' * 24_000),
    "many items": script("[" + ",".join(['{"@type": "Article", "author": {"@id": "#a"}}'] * 4_000) + "]"),
    "a megabyte of description": b"<meta name=description content='" + b"<" * 1_000_000 + b"'>",
    "a megabyte of references": b"<meta name=description content='" + b"&amp;amp;" * 100_000 + b"'>",
    "a megabyte of keywords": b"<meta name=keywords content='" + b"a," * 500_000 + b"'>",
    "many tags": b"<meta property=article:tag content=x>" * 10_000,
    "many authors": b"<a rel=author href=x>Ann</a>" * 10_000,
    "many times": b"<time datetime=2024-05-01 class=published>x</time>" * 10_000,
    "many scopes": b"<div itemscope itemprop=author>" * 500 + b"<i itemprop=name>x</i>" * 10_000,
    "a date of spaces": b"<meta name=date content='2024-05-01" + b" " * 8_000 + b"x'>",
    "a long byline": b"<p class=byline>By " + b"<b>x</b>" * 10_000,
    "a base of a megabyte": b"<base href=http://a/" + b"x" * 1_000_000 + b"><link rel=canonical href=y>",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_a_page_that_says_too_much_has_sound_metadata(html: bytes) -> None:
    assert_sound(html)
