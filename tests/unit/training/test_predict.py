import io
import lzma

import numpy as np
import orjson
import pytest

from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import ModelVersion, Prediction
from dehusk.training.predict import write_predictions


class WordCounter:
    """Content is a block of more than one word."""

    async def label(self, pages):
        model = ModelVersion("counter", "1")
        return [Prediction((page.words > 1).astype(np.float32), model, "onnx") for page in pages]


def block(text, path=("html", "body", "p"), label=0):
    return {"path": list(path), "text": text, "label": label}


async def predicted(file, content, labeler=None):
    file.write_bytes(content)
    output = io.BytesIO()
    await write_predictions(file, labeler or WordCounter(), output)
    return [orjson.loads(line) for line in output.getvalue().splitlines()]


def lines(*pages):
    return b"\n".join(map(orjson.dumps, pages))


@pytest.mark.parametrize("compressed", [bytes, lzma.compress])
async def test_every_block_gets_a_label_in_order_blank_ones_0(tmp_path, capsys, compressed):
    pages = [
        {"id": f"p{n}", "blocks": [block("a b"), block(" \n"), block("a"), block("a b c")]} for n in range(20)
    ]
    pages.append({"id": "none", "blocks": []})
    found = await predicted(tmp_path / "any.name", compressed(lines(*pages)))
    assert found[:-1] == [{"id": f"p{n}", "labels": [1, 0, 0, 1]} for n in range(20)]
    assert found[-1] == {"id": "none", "labels": []}
    assert capsys.readouterr().err == ""


async def test_pages_give_their_text_and_broken_ones_a_message(tmp_path, capsys):
    content = lines(
        {"id": "1", "url": "http://example.org/", "html": "<p>the mill</p><p>imprint</p><p>turns again</p>"},
        {"id": "2", "url": "http://example.org/"},
        {"id": "3", "html": "<p>without an address</p>"},
        {"id": "4", "url": None, "html": ""},
    )
    assert await predicted(tmp_path / "pages", content + b"\n{broken\n[1]\n") == [
        {"id": "1", "text": "the mill\n\nturns again"},
        {"id": "2", "text": ""},
        {"id": "3", "text": "without an address"},
        {"id": "4", "text": ""},
        {"id": None, "text": ""},
        {"id": None, "text": ""},
    ]
    messages = capsys.readouterr().err.splitlines()
    reasons = ["2: wrong-format", "4: no-body", "malformed-message", "malformed-message"]
    assert [message.partition(": line")[0] for message in messages] == reasons


@pytest.mark.parametrize(
    ("blocks", "labels"),
    [
        (None, []),
        ("text", []),
        (
            [block("a b"), None, {"text": "a b"}, {"path": ["p"]}, block(7), block("a b", [1])],
            [1, 0, 0, 0, 0, 0],
        ),
    ],
)
async def test_what_is_no_block_is_labeled_0_with_a_message(tmp_path, capsys, blocks, labels):
    content = lines({"id": "1", "blocks": blocks}, {"id": "2", "blocks": [block("a b")]})
    assert await predicted(tmp_path / "blocks", content) == [
        {"id": "1", "labels": labels},
        {"id": "2", "labels": [1]},
    ]
    assert capsys.readouterr().err.startswith("1: its blocks")


async def test_a_file_may_hold_pages_of_both_kinds_and_end_damaged(tmp_path, capsys):
    pages = {"id": "1", "blocks": [block("a b")]}, {"id": "2", "html": "<p>a b"}, {"id": "3", "blocks": []}
    assert await predicted(tmp_path / "mixed", lzma.compress(lines(*pages) + b"\n")[:-10]) == [
        {"id": "1", "labels": [1]},
        {"id": "2", "text": "a b"},
        {"id": "3", "labels": []},
        {"id": None, "text": ""},
    ]
    assert "cannot be read to its end" in capsys.readouterr().err


async def test_what_the_model_rejects_is_labeled_0_with_a_message(tmp_path, capsys):
    class Rejecting:
        async def label(self, pages):
            return [Broken(BrokenReason.REJECTED_BY_MODEL, "no") for _ in pages]

    content = lines({"id": "1", "blocks": [block("a b")]})
    assert await predicted(tmp_path / "blocks", content, Rejecting()) == [{"id": "1", "labels": [0]}]
    assert capsys.readouterr().err == "1: rejected-by-model: no\n"


async def test_the_published_model_reads_blocks_and_lone_surrogates(tmp_path):
    blocks = b'[{"path": ["html", "p"], "text": "\\ud800 a"}, {"path": [], "text": "b"}]'
    content = b'{"id": "\\ud800", "blocks": ' + blocks + b"}"
    (page,) = await predicted(tmp_path / "blocks", content, OnnxLabeler("boilernet"))
    assert len(page["labels"]) == 2
    assert page["id"] == "\ufffd"


async def rebuilt(file, *pages):
    file.write_bytes(lines(*pages))
    output = io.BytesIO()
    await write_predictions(file, WordCounter(), output, rebuild=True)
    return [orjson.loads(line) for line in output.getvalue().splitlines()]


async def test_for_a_model_of_elements_pages_are_rebuilt_and_labels_come_back_to_the_blocks(tmp_path, capsys):
    linked = ("html", "body", "p", "a")
    blocks = [
        block("Mill", ("html", "head", "title")),
        block("The mill was turned by " * 5),
        block("water", linked),
        block(" "),
        block("Home", ("html", "body", "ul", "li", "a")),
        {"text": "no path"},
        block("again"),
    ]
    found = await rebuilt(tmp_path / "blocks", {"id": "1", "blocks": blocks}, {"id": "2", "blocks": []})
    assert found == [{"id": "1", "labels": [0, 1, 1, 0, 0, 0, 0]}, {"id": "2", "labels": []}]
    assert capsys.readouterr().err.startswith("1: its blocks")


async def test_blocks_are_content_by_their_own_probability_and_not_by_the_text(tmp_path):
    class Doubting:
        async def label(self, pages):
            model = ModelVersion("doubting", "1")
            return [Prediction(np.where(page.words > 30, 0.5, 0.45), model, "onnx") for page in pages]

    file, output = tmp_path / "blocks", io.BytesIO()
    blocks = [block("word " * count) for count in (31, 30, 31)]
    file.write_bytes(lines({"id": "1", "blocks": blocks}))
    await write_predictions(file, Doubting(), output, rebuild=True)
    assert orjson.loads(output.getvalue()) == {"id": "1", "labels": [1, 0, 1]}


async def test_a_page_that_cannot_be_rebuilt_is_labeled_0_with_a_message(tmp_path, capsys):
    blocks = [block("a b", ("html", "textarea", "p")), block("c d", ("html", "textarea", "p"))]
    assert await rebuilt(tmp_path / "blocks", {"id": "1", "blocks": blocks}) == [
        {"id": "1", "labels": [0, 0]}
    ]
    assert capsys.readouterr().err == "1: malformed-message: no page can be made of the paths of its blocks\n"


async def test_the_default_model_labels_blocks(tmp_path):
    story = "The mill stood by the river, and its wheel turned night and day for the whole village. "
    blocks = [block("Home", ("html", "body", "ul", "li", "a"))] * 5 + [
        block(story * 4, ("html", "body", "p"))
    ] * 1
    file = tmp_path / "blocks"
    file.write_bytes(lines({"id": "1", "blocks": blocks}))
    output = io.BytesIO()
    await write_predictions(file, OnnxLabeler("dehusk"), output, rebuild=True)
    assert orjson.loads(output.getvalue()) == {"id": "1", "labels": [0, 0, 0, 0, 0, 1]}
