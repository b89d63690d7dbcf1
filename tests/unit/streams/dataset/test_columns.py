"""Documents as columns: each field with its type and its value, and rows without a document."""

import math
from dataclasses import fields, replace
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dehusk.schemas.documents import CleanedDocument
from dehusk.streams.dataset.columns import record_batch, row_schema
from dehusk.streams.dataset.parts import Row
from tests.documents import BARE, FULL

PLACES = (("input_file", "string"), ("input_offset", "int64"))
SCHEMA = row_schema(PLACES)


def row(document: CleanedDocument, *place: object) -> Row:
    return Row(document.id or document.url, document.url, document, place=place)


FAILED = Row(None, "http://x.test/", error="not-html: a PDF", place=("a.warc", 7))


def test_every_field_of_a_document_is_a_column_and_others_follow() -> None:
    known = [field.name for field in fields(CleanedDocument)]
    assert SCHEMA.names == [*known, "error", "input_file", "input_offset"]
    kinds = {"string", "int64", "double", "timestamp[us, tz=UTC]", "struct", "list"}
    assert {str(kind).partition("<")[0] for kind in SCHEMA.types} == kinds


def test_a_document_has_its_values() -> None:
    (found,) = record_batch([row(FULL, "a.warc", 7)], SCHEMA).to_pylist()
    metadata = found.pop("metadata")
    for name in ("id", "url", "text", "comments", "language", "revision", "minhash", "expected_f1", "html"):
        assert found[name] == getattr(FULL, name)
    assert found["fetched_at"] == FULL.fetched_at
    assert (found["error"], found["input_file"], found["input_offset"]) == (None, "a.warc", 7)
    assert found["model"] == {"name": "dehusk", "version": "1"}
    assert found["degraded"] == ["frequencies", "model"]
    assert found["source"] == {"topic": "crawl", "partition": 3, "offset": 2**40}
    assert [block["text"] for block in found["blocks"]] == ["Fish", "Nice!"]
    assert found["blocks"][1] == {
        "text": "Nice!",
        "path": "html/body/p",
        "probability": 0.25,
        "content": False,
        "comment": True,
        "frequency": None,
        "xpath": None,
    }
    assert found["links"] == [{"url": "https://example.org/a", "text": "nice", "block": 1}]
    assert metadata["published"] == datetime(2026, 3, 1, 4, 30, tzinfo=UTC)
    assert (metadata["published_day"], metadata["tags"]) == (date(2026, 2, 28), ["fish", "chips"])
    assert (metadata["modified"], metadata["modified_day"]) == (None, date(2026, 3, 1))


def test_what_a_document_lacks_is_null_and_what_is_empty_is_not() -> None:
    rows = [row(FULL, "a", 0), row(BARE, None, None), row(FULL, "a", 1)]
    _, found, last = record_batch(rows, SCHEMA).to_pylist()
    assert (found["id"], found["text"], found["degraded"], found["links"]) == (BARE.url, "", [], [])
    nothing = ("language", "fetched_at", "comments", "template", "source", "metadata", "blocks", "error")
    assert {found[name] for name in nothing} == {None}
    assert len(last["blocks"]) == 2


def test_a_page_without_a_document_has_an_error_and_nothing_else() -> None:
    _, found = record_batch([row(FULL, "a", 0), FAILED], SCHEMA).to_pylist()
    assert {name: value for name, value in found.items() if value is not None} == {
        "url": "http://x.test/",
        "error": "not-html: a PDF",
        "input_file": "a.warc",
        "input_offset": 7,
    }


@pytest.mark.parametrize("rows", [[], [FAILED], [row(FULL, "a", 0)] * 3 + [row(BARE, "b", 1), FAILED]])
def test_columns_are_valid_and_are_read_from_parquet_as_they_were(rows: list[Row], tmp_path) -> None:  # type: ignore[no-untyped-def]
    batch = record_batch(rows, SCHEMA)
    batch.validate(full=True)
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "a.parquet")
    assert pq.read_table(tmp_path / "a.parquet").to_pylist() == batch.to_pylist()


def test_unusual_values_are_kept() -> None:
    year_1 = datetime(1, 1, 1, tzinfo=UTC)
    unusual = replace(FULL, expected_f1=math.inf, fetched_at=year_1, text="\0\ufffd", raw_length=2**62)
    (found,) = record_batch([row(unusual, "", -(2**63))], SCHEMA).to_pylist()
    assert (found["expected_f1"], found["fetched_at"]) == (math.inf, year_1)
    assert (found["text"], found["raw_length"]) == ("\0\ufffd", 2**62)
