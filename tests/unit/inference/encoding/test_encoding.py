import zlib
from dataclasses import replace
from math import log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.encoding.encoding import MAX_BLOCK_TOKENS, encode, site_keys
from dehusk.inference.encoding.features import BLOCK_FEATURES, PAGE_FEATURES
from dehusk.inference.encoding.tokens import tag_token, word_id, word_token
from dehusk.inference.native.tokens import tokens, words
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.pages import OF_TREE, Encoding, SegmentedPage, StructureTensors, TokenTensors

DATA = "<script type=application/ld+json>%s</script>"
DTYPES = {
    "word_ids": np.uint32,
    "word_lengths": np.uint8,
    "heading": np.int32,
    "element": np.int32,
    "alike": np.int32,
    "parent": np.int32,
    "element_tokens": np.uint32,
    "element_token_lengths": np.uint8,
    "features": np.uint8,
    "page_features": np.uint8,
}


def page(*blocks: tuple[str, str, int]) -> SegmentedPage:
    texts, paths, linked = zip(*blocks, strict=True) if blocks else ((), (), ())
    return SegmentedPage("", None, texts, paths, linked, (0,) * len(texts), (False,) * len(texts))


def tokens_of(page: SegmentedPage) -> TokenTensors:
    found = encode(page, (Encoding.TOKENS,)).tokens
    assert found is not None
    return found


def test_a_block_is_its_ancestors_tags_and_then_its_words_and_punctuation() -> None:
    encoded = tokens_of(page(("Hello, hello", "html/body/div/div/p", 0), ("…", "html/body", 0)))
    tags = [tag_token(tag) for tag in ("html", "body", "div", "div", "p", "html", "body")]
    text = [word_token(word) for word in ("hello", ",", "hello", "…")]
    assert encoded.ids.tolist() == [*tags[:5], *text[:3], *tags[5:], text[3]]
    assert encoded.block_lengths.tolist() == [8, 3]
    assert encoded.ids.dtype == np.uint32
    assert encoded.block_lengths.dtype == np.uint16


def test_a_page_without_blocks_has_empty_columns() -> None:
    encoded, tokens, keys = encode(page()), tokens_of(page()), site_keys(page())
    assert len(encoded) == 0
    columns = (tokens.ids, encoded.words, encoded.linked_words, keys.texts, keys.structures)
    assert [len(column) for column in columns] == [0] * 5


def test_a_page_has_no_encoding_that_was_not_asked_for() -> None:
    encoded = encode(segment(b"<p>text", with_tree=True))
    assert [getattr(encoded, encoding) for encoding in Encoding] == [None] * len(Encoding)


@pytest.mark.parametrize("encoding", Encoding)
def test_an_encoding_is_the_field_of_its_name(encoding: Encoding) -> None:
    encoded = encode(segment(b"<p>text", with_tree=encoding in OF_TREE), (encoding,))
    assert [each for each in Encoding if getattr(encoded, each) is not None] == [encoding]


def test_tokens_of_a_block_are_bounded_and_its_words_are_not() -> None:
    both = page(("word " * 100_000, "html/body/p", 0), ("next", "html/body", 0))
    assert tokens_of(both).block_lengths.tolist() == [MAX_BLOCK_TOKENS, 3]
    assert encode(both).words.tolist() == [100_000, 1]


@pytest.mark.parametrize(
    ("text", "linked", "expected"),
    [("four words of text", 0, 0), ("four words of text", 18, 4), ("four words of text", 9, 2), ("…", 1, 0)],
)
def test_linked_words_follow_the_share_of_linked_characters(text: str, linked: int, expected: int) -> None:
    assert encode(page((text, "p", linked))).linked_words.tolist() == [expected]


def fingerprint(text: str) -> int:
    return int(site_keys(page((text, "html/body", 0))).texts[0])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("12 Comments", "3 comments"),
        ("Posted 2024-01-02", "posted 2025-11-30"),
        ("a\n  b", "a b"),
        ("ÉTÉ", "été"),
    ],
)
def test_blocks_that_differ_in_case_numbers_or_line_breaks_are_the_same(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), [("home", "about"), ("a b", "ab"), ("", "a"), ("a.", "a")])
def test_other_blocks_are_not_the_same(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def structures_of(*bodies: str) -> list[int]:
    """The structure of the last block of each page."""
    pages = [segment(f"<html><body class={len(body)}>{body}".encode()) for body in bodies]
    return [int(site_keys(page).structures[-1]) for page in pages]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<div class=post-12><p>One", "<div class='post-7 sticky'><p>Two"),
        ("<p>One<div id=post_12>Two</div>", "<div id=post_13>Three"),
        ("<div><div class=menu><ul><li><a href=/>One</a>", "<div><div class=menu><ul><li>Two"),
        ("<main>" + "<div class=a1>" * 9 + "One", "<nav>" + "<div class=a1>" * 9 + "One"),
    ],
)
def test_blocks_in_the_same_tags_and_first_classes_are_in_one_structure(one: str, other: str) -> None:
    assert len(set(structures_of(one, other))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<div class=post><p>One", "<div class=related><p>One"),
        ("<div id=content>One", "<div id=footer>One"),
        ("<h2>One", "<h3>One"),
        ("<nav>" + "<div class=deep>" * 6 + "One", "<main>" + "<div class=deep>" * 6 + "One"),
    ],
)
def test_other_blocks_are_in_structures_of_their_own(one: str, other: str) -> None:
    assert len(set(structures_of(one, other))) == 2


def test_a_structure_is_the_same_in_every_process() -> None:
    assert structures_of("<div class=post><p>One") == [3368401339311719117]


def test_of_a_page_without_elements_the_paths_are_the_structures() -> None:
    keys = site_keys(page(("One", "html/body/p", 0), ("Two", "html/body/p", 0), ("Three", "html/body/li", 0)))
    assert keys.structures[0] == keys.structures[1] != keys.structures[2]


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert fingerprint("Home") == 6749948893202947895


BLOCKS = st.tuples(
    st.text(min_size=1, max_size=40),
    st.sampled_from(["html/body", "html/body/ul/li/a"]),
    st.integers(0, 1_000),
)


@given(BLOCKS)
def test_ids_are_those_of_the_tags_words_and_punctuation(block: tuple[str, str, int]) -> None:
    text, path, _ = block
    expected = [*map(tag_token, path.split("/")), *map(word_token, tokens(text))]
    assert tokens_of(page(block)).ids.tolist() == expected


@given(st.lists(BLOCKS, max_size=10))
def test_columns_fit_together(blocks: list[tuple[str, str, int]]) -> None:
    blocks = [(text, path, min(linked, len(text))) for text, path, linked in blocks]
    encoded, tokens = encode(page(*blocks)), tokens_of(page(*blocks))
    assert tokens.block_lengths.sum() == len(tokens.ids)
    assert (tokens.block_lengths >= 1).all()
    assert encoded.words.tolist() == [len(words(text)) for text, _, _ in blocks]
    assert (encoded.linked_words <= encoded.words).all()
    assert len(site_keys(page(*blocks)).texts) == len(encoded) == len(tokens.block_lengths) == len(blocks)


def structure(html: str) -> StructureTensors:
    found = encode(segment(html.encode())).structure
    assert found is not None
    return found


def test_a_page_of_texts_and_paths_has_no_structure() -> None:
    assert encode(page(("text", "html/body", 0))).structure is None


def test_the_first_and_last_words_of_a_long_block_are_told_without_punctuation() -> None:
    names = [f"w{number}" for number in range(30)]
    tensors = structure(f"<p>{', '.join(names)}<p>…<p>{' '.join(names[:24])}.")
    assert tensors.word_lengths.tolist() == [24, 1, 24]
    told = [*names[:18], *names[-6:]]
    assert tensors.word_ids.tolist() == [*map(word_id, told), 0, *map(word_id, names[:24])]


def test_elements_are_numbered_from_one_with_their_tokens() -> None:
    tensors = structure("<div class=card>one<p>two</div>")
    assert tensors.element.tolist() == [3, 4]
    assert tensors.parent.tolist() == [0, 1, 2, 3]
    names = ["t:html", "t:body", "t:div", "c:card", "t:p"]
    assert tensors.element_tokens.tolist() == [zlib.crc32(name.encode()) for name in names]
    assert tensors.element_token_lengths.tolist() == [1, 1, 2, 1]


def test_every_column_has_its_type_and_length() -> None:
    for html in ("", "<p>one", "<p>one<p>…<table><td>two"):
        encoded = encode(segment(html.encode()))
        tensors = encoded.structure
        assert tensors is not None
        assert tensors.features.shape == (len(encoded), len(BLOCK_FEATURES))
        assert tensors.page_features.shape == (len(PAGE_FEATURES),)
        assert tensors.word_lengths.sum() == len(tensors.word_ids)
        assert tensors.element_token_lengths.sum() == len(tensors.element_tokens)
        assert len(tensors.heading) == len(tensors.element) == len(encoded) == len(encoded.repeat)
        for name, dtype in DTYPES.items():
            column = getattr(tensors, name)
            assert column.dtype == dtype
            assert column.flags.c_contiguous


def test_a_block_repeats_an_earlier_one_where_the_run_is_long_enough() -> None:
    run = (("one two three four " * 5, "p", 0), ("seven eight nine " * 3, "p", 0))
    assert encode(page(*run, *run)).repeat.tolist() == [-1, -1, -1, -1]
    longer = (*run, ("thirty", "p", 0))
    encoded = encode(page(*longer, *longer))
    assert encoded.repeat.tolist() == [-1, -1, -1, 0, 1, 2]
    assert encoded.repeat.dtype == np.int32


def test_cells_of_one_kind_repeat_each_other_on_purpose() -> None:
    row = "<tr>" + "".join(f"<td>run {miles} slow miles then rest" for miles in range(7))
    assert (encode(segment(f"<table>{row}{row}</table>".encode())).repeat == -1).all()
    copies = encode(segment(f"<table>{row}</table><div><table class=print>{row}</table></div>".encode()))
    assert (copies.repeat[7:] >= 0).all()


def test_a_block_that_alone_repeats_one_of_its_kind_is_meant() -> None:
    same = "<p>" + " ".join(f"word{number}" for number in range(40))
    others = "".join(f"<p>text {letter}" for letter in "abcdefghijkl")
    assert (encode(segment(f"<div><p>f{same}{others}<p>g{same}<p>end</div>".encode())).repeat == -1).all()
    copies = encode(segment(f"<div><p>f{same}{others}<p>f{same}<p>end</div>".encode()))
    assert copies.repeat[-3:].tolist() == [0, 1, -1]


def test_what_repeats_one_of_its_kind_near_it_is_meant() -> None:
    verse = "".join(f"<p>{' '.join(f'word{line}{number}' for number in range(20))}" for line in range(2))
    assert (encode(segment(f"<article>{verse}<h2>Again</h2>{verse}</article>".encode())).repeat == -1).all()
    far = encode(segment(f"<article>{verse}{'<h2>Part</h2>' * 10}{verse}</article>".encode()))
    assert far.repeat[-2:].tolist() == [0, 1]
    slide = encode(segment(f"<article>{verse}</article><div class=slide>{verse}</div>".encode()))
    assert slide.repeat[-2:].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a b<p>c", {"log_blocks": log1p(2), "log_words": log1p(3), "longest_block_share": 2 / 3}),
        ("<a href=x>a</a> b", {"link_density": 1 / 3, "has_h1": 0, "any_article": 0, "any_main": 0}),
        (
            "<article><h1>a</h1><p>b</article><article>",
            {"any_article": 1, "log_articles": log1p(2), "has_h1": 1},
        ),
        ("<article><p>a b</article><article>c", {"log_longest_article_words": log1p(2)}),
        ("<div role=main>x", {"any_main": 1}),
        ("<p>" + "word " * 15 + "<p>x", {"paragraph_share": 1 / 2}),
        ("<form><input><button>x</button></form>", {"log_forms": log1p(1), "log_controls": log1p(2)}),
        ("<pre>x</pre><p><code>y</code>", {"log_code": log1p(2)}),
        (
            "<ul><li>a<li>b</ul><table><td>x</table><img>",
            {"log_list_items": log1p(2), "log_tables": log1p(1)},
        ),
        ("<p>x<img><img>", {"log_images": log1p(2)}),
        ("<p>x<p hidden>y", {"hidden_share": 1 / 2}),
        ("x<noscript>three more words</noscript>", {"log_noscript_words": log1p(3)}),
        ("<p>" + "a b c d e f g h i j k l<p>" * 2 + "x", {"repeated_words_share": 12 / 25}),
        ("<p>a<p>b<div>c", {"signatures_share": 2 / 3}),
        ("<meta property=og:type content=article>x", {"og_article": 1, "og_product": 0}),
        ("<meta property=og:type content=product.item>x", {"og_article": 0, "og_product": 1}),
        (
            DATA % '{"@type": "NewsArticle"}',
            {"json_ld_article": 1, "json_ld_product": 0, "log_json_ld_words": log1p(2)},
        ),
        (DATA % '{"@type": "Product"}', {"json_ld_article": 0, "json_ld_product": 1}),
        (DATA % '{"@type": "QAPage"}', {"json_ld_forum": 1, "json_ld_list": 0}),
        (DATA % '{"@type": "ItemList"}', {"json_ld_forum": 0, "json_ld_list": 1}),
    ],
)
def test_a_page_is_described(html: str, expected: dict[str, float]) -> None:
    lowest, highest = np.array([feature.range for feature in PAGE_FEATURES]).T
    values = structure(html).page_features / 255 * (highest - lowest) + lowest
    columns = {feature.name: value for feature, value in zip(PAGE_FEATURES, values.tolist(), strict=True)}
    assert {name: columns[name] for name in expected} == pytest.approx(expected, abs=0.03)


def test_code_that_is_shown_again_is_meant_but_not_with_the_text_around_it() -> None:
    code = f"<pre>{' '.join(f'word{number}' for number in range(40))}</pre>"
    text = f"<p>{' '.join(f'text{number}' for number in range(40))}</p>"
    between = "<h2>x</h2>" * 12
    assert (encode(segment(f"{code}{between}<div><p>Output</p>{code}</div>".encode())).repeat == -1).all()
    assert (encode(segment(f"{text}{code}{between}<div>{text}{code}</div>".encode())).repeat[-2:] >= 0).all()
    assert (encode(segment(f"{code}{between}<div hidden>{code}</div>".encode())).repeat[-1:] >= 0).all()


def test_headings_are_told_as_long_as_they_are_short() -> None:
    encoded = encode(segment(f"<h2>a</h2><p>b</p><h3>{'c ' * 100}</h3>".encode()))
    assert encoded.headings is not None
    assert encoded.headings.tolist() == [True, False, False]
    assert encode(replace(segment(b"<h2>a"), structure=None)).headings is None
