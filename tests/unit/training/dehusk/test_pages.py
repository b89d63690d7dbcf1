import lzma
from dataclasses import fields

import numpy as np
import orjson
import pytest

from inference.cleaning import prepare
from inference.onnx import OnnxLabeler
from schemas.pages import RawPage
from training.dehusk import pages as module
from training.dehusk.pages import prepare_pages, prepared_pages
from training.labels import DROPPED, Labels

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
    monkeypatch.setattr(module, "read_labels", lambda: repaired)
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
