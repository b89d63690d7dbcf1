import lzma
import zlib
from dataclasses import fields, replace

import numpy as np
import orjson
import pytest

from dehusk.inference.cleaning import prepare
from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.pages import RawPage
from dehusk.training.dehusk import pages as module
from dehusk.training.dehusk.config import DEFAULT_CONFIG, read_config
from dehusk.training.dehusk.pages import learned_from, prepare_pages, prepared_pages
from dehusk.training.labels import DROPPED, REPAIRED, TAUGHT, Labels

HTML = (
    "<title>Mill</title><nav><a href=/>Home</a></nav><article><h1>The mill</h1><p>It grinds slowly but it "
    "grinds fine, day and night.</p></article><footer>Imprint</footer>"
)
GOLD = "The mill\n\nIt grinds slowly but it grinds fine, day and night."


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
    repaired = {"repaired": Labels(60, ((4, 53),)), "dropped": DROPPED}
    labels = {REPAIRED: repaired, TAUGHT: {}}
    monkeypatch.setattr(module, "read_labels", labels.__getitem__)
    assert prepare_pages([tmp_path / "data.jsonl.xz"], tmp_path / "run", 2 / 3, 0.7, 1) == []
    return {page.id: page for page in prepared_pages(tmp_path / "run")}


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


def test_so_many_pages_of_a_site_are_learned_from(pages):
    config = read_config(DEFAULT_CONFIG)
    few = replace(config, trainer=replace(config.trainer, most_of_a_site=2))
    of_one_site = [replace(page, site="mill.example") for page in pages[:4]]
    some = [replace(of_one_site[0], reliable=False), *of_one_site[1:], *pages[4:6]]
    assert [page.id for page in learned_from(some, few)] == ["1", "2", "4", "5"]


def test_uncertain_labels_and_collections_of_little_importance_count_less(pages):
    config = replace(read_config(DEFAULT_CONFIG), importance={"mills": 0.5})
    page = replace(pages[0], uncertain=pages[0].comment)
    example, certain = page.example(config), pages[0].example(replace(config, importance={}))
    assert example.weights.sum() == pytest.approx(0.5)
    assert certain.weights.sum() == pytest.approx(1)
    share = (example.weights / certain.weights * 2)[page.comment] / (example.weights / certain.weights * 2)[0]
    assert share == pytest.approx(config.trainer.doubtful)


def test_pages_without_gold_text_are_labeled_by_their_teachers(tmp_path, monkeypatch):
    texts = ["Home", "The mill", "It grinds slowly but it grinds fine, day and night.", "Imprint"]
    taught = Labels.of(texts, np.array([False, True, True, False]), np.array([False, True, False, False]))
    monkeypatch.setattr(module, "read_labels", {REPAIRED: {}, TAUGHT: {"taught": taught}}.__getitem__)
    row = {"url": None, "html": HTML, "expected_text": None}
    with lzma.open(tmp_path / "older.jsonl.xz", "wb") as lines:
        lines.write(b"\n".join(orjson.dumps(row | {"id": name}) for name in ("taught", "unknown")))
    prepare_pages([tmp_path / "older.jsonl.xz"], tmp_path / "run", 2 / 3, 0.7, 1)
    known, unknown = prepared_pages(tmp_path / "run")
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
    assert prepare_pages([tmp_path / "data.jsonl.xz"], tmp_path / "run", 2 / 3, 0.7, 1) == []
    blog, short, other, forum = prepared_pages(tmp_path / "run")
    assert [each.id for each in (blog, short, other, forum)] == [
        "blog",
        "blog shortened",
        "blog renamed",
        "forum",
    ]
    assert [each.altered for each in (blog, short, other, forum)] == ["", "shortened", "renamed", ""]
    assert (short.reliable, short.has_gold) == (True, True)
    assert (short.comment.sum(), blog.comment.sum(), forum.comment.sum()) == (12, 12, 0)
    assert other.comment.sum() in (*range(2, 9), 12)
    assert zlib.crc32(b"c:commentlist") not in other.structure.element_tokens
    assert 0 < short.content.sum() < 3 < blog.content.sum()
    for altered in short, other:
        assert list(altered.gold) == altered.labeled_words
    config = read_config(DEFAULT_CONFIG)
    assert short.example(config).importance == config.trainer.altered * blog.example(config).importance
    assert learned_from([blog, short, other, forum], config) == [blog, short, other, forum]
