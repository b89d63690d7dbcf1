import lzma

import orjson
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.training.boilernet.config import DEFAULT_CONFIG, BoilerNetConfig
from dehusk.training.boilernet.labeled_pages import (
    held_out_pages,
    label,
    prepare_pages,
    prepared_pages,
    read_labeled_blocks,
    training_pages,
)
from dehusk.training.pages.gold import GoldPage
from dehusk.training.runs import Preparation, read_sources

BLOCKS_CONFIG = DEFAULT_CONFIG.with_name("boilernet-cleaneval.toml")
HTML = """<html><body><nav><a href="/">Home</a></nav><p>The mill turns again.</p><p>It ground flour today.</p>
<footer>All rights reserved by the harbour post</footer></body></html>"""


@pytest.fixture
def data():
    return BoilerNetConfig.read(DEFAULT_CONFIG).data


def gold(site="mill.example", text="The mill turns again. It ground flour today."):
    return GoldPage(id="1", site=site, page_type="article", html=HTML, text=text)


def test_blocks_are_labeled_by_the_gold_text():
    page = label(gold(), 2 / 3)
    content = [text for text, kept in zip(page.segmented.texts, page.content, strict=True) if kept]
    assert content == ["The mill turns again.", "It ground flour today."]
    assert page.oracle == 1.0
    assert page.stripped


def test_the_oracle_says_how_much_of_the_gold_text_the_blocks_hold():
    page = label(gold(text="The mill turns again. Nobody wrote this into the page."), 2 / 3)
    assert page.oracle == pytest.approx(2 * 4 / (4 + 10))


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


@pytest.mark.timeout(60)
def test_data_files_become_labeled_pages_in_order_with_their_sources(tmp_path):
    lines = [
        {
            "id": str(number),
            "url": f"https://site{number}.example/",
            "page_type": "article",
            "html": f"<p>the mill number {number} turns again</p><p>imprint</p>",
            "main_content": f"the mill number {number} turns again",
        }
        for number in range(9)
    ]
    file = tmp_path / "data.jsonl.xz"
    of_unknown_gold = {**lines[0], "id": "unknown", "main_content": None}
    file.write_bytes(lzma.compress(b"\n".join(map(orjson.dumps, [*lines, of_unknown_gold]))))
    config = BoilerNetConfig.read(DEFAULT_CONFIG)
    broken = prepare_pages(Preparation([file], tmp_path / "made", DEFAULT_CONFIG, 2), config)
    pages = prepared_pages(tmp_path / "made", config)
    assert broken == []
    assert [page.id for page in pages] == [line["id"] for line in lines]
    assert all(page.content == (True, False) for page in pages)
    assert read_sources(tmp_path / "made")[0].startswith("data.jsonl.xz (SHA-256 ")


LINES = {
    "gold": b'{"id": "1", "url": "", "page_type": "", "html": "<p>a", "main_content": "a"}',
    "blocks": b'{"id": "1", "blocks": []}',
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda line: lzma.compress(line)[:-9], "cannot be read to its end"),
        (lambda line: lzma.compress(line + b"\nx"), "line 2 of .* is no page"),
        (lambda line: lzma.compress(line + b"\n[]"), "line 2 of .* is no page"),
        (lambda _: lzma.compress(b'{"id": "1"}'), "line 1 of .* is no page: .*missing required field"),
    ],
)
def test_data_that_cannot_be_read_leave_what_was_prepared_before(tmp_path, kind, spoil, told):
    config = BoilerNetConfig.read(DEFAULT_CONFIG if kind == "gold" else BLOCKS_CONFIG)
    good, bad = tmp_path / "good.jsonl.xz", tmp_path / "bad.jsonl.xz"
    good.write_bytes(lzma.compress(LINES[kind]))
    bad.write_bytes(spoil(LINES[kind]))
    prepare_pages(Preparation([good], tmp_path / "made", DEFAULT_CONFIG, 1), config)
    with pytest.raises(ConfigurationError, match=told):
        prepare_pages(Preparation([bad], tmp_path / "made", DEFAULT_CONFIG, 1), config)
    assert [page.id for page in prepared_pages(tmp_path / "made", config)] == ["1"]


def test_labeled_blocks_are_taken_as_they_are_and_validation_files_held_out(tmp_path):
    def write(name):
        page = {"id": name, "blocks": [{"path": ["html", "p"], "text": "the mill", "label": 1}]}
        file = tmp_path / f"{name}.jsonl.xz"
        file.write_bytes(lzma.compress(orjson.dumps(page)))
        return file

    config = BoilerNetConfig.read(BLOCKS_CONFIG)
    files, held_out = [write("a"), write("b")], [write("c")]
    assert prepare_pages(Preparation(files, tmp_path / "made", BLOCKS_CONFIG, 1, held_out), config) == []
    pages = prepared_pages(tmp_path / "made", config)
    assert [page.id for page in training_pages(pages, None)] == ["a", "b"]
    assert [page.id for page in held_out_pages(pages, None)] == ["c"]
    assert [each.partition(".")[0] for each in read_sources(tmp_path / "made")] == ["a", "b", "c"]
