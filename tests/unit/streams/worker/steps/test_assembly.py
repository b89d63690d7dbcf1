"""Deliveries for a message, by what became of its pages."""

from dehusk.schemas.documents import SCHEMA_VERSION
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import Message
from dehusk.streams.preparation.batch import Failure, PageResult
from dehusk.streams.preparation.steps import PackedPage, WrittenDocument
from dehusk.streams.worker.results import UNTRACED_MESSAGE, CleanedMessage
from dehusk.streams.worker.steps.batch import assemble

REFUSED = Failure("label", Broken(BrokenReason.REJECTED_BY_MODEL, "no answer"))
DOCUMENT = WrittenDocument(b"https://example.org/a", b"a document", is_empty=False, characters=8)


def assembled(message: Message, *results: PageResult | Skipped | Broken | Tombstone) -> CleanedMessage:
    return assemble(message, results, "application/json", ("model",), UNTRACED_MESSAGE)


def test_a_document_is_keyed_by_its_url_and_says_what_it_is(message: Message, page: PackedPage) -> None:
    cleaned = assembled(message, PageResult(page, DOCUMENT))
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
    cleaned = assembled(
        message,
        PageResult(page, WrittenDocument(b"https://example.org/b", b"nothing", is_empty=True)),
        PageResult(page, DOCUMENT),
    )
    assert [(each.is_empty, each.characters) for each in cleaned.documents] == [(True, 0), (False, 8)]


def test_every_outcome_is_counted_once_and_broken_pages_together(message: Message, page: PackedPage) -> None:
    skipped = Skipped(SkipReason.NO_BODY, "")
    broken = Broken(BrokenReason.MISSING_URL, "first")
    made, refused = PageResult(page, DOCUMENT), PageResult(page, REFUSED)
    cleaned = assembled(message, made, skipped, broken, Tombstone(b"gone"), refused)
    assert len(cleaned.documents) == 1
    assert [record.key for record in cleaned.records] == [b"https://example.org/a", b"gone"]
    assert cleaned.skipped == [skipped]
    assert cleaned.failure == Failure("prepare", broken)
    assert cleaned.pages == 4
