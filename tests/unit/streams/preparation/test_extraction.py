"""The document of a page that was packed."""

from dataclasses import replace

import numpy as np
import orjson
import pytest

from dehusk.inference.preparing import prepare
from dehusk.schemas.documents import Origin
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions, Rendering
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import ModelVersion, Prediction, PreparedPage, RawPage
from dehusk.schemas.sites import BlockFrequencies
from dehusk.streams.preparation.steps import LabeledPage, PackedPage, Writing, WrittenDocument, pack

MARKED = DocumentOptions(rendering=Rendering(markdown=True, html=True))
BLOCKS = DocumentOptions(with_blocks=True)


def labeled(page: PackedPage, probability: float = 1.0) -> LabeledPage:
    size = len(page.encoded)
    labels = Prediction(np.full(size, probability, np.float32), ModelVersion("m", "2"), "triton")
    frequencies = BlockFrequencies(5, np.full(size, 3, np.uint32))
    return LabeledPage(page.packed, labels, frequencies, ("model",), Origin("raw", 3, 41), revision=2)


def document(writing: Writing, page: LabeledPage) -> WrittenDocument:
    made = writing.extract(page)
    assert isinstance(made, WrittenDocument)
    return made


def test_a_document_tells_what_the_dependencies_said(page: PackedPage) -> None:
    written = document(Writing(), labeled(page))
    fields = orjson.loads(written.value)
    assert fields["source"] == {"topic": "raw", "partition": 3, "offset": 41}
    assert fields["template"] == {
        "pages_seen": 5,
        "blocks_matched": len(page.encoded),
        "blocks_dropped": 0,
        "blocks_saved": 0,
    }
    assert fields["degraded"] == ["model"]
    assert fields["revision"] == 2
    assert "blocks" not in fields
    assert not written.is_empty
    assert written.characters == len(fields["text"]) > 0


def test_a_document_without_text_is_empty(page: PackedPage) -> None:
    assert document(Writing(), labeled(page, 0.0)).is_empty


@pytest.mark.parametrize(
    ("before", "after", "effects"), [(1.0, 0.0, (0, 0)), (0.0, 1.0, (0, 2)), (1.0, 1.0, (0, 0))]
)
def test_what_the_site_changed_is_told_beside_the_document(
    page: PackedPage, before: float, after: float, effects: tuple[int, int]
) -> None:
    corrected = labeled(page, after)
    alone = np.full(len(page.encoded), before, np.float32)
    written = document(Writing(), replace(corrected, labels=replace(corrected.labels, uncorrected=alone)))
    template = orjson.loads(written.value)["template"]
    assert (template["blocks_dropped"], template["blocks_saved"]) == effects
    assert (written.blocks_dropped, written.blocks_saved) == effects


@pytest.mark.parametrize("with_markup", [True, False])
def test_markdown_and_html_are_written_of_pages_with_their_markup(html: bytes, *, with_markup: bool) -> None:
    page = prepare(RawPage("https://example.org/a", html), options=MARKED if with_markup else DEFAULT_OPTIONS)
    assert isinstance(page, PreparedPage)
    writing = Writing(options=MARKED)
    made = writing.extract(labeled(pack(page)))
    if with_markup:
        assert isinstance(made, WrittenDocument)
        fields = orjson.loads(made.value)
        assert fields["markdown"]
        assert fields["html"].startswith("<")
    else:
        assert isinstance(made, Broken)
        assert made.reason is BrokenReason.INTERNAL_ERROR


def test_blocks_are_listed_where_asked_for(page: PackedPage) -> None:
    assert "blocks" in orjson.loads(document(Writing(options=BLOCKS), labeled(page)).value)


@pytest.mark.parametrize("drop_hidden", [True, False])
def test_hidden_text_is_dropped_where_it_is_to_be(html: bytes, *, drop_hidden: bool) -> None:
    hidden = prepare(RawPage("https://example.org/a", html.replace(b"</p>", b"</p><p hidden>Disregard")))
    assert isinstance(hidden, PreparedPage)
    written = document(Writing(options=DocumentOptions(drop_hidden=drop_hidden)), labeled(pack(hidden)))
    assert (b"Disregard" in written.value) is not drop_hidden


def test_an_unsure_block_among_comments_of_its_kind_is_one_after_travelling() -> None:
    html = b"<p>The mill turns slowly.</p><ol><li>It does, Ann.<li>It does not.<li>It grinds fine.</ol>"
    page = prepare(RawPage("https://example.org/a", html))
    assert isinstance(page, PreparedPage)
    content, comments = np.array([[0.9, 0.2, 0.2, 0.2], [0.0, 0.9, 0.4, 0.9]], np.float32)
    answer = Prediction(content, ModelVersion("dehusk", "1"), "onnx", comments)
    fields = orjson.loads(document(Writing(options=BLOCKS), LabeledPage(pack(page).packed, answer)).value)
    assert [block["comment"] for block in fields["blocks"]] == [False, True, True, True]


def test_a_document_beyond_the_largest_is_broken(page: PackedPage) -> None:
    broken = Writing(max_bytes=10).extract(labeled(page))
    assert isinstance(broken, Broken)
    assert (broken.reason, broken.url) == (BrokenReason.DOCUMENT_TOO_LARGE, "https://example.org/a")


def test_the_same_page_gives_the_same_document(page: PackedPage) -> None:
    assert document(Writing(), labeled(page)) == document(Writing(), labeled(page))
