"""Records of messages on the audit topic."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import dehusk.schemas
from dehusk.schemas.documents import Origin, origin_of
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.sources.source import Record
from dehusk.streams.topics.audit import PageOutcome, read_audit_record
from dehusk.streams.worker.results import CleanedMessage
from dehusk.streams.worker.steps.delivery import audit

MESSAGE = Message(b"k", b"12345", (), "raw", 3, 17)
MODEL = ModelVersion("dehusk", "7")
URL = b"https://example.org/a"


def cleaned(**fields: object) -> CleanedMessage:
    """A message whose documents were delivered one after the other."""
    made = CleanedMessage(MESSAGE, **fields)  # type: ignore[arg-type]
    made.positions.extend(Origin("cleaned", 1, offset) for offset, _ in enumerate(made.records, 40))
    return made


def dead_letter(detail: str = "bad", url: str | None = None) -> CleanedMessage:
    failed = cleaned()
    failed.fail("label", Broken(BrokenReason.REJECTED_BY_MODEL, detail, url))
    return failed


OUTCOMES = {
    "document": cleaned(records=[WrittenDocument(URL, b"d", model=MODEL)], batch_seconds={"label": 0.25}),
    "degraded": cleaned(records=[WrittenDocument(URL, b"d", model=MODEL)], degraded=("frequencies",)),
    "empty-document": cleaned(records=[WrittenDocument(URL, b"d", is_empty=True, model=MODEL)]),
    "tombstone": cleaned(records=[Record(URL, None)]),
    "skipped": cleaned(skipped=[Skipped(SkipReason.ERROR_STATUS, "status 404", URL.decode())]),
    "dead-letter": dead_letter(),
    "surrogate": dead_letter("\ud800", "http://x.test/\ud800"),
    "several": cleaned(
        records=[WrittenDocument(URL, b"d"), Record(b"b", None)], skipped=[Skipped(SkipReason.NO_BODY, "")]
    ),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_record_is_as_published_and_can_be_read(name: str) -> None:
    schema = json.loads((Path(dehusk.schemas.__file__).parent / "json/audit-record.schema.json").read_text())
    record = audit(OUTCOMES[name]).record()
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(record.value or b""))
    read = read_audit_record(Message(record.key, record.value))
    assert read == audit(OUTCOMES[name])
    assert len(read.pages) == OUTCOMES[name].pages


@pytest.mark.parametrize("outcome", list(PageOutcome))
def test_each_outcome_is_told(outcome: PageOutcome) -> None:
    (page,) = audit(OUTCOMES[outcome.value]).pages
    assert page.outcome is outcome


def test_a_page_has_the_position_of_its_document() -> None:
    pages = audit(OUTCOMES["several"]).pages
    assert [page.document for page in pages] == [Origin("cleaned", 1, 40), Origin("cleaned", 1, 41), None]


def test_a_page_without_a_document_has_its_reason() -> None:
    (page,) = audit(dead_letter("x" * 2000, "http://x.test/")).pages
    assert (page.reason, page.stage, page.url) == ("rejected-by-model", "label", "http://x.test/")
    assert page.detail is not None
    assert (len(page.detail), page.detail[-1]) == (500, "…")


def test_the_key_is_the_first_url_that_is_known_or_the_position() -> None:
    assert audit(OUTCOMES["several"]).key == URL
    assert audit(OUTCOMES["dead-letter"]).key == str(origin_of(MESSAGE)).encode()


@pytest.mark.parametrize(
    "value", [None, b"", b"{", b"[]", b"{}", b'{"source": 1}', b'{"pages": [{"outcome": "x"}]}']
)
def test_what_is_no_audit_record_is_none(value: bytes | None) -> None:
    assert read_audit_record(Message(None, value)) is None


@pytest.mark.parametrize("number", [1 << 64, 10**30])
def test_a_number_that_no_position_has_makes_no_audit_record(number: int) -> None:
    value = audit(OUTCOMES["several"]).record().value or b""
    assert b'"offset":17' in value
    assert read_audit_record(Message(None, value.replace(b'"offset":17', b'"offset":%d' % number))) is None


@pytest.mark.parametrize("key", [b"https://example.org/k", None])
def test_a_page_whose_url_is_not_known_has_that_of_its_key(key: bytes | None) -> None:
    failed = CleanedMessage(Message(key, b"?", (), "raw", 3, 17))
    failed.fail("prepare", Broken(BrokenReason.UNKNOWN_FORMAT, "?"))
    (page,) = audit(failed).pages
    assert page.url == (key.decode() if key else None)
