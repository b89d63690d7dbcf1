import codecs
import lzma

import orjson
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.encoding.tokens import tag_token, word_token
from dehusk.inference.markup.elements import MAX_PATH
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Encoding
from dehusk.training.pages.gold import Block, GoldPage, collection_of, read_gold, segmented
from tests.encoded import tokens_of


def test_gold_pages_are_read_from_compressed_json_lines(tmp_path):
    line = {
        "id": "7",
        "url": "https://www.Mill.example:8080/x",
        "page_type": "forum",
        "html": "<p>x",
        "main_content": "x",
    }
    file = tmp_path / "pages.jsonl.xz"
    file.write_bytes(lzma.compress(orjson.dumps(line) + b"\n" + orjson.dumps(line | {"url": None}) + b"\n"))
    first, second = read_gold([file])
    assert first == GoldPage("7", "mill.example", "forum", "<p>x", "x", "pages", url=line["url"])
    assert first.may_call_posts_comments
    assert (second.site, second.url) == ("7", "")


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"page_type": "listing", "kind": "blog"}, "listing"),
        ({"kind": "blog"}, "article"),
        ({"kind": "news"}, "article"),
        ({"kind": "recipe"}, "article"),
        ({"kind": "docs"}, "documentation"),
        ({"kind": "wiki"}, "documentation"),
        ({"kind": "documentation"}, "documentation"),
        ({"kind": "forum"}, "forum"),
        ({"kind": "product", "page_kind": "content"}, "product"),
        ({"kind": "service"}, "service"),
        ({"kind": "other"}, ""),
        ({"kind": "course"}, ""),
        ({"kind": "blog", "page_kind": "index"}, ""),
        ({"page_type": "listing", "page_kind": "index"}, "listing"),
        ({}, ""),
    ],
)
def test_the_kind_of_a_page_is_its_type_or_that_of_its_site(tmp_path, fields, kind):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(orjson.dumps({"id": "1", "html": "<p>x", "main_content": "x", **fields}))
    (page,) = read_gold([file])
    assert page.page_kind == kind
    assert page.page_type == fields.get("page_type", "")


@pytest.mark.parametrize(
    ("name", "collection"),
    [
        ("cleaneval-train.jsonl.xz", "cleaneval"),
        ("cleaneval-val.jsonl.xz", "cleaneval"),
        ("my-pages.jsonl", "my-pages"),
        ("test.jsonl.xz", "test"),
    ],
)
def test_a_collection_has_the_name_of_its_files_without_their_part(name, collection):
    assert collection_of(name) == collection


def test_blank_lines_and_a_byte_order_mark_are_no_pages(tmp_path):
    file = tmp_path / "pages.jsonl"
    line = orjson.dumps({"id": 7, "blocks": [{"path": ["p"], "text": "x", "label": 1}]})
    file.write_bytes(codecs.BOM_UTF8 + line + b"\n\n" + line + b"\n \n")
    assert [page.id for page in read_gold([file])] == ["7", "7"]


def test_pages_of_blocks_are_rebuilt(tmp_path):
    blocks = [
        {"path": ["html", "body", "div"], "text": "Home", "label": 0},
        {"path": ["html", "body", "p"], "text": "The mill", "label": 1},
        {"path": ["html", "body", "p"], "text": "turns.", "label": 1},
    ]
    file = tmp_path / "blocks.jsonl.xz"
    file.write_bytes(lzma.compress(orjson.dumps({"id": "ce_1", "blocks": blocks})))
    (page,) = read_gold([file])
    assert (page.id, page.site, page.page_type, page.text) == ("ce_1", "ce_1", "", "The mill\nturns.")
    assert segment(page.html.encode()).texts == ("Home", "The mill", "turns.")


@pytest.mark.parametrize(
    "active", ["<script>x()</script>", "<!-- x -->", "<noscript>x</noscript>", "<svg></svg>"]
)
def test_a_page_with_active_parts_is_as_crawled(active):
    assert not GoldPage("1", "mill.example", "article", "<p>The mill" + active, "The mill").stripped
    assert GoldPage("1", "mill.example", "article", "<p>The mill", "The mill").stripped


def block(text, path=("html", "body", "p")):
    return Block(tuple(path), text)


def test_blocks_are_encoded_by_their_paths_words_and_punctuation():
    encoded = tokens_of(encode(segmented([block("The mill"), block("!", path=["td"])]), (Encoding.TOKENS,)))
    tags = [tag_token(tag) for tag in ("html", "body", "p", "td")]
    words = [word_token(word) for word in ("the", "mill", "!")]
    assert encoded.ids.tolist() == [*tags[:3], *words[:2], tags[3], words[2]]
    assert encoded.block_lengths.tolist() == [5, 2]


def test_of_a_long_path_the_innermost_tags_count():
    encoded = tokens_of(encode(segmented([block("", path=["div"] * 9000 + ["p"])]), (Encoding.TOKENS,)))
    assert encoded.ids.tolist() == [tag_token("div")] * (MAX_PATH - 1) + [tag_token("p")]


def test_only_white_space_is_no_text():
    assert [block(text).has_text for text in ("a", " a\n", "\xa0", "", "\t ")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"html": "<p>x", "main_content": "x"}, "neither an id nor a url"),
        ({"id": "7", "html": "<p>x"}, "no field main_content or expected_text"),
        ({"id": "7", "html": 7, "main_content": "x"}, r"Expected `str`, got `int` - at `\$.html`"),
        (
            {"id": "7", "blocks": [{"path": ["p"], "text": "x"}]},
            r"missing required field `label` - at `\$.blocks",
        ),
        ({"id": "7", "blocks": [{"path": "p", "text": "x", "label": 1}]}, r"at `\$.blocks\[0\].path"),
    ],
)
def test_a_line_that_is_no_page_is_refused_by_its_number_and_field(tmp_path, fields, problem):
    file = tmp_path / "pages.jsonl"
    file.write_bytes(orjson.dumps(fields))
    with pytest.raises(ConfigurationError, match=f"line 1 of .*pages.jsonl is no page: .*{problem}"):
        list(read_gold([file]))
