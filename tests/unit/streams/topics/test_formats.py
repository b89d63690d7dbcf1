import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
import yaml

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.documents import CleanedDocument, Origin
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.options import Rendering
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import ModelVersion, RawPage
from dehusk.streams.offline.lines import OFFLINE_FORMATS, failure_writer
from dehusk.streams.topics.formats import FORMATS, front_matter

DOCUMENT = CleanedDocument(
    id="id-1",
    url="https://example.org/a?b=1&c=2",
    site="example.org",
    fetched_at=datetime(2026, 3, 1, 13, 30, 5, 123456, tzinfo=timezone(timedelta(hours=1))),
    title="Fish & <chips>",
    text="Fish\n\nare nice",
    comments="Nice!",
    language="en",
    raw_length=100,
    text_length=14,
    model=ModelVersion("boilernet", "1"),
    labeler="onnx",
    degraded=("frequencies",),
    template=None,
    source=Origin("crawl-7", 0, 3),
    headline="Fish",
    declared_language="en-GB",
    language_probability=0.75,
    content_hash="0123456789abcdef0123456789abcdef",
    simhash="0123456789abcdef",
    expected_f1=0.875,
    page_kind="article",
    page_kind_probability=0.97,
    metadata=Metadata(
        author="Ann",
        published=date(2026, 2, 28),
        canonical_url="https://example.org/a",
        tags=("fish",),
        robots=("noindex",),
    ),
    markdown="# Fish\n\nare nice",
    html="<h1>Fish</h1>\n<p>are nice</p>",
)
UNDATED = replace(DOCUMENT, fetched_at=None, source=None, language=None, metadata=None)


def test_a_document_is_its_own_json():
    assert FORMATS["document"].write(DOCUMENT) == DOCUMENT.to_json_bytes()


def test_datatrove():
    assert json.loads(FORMATS["datatrove"].write(DOCUMENT)) == {
        "text": "Fish\n\nare nice",
        "id": "id-1",
        "metadata": {
            "url": "https://example.org/a?b=1&c=2",
            "date": "2026-03-01T12:30:05.123Z",
            "language": "en",
            "declared_language": "en-GB",
            "language_score": 0.75,
            "title": "Fish & <chips>",
            "headline": "Fish",
            "comments": "Nice!",
            "site": "example.org",
            "labeler": "onnx",
            "model": "boilernet/1",
            "degraded": ["frequencies"],
            "revision": 1,
            "content_hash": "0123456789abcdef0123456789abcdef",
            "simhash": "0123456789abcdef",
            "minhash": None,
            "expected_f1": 0.875,
            "page_kind": "article",
            "page_kind_probability": 0.97,
            "author": "Ann",
            "published": "2026-02-28",
            "published_day": "2026-02-28",
            "canonical_url": "https://example.org/a",
            "license": None,
            "tags": ["fish"],
            "robots": ["noindex"],
        },
    }
    bare = json.loads(FORMATS["datatrove"].write(replace(DOCUMENT, metadata=None)))["metadata"]
    assert (bare["author"], bare["published"], bare["tags"]) == (None, None, [])
    assert json.loads(FORMATS["datatrove"].write(UNDATED))["metadata"]["date"] is None


def test_dolma():
    fields = json.loads(FORMATS["dolma"].write(DOCUMENT))
    metadata = fields.pop("metadata")
    assert metadata["url"] == DOCUMENT.url
    assert fields == {
        "id": "id-1",
        "text": "Fish\n\nare nice",
        "source": "crawl-7",
        "added": "2026-03-01T12:30:05.123Z",
        "created": "2026-02-28T00:00:00.000Z",
    }
    undated = json.loads(FORMATS["dolma"].write(UNDATED))
    assert (undated["source"], undated["added"], undated["created"]) == ("dehusk", None, None)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_the_revision(name):
    assert FORMATS[name].write(DOCUMENT) != FORMATS[name].write(replace(DOCUMENT, revision=2))


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_document_gives_the_same_bytes(name):
    assert FORMATS[name].write(DOCUMENT) == FORMATS[name].write(replace(DOCUMENT))


def test_says_what_it_writes():
    assert {name: FORMATS[name].content_type for name in FORMATS} == {
        "document": "application/json",
        "datatrove": "application/json",
        "dolma": "application/json",
        "markdown": "text/markdown; charset=utf-8",
        "html": "text/html; charset=utf-8",
    }


def test_a_format_asks_for_what_it_writes():
    wanted = {name: form.rendering(Rendering(links=False)) for name, form in FORMATS.items()}
    assert [name for name, rendering in wanted.items() if rendering.markdown] == ["markdown"]
    assert [name for name, rendering in wanted.items() if rendering.html] == ["html"]
    assert not any(rendering.links for rendering in wanted.values())
    assert FORMATS["document"].rendering(Rendering(markdown=True)).markdown


def test_markdown_stands_below_what_is_known_of_the_document():
    assert FORMATS["markdown"].write(DOCUMENT).decode() == (
        '---\ntitle: "Fish & <chips>"\nurl: "https://example.org/a?b=1&c=2"\nlanguage: "en"\nrevision: 1\n'
        "---\n\n# Fish\n\nare nice\n\n"
    )


def test_front_matter_is_yaml_whatever_is_in_it():
    fields = {"url": "https://e.test/\x80\x9f\x7f\ufffe", "title": 'a "b"\n'}
    assert yaml.safe_load(front_matter(fields).decode().strip("-\n")) == fields


def test_html_is_a_page_of_its_own():
    assert FORMATS["html"].write(DOCUMENT).decode() == (
        "<!DOCTYPE html>\n"
        '<html lang="en-GB"><head><meta charset="utf-8"><title>Fish &amp; &lt;chips&gt;</title>\n'
        '<link rel="canonical" href="https://example.org/a">'
        '<meta name="dehusk-revision" content="1"></head><body>\n'
        "<h1>Fish</h1>\n<p>are nice</p>\n"
        "</body></html>\n"
    )
    assert b"<html><head>" in FORMATS["html"].write(UNDATED)


@pytest.mark.parametrize("metadata", [None, Metadata()])
def test_html_has_the_address_of_the_page_where_that_declares_no_other(metadata):
    written = FORMATS["html"].write(replace(DOCUMENT, metadata=metadata))
    assert b'<link rel="canonical" href="https://example.org/a?b=1&amp;c=2">' in written


def test_html_can_be_segmented_into_the_same_texts():
    page = segment(FORMATS["html"].write(DOCUMENT))
    assert page.texts == ("Fish", "are nice")
    assert page.title == DOCUMENT.title


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_what_a_document_came_without_cannot_be_written(name):
    with pytest.raises(ValueError, match="without"):
        FORMATS[name].write(replace(DOCUMENT, markdown=None, html=None))


def test_times_are_told_in_utc():
    local = replace(DOCUMENT, fetched_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert json.loads(FORMATS["dolma"].write(local))["added"] == "2026-01-01T00:00:00.000Z"


@pytest.mark.parametrize(
    ("published", "created", "told"),
    [
        (datetime(2026, 2, 28, 7, 30, tzinfo=UTC), "2026-02-28T07:30:00.000Z", "2026-02-28T07:30:00Z"),
        (
            datetime(2026, 2, 28, tzinfo=timezone(timedelta(hours=2))),
            "2026-02-27T22:00:00.000Z",
            "2026-02-28T00:00:00+02:00",
        ),
        (None, "2026-03-01T12:30:05.123Z", None),
    ],
)
def test_dolma_tells_when_a_page_was_created(published, created, told):
    dated = replace(DOCUMENT, metadata=Metadata(published=published))
    fields = json.loads(FORMATS["dolma"].write(dated))
    assert (fields["created"], fields["metadata"]["published"]) == (created, told)


def test_datatrove_reads_lines_of_clean(tmp_path):
    """By its own reader, which leaves out the page without a document."""
    from datatrove.pipeline.readers import JsonlReader

    write, fail = OFFLINE_FORMATS["datatrove"].write, failure_writer("datatrove")
    failed = fail(RawPage("https://example.org/b", b""), Skipped(SkipReason.NO_BODY, ""))
    lines = [write(DOCUMENT), failed, write(UNDATED)]
    (tmp_path / "cleaned.jsonl").write_bytes(b"".join(lines))
    first, second = JsonlReader(str(tmp_path)).run()
    assert (first.text, first.id) == (second.text, second.id) == (DOCUMENT.text, DOCUMENT.id)
    written = json.loads(FORMATS["datatrove"].write(DOCUMENT))["metadata"]
    assert {name: first.metadata[name] for name in written} == written
    assert second.metadata["date"] is None


@pytest.mark.parametrize("name", ["datatrove", "dolma"])
def test_lines_of_pages_without_a_document_have_no_text_and_the_error(name):
    page = Broken(BrokenReason.MALFORMED_MESSAGE, "no JSON")
    written = failure_writer(name)(page, page)
    line = json.loads(written)
    assert line["metadata"] == {"url": None, "error": "malformed-message: no JSON"}
    assert (line["text"], line["id"]) == ("", "")
    assert line.keys() == json.loads(OFFLINE_FORMATS[name].write(DOCUMENT)).keys()
    assert written.endswith(b"}\n")
