"""What is delivered for a message, by what became of its pages."""

from dataclasses import replace

import numpy as np
import orjson
import pytest

from inference.cleaning import PreparedPage, prepare
from schemas.documents import SCHEMA_VERSION
from schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from schemas.pages import BlockFrequencies, Message, ModelVersion, Prediction, RawPage
from streams.preparation.preparation import Outcome
from streams.worker.assembly import Answer, Assembler, CleanedMessage, Failure

BROKEN = Broken(BrokenReason.REJECTED_BY_MODEL, "no answer")


def answer(page: PreparedPage, *, degraded: tuple[str, ...] = ()) -> Answer:
    size = len(page.encoded)
    labels = Prediction(np.ones(size, np.float32), ModelVersion("m", "2"), "triton")
    return Answer(labels, BlockFrequencies(5, np.full(size, 3, np.uint32)), degraded)


def assemble(message: Message, *outcomes: Outcome, answers: list[Answer]) -> CleanedMessage:
    (cleaned,) = Assembler("document", with_blocks=False).assemble([message], [outcomes], answers)
    return cleaned


def test_a_document_is_keyed_by_its_url_and_says_where_it_comes_from(
    message: Message, page: PreparedPage
) -> None:
    cleaned = assemble(message, page, answers=[answer(page)])
    (record,) = cleaned.records
    assert record.key == b"https://example.org/a"
    document = orjson.loads(record.value or b"")
    assert document["source"] == {"topic": "raw", "partition": 3, "offset": 41}
    assert document["template"] == {"pages_seen": 5, "blocks_matched": len(page.encoded)}
    assert dict(record.headers) == {
        "content-type": b"application/json",
        "schema-version": SCHEMA_VERSION.encode(),
        "traceparent": b"00-1-2-01",
    }


def test_a_document_without_text_is_a_document_and_counted_as_empty_too(
    message: Message, page: PreparedPage
) -> None:
    size = len(page.encoded)
    nothing = Prediction(np.zeros(size, np.float32), ModelVersion("m", "2"), "triton")
    cleaned = assemble(message, page, page, answers=[Answer(nothing, None, ()), answer(page)])
    assert (cleaned.documents, cleaned.empty_documents) == (2, 1)
    assert [orjson.loads(record.value or b"")["text"] == "" for record in cleaned.records] == [True, False]


def test_every_outcome_is_counted_once_and_broken_pages_together(
    message: Message, page: PreparedPage
) -> None:
    skipped = Skipped(SkipReason.NO_BODY, "")
    broken = Broken(BrokenReason.MISSING_URL, "first")
    cleaned = assemble(
        message,
        page,
        skipped,
        broken,
        Tombstone(b"gone"),
        page,
        answers=[answer(page), Answer(BROKEN, None, ())],
    )
    assert cleaned.documents == 1
    assert [record.key for record in cleaned.records] == [b"https://example.org/a", b"gone"]
    assert cleaned.skipped == [skipped]
    assert cleaned.failure == Failure("prepare", broken)
    assert cleaned.pages == 4


def test_answers_go_to_the_pages_of_their_own_messages(message: Message, page: PreparedPage) -> None:
    outcomes = [(page,), (Skipped(SkipReason.NO_BODY, ""),), (page, page)]
    answers = [answer(page), Answer(BROKEN, None, ()), answer(page, degraded=("model",))]
    first, second, third = Assembler("document", with_blocks=False).assemble([message] * 3, outcomes, answers)
    assert (first.documents, first.failure) == (1, None)
    assert (second.documents, second.failure) == (0, None)
    assert (third.documents, third.failure) == (1, Failure("label", BROKEN))
    assert third.degraded == ("model",)


def test_a_page_that_breaks_the_extraction_is_broken_alone(message: Message, page: PreparedPage) -> None:
    unwritable = replace(page, segmented=replace(page.segmented, texts=("\ud800",) * len(page.segmented)))
    cleaned = assemble(message, unwritable, page, answers=[answer(page)] * 2)
    assert cleaned.documents == 1
    assert cleaned.failure is not None
    assert (cleaned.failure.stage, cleaned.failure.broken.reason) == ("extract", BrokenReason.INTERNAL_ERROR)


@pytest.mark.parametrize("drop_hidden", [True, False])
def test_hidden_text_is_dropped_where_it_is_to_be(
    message: Message, html: bytes, *, drop_hidden: bool
) -> None:
    hidden = prepare(RawPage("https://example.org/a", html.replace(b"</p>", b"</p><p hidden>Disregard")))
    assert isinstance(hidden, PreparedPage)
    assembler = Assembler("document", with_blocks=False, drop_hidden=drop_hidden)
    (cleaned,) = assembler.assemble([message], [(hidden,)], [answer(hidden)])
    assert (b"Disregard" in (cleaned.records[0].value or b"")) is not drop_hidden


@pytest.mark.parametrize("with_blocks", [True, False])
def test_blocks_are_listed_where_asked_for(
    message: Message, page: PreparedPage, *, with_blocks: bool
) -> None:
    assembler = Assembler("document", with_blocks)
    (cleaned,) = assembler.assemble([message], [(page,)], [answer(page)])
    assert ("blocks" in orjson.loads(cleaned.records[0].value or b"")) is with_blocks


def test_the_same_page_gives_the_same_record(message: Message, page: PreparedPage) -> None:
    once, again = (assemble(message, page, answers=[answer(page)]) for _ in range(2))
    assert once == again
