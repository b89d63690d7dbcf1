"""Labels of `dehusk label`, and the pages of data files."""

import gzip
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import orjson
import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.page_labels import PageLabels, blocks_hash, html_hash
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.training.pages.gold import GoldPage, read_gold
from dehusk.training.pages.labels import (
    DROPPED,
    REPAIRED,
    TAUGHT,
    Labels,
    comment_blocks,
    labels_by_hand,
    listed_comments,
    pages_of,
    read_labels,
    write_labels,
)

TEXTS = ("The mill ", "Home", "It grinds\nslowly.", "Imprint")


@pytest.mark.parametrize(
    ("spans", "content"),
    [
        ((), [False] * 4),
        (((0, 7),), [True, False, False, False]),
        (((0, 7), (11, 26)), [True, False, True, False]),
        (((11, 20),), [False, False, True, False]),
        (((11, 18),), [False] * 4),
        (((0, 33),), [True] * 4),
    ],
)
def test_a_block_is_content_that_lies_in_the_spans_by_more_than_half(spans, content):
    assert Labels(33, spans).content("7", TEXTS).tolist() == content


def test_blocks_may_be_cut_otherwise():
    labels = Labels(33, ((11, 26),))
    assert labels.content("7", ("The mill Home", "It grinds", "slowly.", "Imprint")).tolist() == [
        False,
        True,
        True,
        False,
    ]


def test_labels_of_another_text_are_refused():
    with pytest.raises(ConfigurationError, match="page 7 are for 32 characters"):
        Labels(32, ()).content("7", TEXTS)


def test_a_dropped_page_has_no_content():
    assert not DROPPED.content("7", TEXTS).any()


def test_labels_are_read_as_they_were_written(tmp_path):
    content, uncertain = np.array([False, True, True, False]), np.array([True, False, False, False])
    written = {"7": Labels.of(TEXTS, content, uncertain), "8": DROPPED}
    write_labels(tmp_path / "labels.json", written)
    read = read_labels(tmp_path / "labels.json")
    assert read == written
    assert read["7"].content("7", TEXTS).tolist() == content.tolist()
    assert read["7"].doubted("7", TEXTS).tolist() == uncertain.tolist()


@pytest.mark.parametrize("file", [REPAIRED, TAUGHT], ids=lambda file: file.stem)
def test_published_labels_hold_no_text(file):
    labels = read_labels(file)
    assert len(labels) > 200
    assert DROPPED in labels.values()
    for each in labels.values():
        flat = [place for span in each.spans for place in span]
        assert flat == sorted(flat)
        assert all(0 <= place <= each.characters for place in flat)


HTML = "<nav>Home</nav><p>The mill grinds slowly, it is said in Köln."

LABELS = PageLabels(
    id="a",
    url="https://mill.example/",
    html_hash=html_hash(HTML.encode()),
    blocks_hash=blocks_hash(segment(HTML.encode()).texts),
    labels=(0, 1),
    labeled_at=datetime(2026, 11, 23, tzinfo=UTC),
)


@pytest.fixture
def data(tmp_path):
    """Pages without gold texts: one with an id, one with a URL alone, one that is not labeled."""
    rows = [
        {"id": "a", "url": "https://mill.example/", "html": HTML},
        {"url": "https://mill.example/b c", "html": "\ufeff" + HTML},
        {"id": 7, "url": None, "html": HTML},
    ]
    file = tmp_path / "pages.jsonl.gz"
    file.write_bytes(gzip.compress(b"".join(orjson.dumps(row) + b"\n" for row in rows)))
    return file


@pytest.fixture
def saved(tmp_path):
    """Saves labels, and says where."""

    def save(*pages):
        with open_labels_file(tmp_path / "labels.jsonl") as file:
            for page in pages:
                file.save(page)
        return tmp_path / "labels.jsonl"

    return save


def test_without_a_file_nothing_is_labeled_by_hand(tmp_path):
    assert labels_by_hand(None, [tmp_path / "none"]) == {}


def test_labels_that_fit_their_pages_are_read(data, saved):
    pages = {name: replace(LABELS, id=name) for name in ("a", "https://mill.example/b%20c", "7")}
    assert labels_by_hand(saved(*pages.values()), [data]) == pages


def test_a_torn_last_line_is_passed_over_as_the_labeling_tool_does(data, saved):
    file = saved(LABELS)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:-20])
    assert labels_by_hand(file, [data]) == {"a": LABELS}


def test_pages_have_the_names_by_which_the_labeling_tool_saves_their_labels(tmp_path):
    html = '"html": "<p>The mill \\ud800turns"}'
    lines = [f"{{{field}, {html}" for field in ('"id": 1.50', '"id": "\\ud800"', '"url": "mill"', '"url": 7')]
    file = tmp_path / "pages.jsonl"
    file.write_text("\n".join([*lines, orjson.dumps(lines[0].replace("1.50", "[1]")).decode()]))
    labeled = {page.name: html_hash(page.html) for page in pages_of([file])}
    trained = {page.id: html_hash(page.utf8) for page in read_gold([file], needs_text=False)}
    assert trained == labeled
    assert list(trained) == ["1.5", "\ufffd", "mill", "7", "[1]"]


def test_a_file_without_labels_is_named(data, saved):
    with pytest.raises(ConfigurationError, match=r"labels\.jsonl has no labels of a page"):
        labels_by_hand(saved(), [data])


@pytest.mark.parametrize(
    ("change", "misfit"),
    [
        ({"id": "elsewhere"}, r"unknown-page \(1: .*\): elsewhere$"),
        ({"html_hash": "0" * 32}, r"changed-page \(1: .*\): a$"),
        ({"blocks_hash": "0" * 32}, r"other-blocks \(1: .*\): a$"),
        ({"labels": (1, None)}, r"half-labeled \(1: .*\): a$"),
    ],
)
def test_labels_that_do_not_fit_are_named(data, saved, change, misfit):
    with pytest.raises(ConfigurationError, match=misfit):
        labels_by_hand(saved(replace(LABELS, **change)), [data])


def test_all_that_do_not_fit_are_named_at_once(data, saved):
    half = replace(LABELS, labels=(None, 1))
    with pytest.raises(ConfigurationError, match=r"unknown-page .*: x; half-labeled .*: a$"):
        labels_by_hand(saved(half, replace(LABELS, id="x")), [data])


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
