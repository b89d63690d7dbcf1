import lzma

import orjson
import pytest

from dehusk.training.boilernet.config import DEFAULT_CONFIG, read_config
from dehusk.training.boilernet.pages import (
    held_out_pages,
    label,
    read_labeled_blocks,
    read_pages,
    training_pages,
    write_pages,
)
from dehusk.training.pages import GoldPage

HTML = """<html><body><nav><a href="/">Home</a></nav><p>The mill turns again.</p><p>It ground flour today.</p>
<footer>All rights reserved by the harbour post</footer></body></html>"""


@pytest.fixture
def data():
    return read_config(DEFAULT_CONFIG).data


def gold(site="mill.example", text="The mill turns again. It ground flour today.", html=HTML):
    return GoldPage(id="1", site=site, page_type="article", html=html, text=text)


def test_blocks_are_labeled_by_the_gold_text():
    page = label(gold(), 2 / 3)
    content = [text for text, kept in zip(page.segmented.texts, page.content, strict=True) if kept]
    assert content == ["The mill turns again.", "It ground flour today."]
    assert page.oracle == 1.0
    assert page.stripped


def test_the_oracle_says_how_much_of_the_gold_text_the_blocks_hold():
    page = label(gold(text="The mill turns again. Nobody wrote this into the page."), 2 / 3)
    assert page.oracle == pytest.approx(2 * 4 / (4 + 10))


def test_labeled_pages_survive_being_written(tmp_path):
    pages = [label(gold(), 2 / 3), label(gold(html=""), 2 / 3)]
    write_pages(tmp_path / "pages.jsonl", pages)
    assert read_pages(tmp_path / "pages.jsonl") == pages


def test_all_pages_of_a_site_are_on_the_same_side_and_about_a_fifth_is_held_out(data):
    pages = [label(gold(f"site{number // 2}.example"), 2 / 3) for number in range(400)]
    trained, held_out = training_pages(pages, data), held_out_pages(pages, data)
    assert not {page.site for page in trained} & {page.site for page in held_out}
    assert len(trained) + len(held_out) == len(pages)
    assert 0.12 < len(held_out) / len(pages) < 0.28


def test_pages_with_doubtful_gold_are_held_out_but_never_trained_on(data):
    doubtful = [
        label(gold(f"site{number}.example", text), 2 / 3)
        for number in range(50)
        for text in (
            "",
            "a text that is not on this page at all",
            "The mill turns again. " + "Lost words. " * 9,
        )
    ]
    assert training_pages(doubtful, data) == []
    assert held_out_pages(doubtful, data)


def test_pages_are_read_with_their_labels_without_blank_blocks(tmp_path):
    page = {
        "id": "7",
        "blocks": [
            labeled_block("the mill", 1),
            labeled_block(" \n", 1),
            labeled_block("imprint"),
            labeled_block("turns", 1),
        ],
    }
    file = tmp_path / "pages.jsonl.xz"
    file.write_bytes(lzma.compress(orjson.dumps(page) + b"\n" + orjson.dumps({"id": "8", "blocks": []})))
    read, empty = read_labeled_blocks([file])
    assert (read.id, read.site, read.validation) == ("7", "7", False)
    assert read.segmented.texts == ("the mill", "imprint", "turns")
    assert read.segmented.paths == ("html/body/p",) * 3
    assert read.content == (True, False, True)
    assert (read.text, read.oracle) == ("the mill\nturns", 1.0)
    assert len(empty.segmented) == len(empty.content) == 0


def labeled_block(text, label=0):
    return {"path": ["html", "body", "p"], "text": text, "label": label}
