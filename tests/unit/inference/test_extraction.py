from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from dehusk.inference.document.duplicates import duplicate_keys
from dehusk.inference.document.language import language_of
from dehusk.inference.encoding.encoding import encode
from dehusk.inference.extraction import extract
from dehusk.inference.segmentation.segmentation import segment
from dehusk.inference.selection.selection import calibrate
from dehusk.schemas.documents import CleanedDocument, Comments, Origin, Template
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.pages import ModelVersion, PageIdentity, Prediction, PreparedPage
from dehusk.schemas.sites import BlockFrequencies

IDENTITY = PageIdentity("1", "http://x.test/a", "x.test", datetime(2024, 5, 1, tzinfo=UTC), "fr", 1234)
MODEL = ModelVersion("boilernet", "3")


def labels(*probabilities: float) -> Prediction:
    return Prediction(np.array(probabilities, np.float32), MODEL, "onnx")


def cleaned(
    html: str,
    *probabilities: float,
    frequencies: BlockFrequencies | None = None,
    drop_hidden: bool = False,
) -> CleanedDocument:
    segmented = segment(html.encode())
    return extract(
        PreparedPage(IDENTITY, segmented, encode(segmented)),
        labels(*(probabilities or [1.0] * len(segmented))),
        frequencies,
        origin=Origin("raw-pages", 1, 7),
        degraded=("model",),
        options=DocumentOptions(with_blocks=True, drop_hidden=drop_hidden),
    )


@pytest.mark.parametrize(
    ("probabilities", "text"),
    [
        ((1, 0, 1), "one\n\n- three"),
        ((0, 1, 1), "- two\n- three"),
        ((0, 0, 0), ""),
        ((0.9, 0.3, 0.1), "one"),
        ((0.49996, 0, 0), "one"),
    ],
)
def test_blocks_that_are_not_selected_are_left_out(probabilities: tuple[float, ...], text: str) -> None:
    document = cleaned("<p>one</p><ul><li>two</li><li>three</li></ul>", *probabilities)
    assert document.text == text
    assert document.text_length == len(text)


@pytest.mark.parametrize(
    ("html", "text", "shown"),
    [
        ("<p>one <span style='display:none'>ignore</span> two", "one\nignore\ntwo", "one two"),
        ("<p>one<span hidden>ignore</span> two", "one\nignore\ntwo", "one two"),
        ("<p>one\u3000<span hidden>ignore</span>two", "one\nignore\ntwo", "one two"),
        ("<p>one<span hidden>(ignore)</span>.", "one\n(ignore)\n.", "one."),
        ("<p>one<span hidden>ignore</span> <b>two</b>", "one\nignore\ntwo", "one two"),
        ("<p>one <i hidden>ignore</i> <b hidden>ignore</b> two", "one\nignore ignore\ntwo", "one two"),
        ("<p>one<br><i hidden>ignore</i> two", "one\nignore\ntwo", "one\ntwo"),
        ("<p>one <i hidden>ignore</i><br>two", "one\nignore\ntwo", "one\ntwo"),
        ("<p>one <i hidden>ignore<br>ignore</i> two", "one\nignore\nignore\ntwo", "one\ntwo"),
        ("<li>one <i hidden>ignore</i> two<li>3", "- one\n  ignore\n  two\n- 3", "- one two\n- 3"),
        ("<table><tr><td>a <i hidden>ignore</i> b<td>c", "a ignore b\tc", "a b\tc"),
        ("<div>one</div><div hidden>ignore</div><div>two</div>", "one\nignore\ntwo", "one\ntwo"),
        ("<p>one<p hidden>ignore <b>this</b>", "one\n\nignore this", "one"),
        ("<p>one<div style='visibility: hidden'><p>ignore", "one\n\nignore", "one"),
        ("<ul><li>one<li style='color:red;display:none'>ignore", "- one\n- ignore", "- one"),
        ("<table><tr><td>a<td hidden>ignore<td>b", "a\tignore\tb", "a\t\tb"),
        ("<dialog>ignore</dialog>one", "ignore\none", "one"),
        ("<p hidden>ignore", "ignore", ""),
    ],
)
def test_hidden_text_is_left_to_the_model_or_dropped(html: str, text: str, shown: str) -> None:
    assert cleaned(html).text == text
    document = cleaned(html, drop_hidden=True)
    assert document.text == shown
    assert document.blocks is not None
    assert [block.content for block in document.blocks] == ["ignore" not in b.text for b in document.blocks]
    assert all(block.probability == 1 for block in document.blocks)


@pytest.mark.parametrize(
    ("mode", "text", "comments"),
    [
        (Comments.SEPARATE, "The mill turns.", "Ann\n\nIt does."),
        (Comments.INCLUDE, "The mill turns.\n\nAnn\n\nIt does.", None),
        (Comments.DROP, "The mill turns.", None),
    ],
)
def test_comments_are_a_text_of_their_own_or_part_of_the_text(
    mode: Comments, text: str, comments: str | None
) -> None:
    segmented = segment(b"<p>The mill turns.<p>Ann<p>It does.<p>Imprint")
    answer = replace(labels(1, 0.1, 0.4, 0.1), comments=np.array([0, 0.8, 0.6, 0.2], np.float32))
    page = PreparedPage(IDENTITY, segmented, encode(segmented))
    document = extract(page, answer, options=DocumentOptions(with_blocks=True, comments=mode))
    assert (document.text, document.comments) == (text, comments)
    assert document.blocks is not None
    assert [block.comment for block in document.blocks] == [False, True, True, False]
    assert extract(page, labels(1, 0, 0, 0), options=DocumentOptions(comments=mode)).comments is None


def test_a_page_of_comments_alone_is_a_thread() -> None:
    words = " ".join(f"word{number}" for number in range(40))
    segmented = segment(f"<p>Home<p>{words} one<p>{words} two".encode())
    answer = replace(labels(0.01, 0.2, 0.2), comments=np.array([0, 0.8, 0.6], np.float32))
    document = extract(
        PreparedPage(IDENTITY, segmented, encode(segmented)),
        answer,
        options=DocumentOptions(with_blocks=True),
    )
    assert document.text == f"{words} one\n\n{words} two"
    assert document.comments == ""
    assert document.blocks is not None
    assert [block.comment for block in document.blocks] == [False] * 3


def test_of_two_copies_the_one_that_is_shown_is_kept_where_the_other_is_dropped() -> None:
    words = " ".join(f"word{number}" for number in range(40))
    html = f"<div hidden><p>{words}</p></div><p>between</p><p>{words}</p>"
    assert cleaned(html).text == f"{words}\n\nbetween"
    assert cleaned(html, drop_hidden=True).text == f"between\n\n{words}"


def test_a_document_tells_of_its_page_and_model() -> None:
    document = cleaned("<html lang=en><title>T</title><p>one<p>two", 0.123456, 0.98768)
    assert document.title == "T"
    assert document.language == "en"
    assert (document.id, document.url, document.site) == ("1", "http://x.test/a", "x.test")
    assert (document.raw_length, document.text_length) == (1234, 3)
    assert (document.model, document.labeler, document.degraded) == (MODEL, "onnx", ("model",))
    assert document.source == Origin("raw-pages", 1, 7)
    assert document.blocks is not None
    assert [(block.text, block.probability, block.content) for block in document.blocks] == [
        ("one", 0.1235, False),
        ("two", 0.9877, True),
    ]


def test_the_servers_language_stands_in_for_the_documents() -> None:
    assert cleaned("<p>x").language == "fr"


def test_frequencies_are_told_where_they_are_known() -> None:
    known = BlockFrequencies(9, np.array([1, 5, 2], np.uint32))
    document = cleaned("<p>a<p>b<p>c", frequencies=known)
    assert document.template == Template(pages_seen=9, blocks_matched=2, blocks_dropped=0, blocks_saved=0)
    assert document.blocks is not None
    assert [block.frequency for block in document.blocks] == [1, 5, 2]
    assert cleaned("<p>a").template is None


@pytest.mark.parametrize(
    ("mode", "hidden", "dropped", "saved"),
    [
        (Comments.SEPARATE, False, 2, 1),
        (Comments.SEPARATE, True, 1, 1),
        (Comments.INCLUDE, False, 1, 1),
    ],
)
def test_a_document_tells_what_the_site_changed_of_its_text(
    mode: Comments, *, hidden: bool, dropped: int, saved: int
) -> None:
    segmented = segment(b"<p>The mill turns.<p>Menu of it<p hidden>Sign up<p>It grinds.<p>Ann: it does.")
    answer = replace(
        labels(1, 0.1, 0.1, 0.9, 0.2),
        uncorrected=np.array([1, 0.1, 0.8, 0.1, 0.9], np.float32),
        comments=np.array([0, 0, 0, 0, 0.9], np.float32),
    )
    page = PreparedPage(IDENTITY, segmented, encode(segmented))
    known = BlockFrequencies(9, np.ones(5, np.uint32))
    document = extract(page, answer, known, DocumentOptions(drop_hidden=hidden, comments=mode))
    assert document.template == Template(9, 0, blocks_dropped=dropped, blocks_saved=saved)
    assert "It grinds." in document.text
    assert extract(page, answer, None).template is None


def test_labels_that_do_not_fit_the_page_are_an_error() -> None:
    with pytest.raises(ValueError, match="mismatch"):
        cleaned("<p>a<p>b", 1.0)


def test_the_same_page_gives_the_same_bytes() -> None:
    assert cleaned("<p>a<p>b", 0.3, 0.7).to_json() == cleaned("<p>a<p>b", 0.300001, 0.700001).to_json()


def test_the_language_is_that_of_the_text_and_the_declared_one_is_kept() -> None:
    german = "Die Bibliothek öffnet um neun Uhr morgens, und Kinder dürfen bis zu zehn Bücher ausleihen."
    document = cleaned(f"<html lang=en><p>Home<p>{german}", 0, 1)
    assert (document.language, document.declared_language) == ("de", "en")
    short = cleaned("<html lang=en><p>Kurz")
    assert (short.language, short.declared_language) == ("en", "en")
    assert document.language_probability == language_of(document.text, "en").probability is not None
    assert short.language_probability is None


def test_the_declared_language_keeps_its_region() -> None:
    assert cleaned("<html lang=pt-br><p>Curto").declared_language == "pt-BR"
    chinese = cleaned("<html lang=zh_hant_tw><p>圖書館早上九點開門")
    assert (chinese.language, chinese.declared_language) == ("zh", "zh-Hant-TW")


def test_the_keys_of_duplicates_are_those_of_the_text() -> None:
    one, other = cleaned("<nav>A</nav><p>one two three", 0, 1), cleaned("<p>one two three<p>More", 1, 0)
    assert one.content_hash == other.content_hash == duplicate_keys("one two three").content_hash
    assert one.simhash == other.simhash is not None
    empty = cleaned("<p>one", 0)
    assert (empty.text, empty.content_hash, empty.simhash) == ("", None, None)


def test_metadata_are_those_of_the_page() -> None:
    segmented = segment(b"<meta name=author content=Ann><p>x", options=DocumentOptions())
    page = PreparedPage(IDENTITY, segmented, encode(segmented))
    assert extract(page, labels(1), None).metadata == segmented.metadata == Metadata(author="Ann")


PARAGRAPHS = "<p>one two three four</p><p>five six</p><p>seven</p>"


def test_the_expected_f1_is_that_of_the_words_of_the_text() -> None:
    document = cleaned(PARAGRAPHS, 0.9, 0.8, 0.1)
    assert document.text == "one two three four\n\nfive six"
    right, kept, expected = 0.9 * 4 + 0.8 * 2, 6, 0.9 * 4 + 0.8 * 2 + 0.1
    assert document.expected_f1 == round(calibrate(2 * right / (kept + expected)), 3)


def test_the_surer_the_model_the_greater_the_expected_f1() -> None:
    unsure, sure = (cleaned(PARAGRAPHS, *each).expected_f1 for each in ((0.6, 0.6, 0.4), (1.0, 1.0, 0.0)))
    assert unsure is not None
    assert sure is not None
    assert unsure < sure


def test_a_page_without_content_has_no_expected_f1() -> None:
    assert cleaned(PARAGRAPHS, 0.0, 0.0, 0.0).expected_f1 is None


def test_labelers_without_a_model_let_expect_nothing() -> None:
    segmented = segment(PARAGRAPHS.encode())
    page = PreparedPage(IDENTITY, segmented, encode(segmented))
    assert extract(page, replace(labels(1.0, 1.0, 0.0), labeler="rules")).expected_f1 is None


def test_the_kind_is_the_likeliest_one_and_its_probability_is_rounded() -> None:
    segmented = segment(PARAGRAPHS.encode())
    page = PreparedPage(IDENTITY, segmented, encode(segmented))
    kinds = np.array([0.1, 0, 0, 0.1234, 0.6766, 0.05, 0.05], np.float32)
    document = extract(page, replace(labels(1.0, 1.0, 0.0), page_kinds=kinds))
    assert (document.page_kind, document.page_kind_probability) == ("listing", 0.677)
    above = np.array([1.0000001, 0, 0, 0, 0, 0, 0], np.float32)
    document = extract(page, replace(labels(1.0, 1.0, 0.0), page_kinds=above))
    assert (document.page_kind, document.page_kind_probability) == ("article", 1.0)
    document = extract(page, labels(1.0, 1.0, 0.0))
    assert (document.page_kind, document.page_kind_probability) == (None, None)


def links_of(html: str, *probabilities: float) -> list[tuple[str, str, int]]:
    options = DocumentOptions(with_links=True)
    segmented = segment(html.encode(), options=options)
    given = labels(*(probabilities or [1.0] * len(segmented)))
    document = extract(PreparedPage(IDENTITY, segmented, encode(segmented)), given, options=options)
    assert document.links is not None
    return [(link.url, link.text, link.block) for link in document.links]


def test_links_of_the_text_come_with_their_blocks() -> None:
    html = (
        "<nav><a href=/>Home</a></nav><p>See <a href=b#c>this <b>page</b></a> or <a href=//y.test/z>that</a>."
        "<p>No link.<p><a href='mailto:a@x.test'>Write</a>"
    )
    assert links_of(html, 0, 1, 1, 1) == [
        ("http://x.test/b#c", "this page", 1),
        ("http://y.test/z", "that", 1),
        ("mailto:a@x.test", "Write", 3),
    ]


def test_links_that_no_reader_may_follow_are_left_out() -> None:
    assert links_of("<p><a href='javascript:x()'>Run</a> <a href='http://['>odd</a> <a>none</a>") == []


def test_a_link_around_blocks_is_one_of_each() -> None:
    assert links_of("<a href=/b><h2>Foxes</h2><p>Red</p></a>") == [
        ("http://x.test/b", "Foxes", 0),
        ("http://x.test/b", "Red", 1),
    ]


def test_links_are_relative_to_the_base_of_the_page() -> None:
    assert links_of("<base href=/deep/><p><a href=b>text</a>") == [("http://x.test/deep/b", "text", 0)]


def test_links_are_bounded_in_number_and_length() -> None:
    few = "".join(f"<p><a href=/{number}>text</a>" for number in range(5_001))
    assert links_of(few)[-1] == ("http://x.test/4999", "text", 4999)
    long = "x" * 1_990
    assert links_of(f"<base href='/{long}/'><p><a href={long}>far</a> <a href=/{long}>near</a>") == [
        (f"http://x.test/{long}", "near", 0)
    ]


def test_links_are_there_where_they_are_asked_for() -> None:
    document = cleaned("<p>See <a href=/b>this</a>.")
    assert document.links is None
    assert "links" not in document.to_dict()
