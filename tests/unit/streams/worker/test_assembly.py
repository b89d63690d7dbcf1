"""What is delivered for a message, by what became of its pages."""

import pytest

from dehusk.schemas.documents import SCHEMA_VERSION
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Message
from dehusk.streams.preparation.extraction import WrittenDocument
from dehusk.streams.preparation.preparation import Outcome, PackedPage
from dehusk.streams.worker.assembly import Assembler, CleanedMessage, Failure, Fate

REFUSED = Failure("label", Broken(BrokenReason.REJECTED_BY_MODEL, "no answer"))
DOCUMENT = WrittenDocument(b"a document", is_empty=False, characters=8)
ASSEMBLER = Assembler("document")


def assemble(message: Message, *outcomes: Outcome, fates: list[Fate]) -> CleanedMessage:
    (cleaned,) = ASSEMBLER.assemble([message], [outcomes], fates, ("model",))
    return cleaned


def test_a_document_is_keyed_by_its_url_and_says_what_it_is(message: Message, page: PackedPage) -> None:
    cleaned = assemble(message, page, fates=[DOCUMENT])
    (record,) = cleaned.records
    assert (record.key, record.value) == (b"https://example.org/a", b"a document")
    assert dict(record.headers) == {
        "content-type": b"application/json",
        "schema-version": SCHEMA_VERSION.encode(),
        "traceparent": b"00-1-2-01",
    }
    assert cleaned.degraded == ("model",)


def test_a_document_without_text_is_a_document_and_counted_as_empty_too(
    message: Message, page: PackedPage
) -> None:
    cleaned = assemble(message, page, page, fates=[WrittenDocument(b"nothing", is_empty=True), DOCUMENT])
    assert (cleaned.documents, cleaned.empty_documents, cleaned.characters) == (2, 1, 8)


def test_every_outcome_is_counted_once_and_broken_pages_together(message: Message, page: PackedPage) -> None:
    skipped = Skipped(SkipReason.NO_BODY, "")
    broken = Broken(BrokenReason.MISSING_URL, "first")
    outcomes = [page, skipped, broken, Tombstone(b"gone"), page]
    cleaned = assemble(message, *outcomes, fates=[DOCUMENT, REFUSED])
    assert cleaned.documents == 1
    assert [record.key for record in cleaned.records] == [b"https://example.org/a", b"gone"]
    assert cleaned.skipped == [skipped]
    assert cleaned.failure == Failure("prepare", broken)
    assert cleaned.pages == 4


def test_fates_go_to_the_pages_of_their_own_messages(message: Message, page: PackedPage) -> None:
    outcomes = [(page,), (Skipped(SkipReason.NO_BODY, ""),), (page, page)]
    first, second, third = ASSEMBLER.assemble([message] * 3, outcomes, [DOCUMENT, REFUSED, DOCUMENT])
    assert (first.documents, first.failure) == (1, None)
    assert (second.documents, second.failure) == (0, None)
    assert (third.documents, third.failure) == (1, REFUSED)


@pytest.mark.parametrize(("known", "assembled"), [(0, 0), (1, 2), (2, 2), (3, 3)])
def test_messages_are_assembled_as_far_as_the_fates_of_their_pages_are_known(
    message: Message, page: PackedPage, known: int, assembled: int
) -> None:
    outcomes = [(page,), (Skipped(SkipReason.NO_BODY, ""),), (page, page)]
    assert len(ASSEMBLER.assemble([message] * 3, outcomes, [DOCUMENT] * known)) == assembled
