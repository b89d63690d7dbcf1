import lzma
import zlib
from dataclasses import fields, replace
from datetime import UTC, datetime

import numpy as np
import orjson
import pytest

from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.preparing import prepare
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.page_labels import PageLabels, blocks_hash, html_hash
from dehusk.schemas.pages import RawPage
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.training.dehusk.config import DEFAULT_CONFIG, DehuskConfig
from dehusk.training.pages import prepared as module
from dehusk.training.pages.labels import DROPPED, REPAIRED, TAUGHT, Labels
from dehusk.training.pages.prepared import prepare_pages, prepared_pages
from dehusk.training.runs import Preparation

HTML = (
    "<title>Mill</title><nav><a href=/>Home</a></nav><article><h1>The mill</h1><p>It grinds slowly but it "
    "grinds fine, day and night.</p></article><footer>Imprint</footer>"
)
GOLD = "The mill\n\nIt grinds slowly but it grinds fine, day and night."


CONFIG = DehuskConfig.read(DEFAULT_CONFIG)


def label(files, directory, labels=None):
    options = Preparation(files, directory, DEFAULT_CONFIG, 1, labels=labels)
    return prepare_pages(options, CONFIG, content_share=2 / 3, least_oracle=0.7)


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """Pages of a data file: labeled by gold, by repaired labels, dropped, and without gold."""
    rows = [
        {
            "id": name,
            "url": f"https://{name}.example/",
            "page_type": "article",
            "html": HTML,
            "main_content": gold,
        }
        for name, gold in (("gold", GOLD), ("repaired", "Home"), ("dropped", GOLD), ("empty", ""))
    ]
    with lzma.open(tmp_path / "data.jsonl.xz", "wb") as lines:
        lines.writelines(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    repaired = {"data/repaired": Labels(60, ((4, 53),)), "data/dropped": DROPPED}
    labels = {REPAIRED: repaired, TAUGHT: {}}
    monkeypatch.setattr(module, "read_labels", labels.__getitem__)
    assert label([tmp_path / "data.jsonl.xz"], tmp_path / "run") == []
    return {page.id.removeprefix("data/"): page for page in prepared_pages(tmp_path / "run", CONFIG)}


def test_pages_are_labeled_by_their_gold_or_by_hand(prepared):
    content = {name: page.content.tolist() for name, page in prepared.items()}
    assert content == {
        "gold": [False, True, True, False],
        "repaired": [False, True, True, False],
        "dropped": [False] * 4,
        "empty": [False] * 4,
    }
    assert {name for name, page in prepared.items() if page.reliable} == {"gold", "repaired"}
    assert {name for name, page in prepared.items() if page.repaired} == {"repaired", "dropped"}
    assert list(prepared["repaired"].best_gold)[:2] == ["the", "mill"]
    assert list(prepared["gold"].best_gold) == list(prepared["gold"].gold)


def test_a_page_is_encoded_for_training_as_it_is_for_serving(prepared):
    served = prepare(RawPage("https://gold.example/", HTML.encode())).encoded
    trained = prepared["gold"].encoded
    for field in fields(served):
        if field.name != "structure":
            assert np.array_equal(getattr(served, field.name), getattr(trained, field.name)), field.name
    for field in fields(served.structure):
        ours, theirs = (getattr(page.structure, field.name) for page in (served, trained))
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs), field.name


async def test_the_default_model_labels_what_was_prepared(prepared):
    (labels,) = await OnnxLabeler("dehusk").label([prepared["gold"].encoded])
    assert labels.probabilities[1:3].min() > labels.probabilities[[0, 3]].max()


def test_pages_without_gold_text_are_labeled_by_their_teachers(tmp_path, monkeypatch):
    texts = ["Home", "The mill", "It grinds slowly but it grinds fine, day and night.", "Imprint"]
    taught = Labels.of(texts, np.array([False, True, True, False]), np.array([False, True, False, False]))
    monkeypatch.setattr(module, "read_labels", {REPAIRED: {}, TAUGHT: {"older/taught": taught}}.__getitem__)
    row = {"url": None, "html": HTML, "expected_text": None}
    with lzma.open(tmp_path / "older.jsonl.xz", "wb") as lines:
        lines.write(b"\n".join(orjson.dumps(row | {"id": name}) for name in ("taught", "unknown")))
    label([tmp_path / "older.jsonl.xz"], tmp_path / "run")
    known, unknown = prepared_pages(tmp_path / "run", CONFIG)
    assert (known.collection, known.reliable, known.has_gold) == ("older", True, False)
    assert known.content.tolist() == [False, True, True, False]
    assert known.uncertain.tolist() == [False, True, False, False]
    assert not unknown.reliable


def test_a_page_under_comments_is_there_shortened_and_with_comments_of_another_name_too(tmp_path):
    sentences = [
        f"Mill number {number} grinds slowly, but it grinds fine, by day and by night." for number in range(9)
    ]
    remarks = "".join(
        f"<li>I heard number {number}, and it is louder than the others.</li>" for number in range(12)
    )
    prose = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    html = f"<article>{prose}</article><ol class=commentlist>{remarks}</ol>"
    rows = [
        {
            "id": name,
            "url": "https://mill.example/",
            "html": html,
            "kind": kind,
            "main_content": " ".join(sentences),
        }
        for name, kind in (("blog", "blog"), ("forum", "forum"))
    ]
    (tmp_path / "data.jsonl.xz").write_bytes(lzma.compress(b"\n".join(map(orjson.dumps, rows))))
    assert label([tmp_path / "data.jsonl.xz"], tmp_path / "run") == []
    blog, short, other, forum = prepared_pages(tmp_path / "run", CONFIG)
    assert [each.id for each in (blog, short, other, forum)] == [
        "data/blog",
        "data/blog shortened",
        "data/blog renamed",
        "data/forum",
    ]
    assert [each.altered for each in (blog, short, other, forum)] == ["", "shortened", "renamed", ""]
    assert (short.reliable, short.has_gold) == (True, True)
    assert (short.comment.sum(), blog.comment.sum(), forum.comment.sum()) == (12, 12, 0)
    assert other.comment.sum() in (*range(2, 9), 12)
    assert zlib.crc32(b"c:commentlist") not in other.structure.element_tokens
    assert 0 < short.content.sum() < 3 < blog.content.sum()
    for altered in short, other:
        assert list(altered.gold) == altered.labeled_words


def test_labels_by_hand_are_taken_before_all_others(tmp_path, monkeypatch):
    rows = [
        {"id": "with gold", "url": "https://a.example/", "html": HTML, "main_content": GOLD},
        {"id": "without", "url": "https://b.example/", "html": HTML},
        {"id": "unlabeled", "url": "https://c.example/", "html": HTML},
        {"id": "without", "url": "https://d.example/", "html": f"{HTML}<p>Other"},
    ]
    data, labels = tmp_path / "data.jsonl", tmp_path / "labels.jsonl"
    data.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    texts = segment(HTML.encode()).texts
    for_one = PageLabels(
        id="without",
        url=None,
        html_hash=html_hash(HTML.encode()),
        blocks_hash=blocks_hash(texts),
        labels=(1, 0, 0, 1),
        labeled_at=datetime(2026, 11, 23, tzinfo=UTC),
    )
    with open_labels_file(labels) as file:
        file.save(for_one)
        file.save(replace(for_one, id="with gold"))
    monkeypatch.setattr(
        module, "read_labels", {REPAIRED: {"data/with gold": DROPPED}, TAUGHT: {}}.__getitem__
    )
    assert label([data], tmp_path / "run", labels) == []
    prepared = list(prepared_pages(tmp_path / "run", CONFIG))
    given = [True, False, False, True]
    assert [page.content.tolist() for page in prepared] == [given, given, [False] * 4, [False] * 5]
    assert [page.reliable for page in prepared] == [True, True, False, False]
    assert [page.has_gold for page in prepared] == [True, True, False, False]
    assert [list(page.best_gold) for page in prepared[:2]] == [["home", "imprint"]] * 2
    assert list(prepared[0].gold)[:2] == ["the", "mill"]


def test_labels_that_do_not_fit_leave_what_was_prepared_before(tmp_path):
    data, labels = tmp_path / "data.jsonl", tmp_path / "labels.jsonl"
    data.write_bytes(orjson.dumps({"id": "a", "url": "https://a.example/", "html": HTML}))
    with open_labels_file(labels) as file:
        file.save(PageLabels("b", None, "0" * 32, "0" * 32, (1,), datetime(2026, 11, 23, tzinfo=UTC)))
    with pytest.raises(ConfigurationError, match="unknown-page"):
        label([data], tmp_path / "run", labels)
    assert not (tmp_path / "run").exists()
