"""Avro values, written by fastavro as producers do, and hostile ones."""

import io
import json
import time
from datetime import UTC, datetime

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.sources.avro import read_avro

TREE = {
    "type": "record",
    "name": "a.Tree",
    "fields": [{"name": "left", "type": ["null", "Tree"]}, {"name": "id", "type": "int"}],
}
EVERYTHING = {
    "type": "record",
    "name": "a.Page",
    "fields": [
        {"name": "url", "type": "string"},
        {"name": "body", "type": ["null", "bytes"]},
        {"name": "headers", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["PAGE", "IMAGE"]}},
        {"name": "other", "type": "Kind"},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {
            "name": "numbers",
            "type": {"type": "array", "items": ["null", "long", "double", "float", "boolean"]},
        },
        {"name": "tree", "type": TREE},
    ],
}
PAGE = {
    "url": "https://example.org/",
    "body": b"<p>\xff",
    "headers": {"content-type": ["text/html"], "via": ["a", "b"] * 100, "none": []},
    "at": datetime(2026, 1, 2, tzinfo=UTC),
    "kind": "IMAGE",
    "other": "PAGE",
    "hash": b"abcd",
    "share": 0.5,
    "numbers": [None, -(2**63), 2**63 - 1, 1.5, True, 0],
    "tree": {"left": {"left": None, "id": -1}, "id": 7},
}


def written(content, schema):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), content)
    return out.getvalue()


def number(value):
    return written(value, "long")


def read(value, schema):
    return read_avro(value, fastavro.parse_schema(schema), "ids/7")


def test_a_record_of_all_types_is_read():
    page = json.loads(read(written(PAGE, EVERYTHING), EVERYTHING))
    assert page["headers"] == PAGE["headers"]
    assert (page["hash"], page["kind"], page["tree"]) == ("abcd", "IMAGE", PAGE["tree"])
    assert page["body"] == "data:text/html;base64,PHA+/w=="
    assert page["at"] == "2026-01-02T00:00:00+00:00"
    assert page["numbers"] == PAGE["numbers"]


@pytest.mark.parametrize(
    ("content", "schema"),
    [
        ([], {"type": "array", "items": "null"}),
        ([None, None], {"type": "array", "items": ["null", "string"]}),
        ({"a": None}, {"type": "map", "values": "null"}),
        ([{"id": 1, "left": None}], {"type": "array", "items": TREE}),
        ({"id": 1, "left": None}, ["null", TREE]),
        (None, ["null", TREE]),
        (5, {"type": "int"}),
    ],
)
def test_schemas_of_any_form_are_read(content, schema):
    assert json.loads(read(written(content, schema), schema)) == content


NULLS = {"type": "array", "items": "null"}
NULL_FIELDS = {
    "type": "record",
    "name": "Nulls",
    "fields": [{"name": f"a{number}", "type": "null"} for number in range(50)],
}
EMPTY = {"type": "array", "items": {"type": "record", "name": "Empty", "fields": []}}


@pytest.mark.parametrize(
    ("value", "schema", "detail"),
    [
        (number(10**9) + b"\0", NULLS, "1,000,000,000 items in a value of 6 bytes"),
        (number(-(10**9)) + b"\0\0", NULLS, "1,000,000,000 items in a value of 7 bytes"),
        (number(10**9) + b"\0", EMPTY, "1,000,000,000 items in a value of 6 bytes"),
        (number(2**62) + b"\0", NULLS, "items in a value"),
        (
            number(1000) + (number(900) + b"\0") * 1000 + b"\0",
            {"type": "array", "items": NULLS},
            "900 items in a value of 3,003 bytes",
        ),
        (
            number(150_000) + b"\0" * 150_001,
            {"type": "array", "items": NULL_FIELDS},
            "more values without bytes than a value of 150,004 bytes",
        ),
        (number(10**6) + b"\0" * 1000, {"type": "map", "values": "null"}, "1,000,000 items in a value of"),
        (number(2**40) + b"x", "bytes", "1,099,511,627,776 bytes of bytes where 1 are left"),
        (number(-5) + b"x", "string", "-5 bytes of string where 1 are left"),
        (b"x", {"type": "fixed", "name": "F", "size": 2**40}, "bytes of fixed where 1 are left"),
        (number(1) * 100_000 + b"\0", TREE, "it nests deeper than 100 values"),
        (b"\xff" * 1000, "long", "it ends within a number"),
        (b"", "string", "it ends within a number"),
        (number(7) + b"xx", "int", "it goes on after a record, for 2 bytes"),
        (number(7), ["null", "string"], "branch 7 of a union of 2"),
        (number(9), {"type": "enum", "name": "E", "symbols": ["A"]}, "list index out of range"),
    ],
)
def test_what_claims_more_than_it_holds_is_named_at_once(value, schema, detail):
    began = time.process_time()
    with pytest.raises(PageError) as refusal:
        read(value, schema)
    assert refusal.value.reason is BrokenReason.MALFORMED_MESSAGE
    assert str(refusal.value).startswith("the value is not of Avro schema ids/7: ")
    assert detail in str(refusal.value)
    assert time.process_time() - began < 1


@given(st.binary(max_size=200), st.integers(0, 200))
def test_whatever_a_value_holds_it_is_read_or_refused_with_a_detail(value, at):
    good = written(PAGE, EVERYTHING)
    for hostile in (value, good[:at] + value, good[:at] + value + good[at + len(value) :]):
        try:
            read(hostile, EVERYTHING)
        except PageError as refusal:
            assert not str(refusal).rstrip().endswith(":")  # noqa: PT017 it need not be refused
