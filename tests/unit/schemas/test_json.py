"""The published JSON Schemas describe what dehusk writes."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from jsonschema import ValidationError

from dehusk.inference.extraction import extract
from dehusk.inference.labelers.labeler import LABELERS, LOCAL_LABELERS, encodings_read, open_local_labeler
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.inference.preparing import prepare
from dehusk.schemas.documents import CleanedDocument, Origin
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions, Rendering
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.schemas.sites import BlockFrequencies
from dehusk.streams.offline.lines import OFFLINE_FORMATS, failure_writer
from dehusk.streams.topics.dead_letters import DeadLetter, dead_letter, read_dead_letter, replay
from tests.published import validated, validated_message, validator

HTML = (
    b"""<!DOCTYPE html><html lang="en"><title>Gr\xc3\xbc\xc3\x9fe</title><nav><a href="/">Home</a></nav>
<p>"""
    + b"A paragraph that is long enough to be taken for content by any rules. " * 5
)


def document(
    options: DocumentOptions = DEFAULT_OPTIONS, *, frequencies: bool, **others: object
) -> CleanedDocument:
    raw = RawPage("https://www.example.org/a", HTML, fetched_at=datetime(2026, 1, 2, tzinfo=UTC))
    page = prepare(raw, options=options)
    counts = np.full(len(page.encoded), 3, np.uint32)
    return extract(
        page,
        asyncio.run(RulesLabeler().label([page.encoded]))[0],
        BlockFrequencies(7, counts) if frequencies else None,
        options,
        **others,
    )


BLOCKS = DocumentOptions(with_blocks=True, with_links=True)
MARKDOWN = DocumentOptions(rendering=Rendering(markdown=True))
DOCUMENTS = {
    "streamed": document(BLOCKS, frequencies=True, origin=Origin("raw", 0, 12)),
    "degraded": document(frequencies=False, origin=Origin("raw", 0, 12), degraded=("frequencies", "model")),
    "with Markdown": document(MARKDOWN, frequencies=False),
    "with HTML": document(DocumentOptions(rendering=Rendering(html=True)), frequencies=False),
    "offline": document(BLOCKS, frequencies=False),
}
DOCUMENTS["without metadata"] = replace(DOCUMENTS["offline"], metadata=None)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_as_published(name):
    fields = json.loads(DOCUMENTS[name].to_json())
    assert fields["text"]
    validator("cleaned-document").validate(fields)


def test_a_document_of_a_page_that_says_nothing_of_itself_is_as_published():
    bare = replace(DOCUMENTS["offline"], fetched_at=None, language=None, title="", text="", blocks=())
    validator("cleaned-document").validate(json.loads(bare.to_json()))


@pytest.mark.parametrize(
    "change",
    [
        {"text": None},
        {"extra": 1},
        {"degraded": ["triton"]},
        {"labeler": "someone"},
        {"content_hash": ""},
        {"metadata": {}},
        {"model": {"name": "boilernet"}},
        {"source": {"topic": "raw", "partition": 0, "offset": -1}},
        {"links": [{"url": "https://example.org/", "text": "x"}]},
        {"links": [{"url": "https://example.org/", "text": "x", "block": -1}]},
        {"blocks": [{"text": "x", "path": "p", "probability": 1.5, "content": True, "frequency": None}]},
    ],
)
def test_what_is_no_document_is_refused(change):
    fields = json.loads(DOCUMENTS["streamed"].to_json())
    with pytest.raises(ValidationError):
        validator("cleaned-document").validate(fields | change)


@pytest.mark.parametrize("field", ["id", "url", "text", "template", "source", "model", "metadata", "simhash"])
def test_no_field_may_be_missing(field):
    fields = json.loads(DOCUMENTS["streamed"].to_json())
    del fields[field]
    with pytest.raises(ValidationError):
        validator("cleaned-document").validate(fields)


def headers_of(message: Message, broken: Broken) -> dict[str, str]:
    return {name: value.decode() for name, value in dead_letter(message, broken, "prepare").headers}


@pytest.mark.parametrize("reason", BrokenReason)
def test_headers_of_dead_letters_are_as_published(reason):
    message = Message(b"key", b"value", (), "raw", 3, 17)
    for url in (None, "https://example.org/"):
        validator("dead-letter-headers").validate(headers_of(message, Broken(reason, "détail", url)))
    validator("dead-letter-headers").validate(headers_of(replace(message, value=None), Broken(reason, "")))


def test_headers_of_a_replayed_message_that_failed_again_are_as_published():
    first = read_back(Message(b"key", b"value", (), "raw", 3, 17))
    again = replay(first)
    message = Message(again.key, again.value, again.headers, "raw", 3, 40)
    headers = headers_of(message, Broken(BrokenReason.INTERNAL_ERROR, ""))
    validator("dead-letter-headers").validate(headers)
    assert {"dehusk.replays", "dehusk.replay-of"} <= headers.keys()


def read_back(message: Message) -> DeadLetter:
    letter = dead_letter(message, Broken(BrokenReason.INTERNAL_ERROR, ""), "prepare")
    return read_dead_letter(Message(letter.key, letter.value, letter.headers))


@pytest.mark.parametrize("header", ["dehusk.reason", "__connect.errors.exception.class.name"])
def test_the_schema_names_every_reason_and_no_other(header):
    published = validator("dead-letter-headers").schema["properties"][header]["enum"]
    assert published == [reason.value for reason in BrokenReason]


@pytest.mark.parametrize("labeler", LABELERS)
def test_documents_of_every_labeler_are_as_published(labeler):
    fields = json.loads(replace(DOCUMENTS["streamed"], labeler=labeler).to_json())
    validator("cleaned-document").validate(fields)


@pytest.mark.parametrize("field", ["blocks", "links", "markdown", "html"])
def test_what_was_not_asked_for_is_missing_and_not_null(field):
    fields = json.loads(replace(DOCUMENTS["streamed"], **{field: None}).to_json())
    validator("cleaned-document").validate(fields)
    with pytest.raises(ValidationError):
        validator("cleaned-document").validate(fields | {field: None})


@pytest.mark.parametrize("name", DOCUMENTS)
def test_lines_of_clean_are_as_published(name):
    line = validated("clean-line", OFFLINE_FORMATS["json"].write(DOCUMENTS[name]))
    assert line["error"] is None
    assert line["text"]


FAILED = {
    "a page": RawPage("https://example.org/", b"<p>"),
    "a line without a URL": Skipped(SkipReason.NO_BODY, "the message holds no content"),
    "a line with an id": Broken(BrokenReason.MALFORMED_MESSAGE, "no JSON", None, "7"),
}


@pytest.mark.parametrize("options", [DEFAULT_OPTIONS, BLOCKS, MARKDOWN])
@pytest.mark.parametrize("with_template", [False, True])
@pytest.mark.parametrize("page", FAILED.values(), ids=FAILED)
def test_lines_of_pages_that_cannot_be_cleaned_are_as_published(page, with_template, options):
    outcome = Broken(BrokenReason.PAGE_TOO_LARGE, "too large")
    written = failure_writer("json", options, with_template=with_template)(page, outcome)
    line = validated("clean-line", written)
    assert line["error"] == "page-too-large: too large"
    for change in ({"text": "x"}, {"error": None}, {"extra": 1}):
        with pytest.raises(ValidationError):
            validator("clean-line").validate(line | change)


@pytest.mark.parametrize("labeler", LOCAL_LABELERS)
def test_a_document_that_a_labeler_made_is_as_published(labeler):
    opened = open_local_labeler(labeler)
    page = prepare(RawPage("https://www.example.org/a", HTML), encodings=encodings_read(opened))
    fields = validated("cleaned-document", extract(page, opened.label_here(page.encoded)).to_json())
    assert fields["labeler"] == labeler


def test_messages_that_are_read_back_are_validated_by_their_kind():
    headers = (("content-type", b"application/json"), ("schema-version", b"1"))
    value = DOCUMENTS["streamed"].to_json_bytes()
    assert validated_message(Message(b"key", value, headers)).value == value
    with pytest.raises(ValidationError):
        validated_message(Message(b"key", value.replace(b'"revision":1', b'"revision":0'), headers))
    letter = dead_letter(
        Message(b"key", b"value", (), "raw", 3, 17), Broken(BrokenReason.INTERNAL_ERROR, ""), "x"
    )
    assert validated_message(Message(letter.key, letter.value, letter.headers)).key == b"key"
    with pytest.raises(ValidationError):
        validated_message(Message(b"key", b"value", (("dehusk.reason", b"unheard-of"),)))
