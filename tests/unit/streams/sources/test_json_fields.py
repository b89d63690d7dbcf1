from base64 import b64encode

import orjson
import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.json_fields import JsonFields, field_paths

URL = "https://example.org/page"
HTML = "<p>é</p>"
PAGE = RawPage(URL, HTML.encode(), source="json")


def decode(content, *assignments):
    value = content if isinstance(content, bytes) else orjson.dumps(content)
    (outcome,) = JsonFields(100_000, field_paths(assignments)).decode(Message(None, value))
    return outcome


def test_the_fields_have_plain_names_by_default():
    assert decode({"url": URL, "html": HTML}) == PAGE


def test_paths_lead_to_fields_and_into_arrays():
    content = {"page": {"address": URL}, "answers": [{"status": 200, "body": HTML}]}
    assert decode(content, "url=page.address", "html=answers.0.body", "status=answers.0.status") == PAGE


def test_bytes_travel_as_base64():
    body = b64encode(HTML.encode("latin-1")).decode()
    page = decode({"url": URL, "html_base64": body, "content_type": "text/html; charset=latin1"})
    assert page == RawPage(URL, HTML.encode(), encoding="windows-1252", source="json")


def test_lone_surrogates_are_let_through():
    value = b'{"url": "' + URL.encode() + b'", "html": "<p>\\ud800</p>"}'
    assert decode(value).html.decode() == "<p>\ufffd</p>"


@pytest.mark.parametrize(
    "value",
    [b"{", b"[" * 100_000, b'{"a":' * 100_000, b'{"html_base64": "<>"}'],
)
def test_a_damaged_object_is_malformed(value):
    outcome = decode(value)
    assert isinstance(outcome, Broken)
    assert outcome.reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize("value", [b"7", b"[]", b"null", b'"text"', b"\xff", {"url": URL}, {}])
def test_what_is_no_such_object_is_of_another_format(value):
    outcome = decode(value)
    assert isinstance(outcome, Broken)
    assert outcome.reason is BrokenReason.WRONG_FORMAT


@pytest.mark.parametrize("more", [{"html": None}, {"html_base64": None}])
def test_a_page_that_is_null_has_no_body(more):
    message = Message(None, orjson.dumps({"url": URL, **more}))
    assert JsonFields(100_000).recognises(message)
    assert decode({"url": URL, **more}).reason is SkipReason.NO_BODY


def test_an_error_needs_no_body():
    assert decode({"url": URL, "status": 404}).reason is SkipReason.ERROR_STATUS


@pytest.mark.parametrize("url", [None, ""])
def test_a_page_without_a_url_is_broken(url):
    broken = decode({"url": url, "html": HTML})
    assert broken.reason is BrokenReason.MISSING_URL
    assert broken.detail == "it gives no URL, which tells the document's key and site"


@pytest.mark.parametrize("field", ["url", "html", "html_base64"])
@pytest.mark.parametrize(
    ("value", "kind"), [(7, "number"), (True, "boolean"), ([HTML], "array"), ({"a": HTML}, "object")]
)
def test_a_field_of_a_wrong_type_is_named_by_its_path(field, value, kind):
    content = {"url": URL, "html": HTML, "page": {"it": value}}
    detail = f"field 'page.it': a JSON {kind} where a string is expected"
    url = None if field == "url" else URL
    assert decode(content, f"{field}=page.it") == Broken(BrokenReason.MALFORMED_MESSAGE, detail, url)


@pytest.mark.parametrize(("value", "id_"), [("7", "7"), (7, "7"), (True, None), ([7], None), (7.5, None)])
def test_an_id_may_be_a_number(value, id_):
    assert decode({"url": URL, "html": HTML, "id": value}).id == id_


@pytest.mark.parametrize("assignment", ["url", "url=", "url=a..b", "name=a"])
def test_an_assignment_that_is_none_is_refused(assignment):
    with pytest.raises(ConfigurationError, match="FIELD=PATH"):
        field_paths([assignment])


def test_it_writes_where_its_paths_say():
    source = JsonFields(100_000, field_paths(["url=page.address", "html=page.body"]))
    record = source.encode(PAGE)
    assert orjson.loads(record.value) == {"page": {"address": URL, "body": HTML}}
    assert source.decode(Message(record.key, record.value)) == [PAGE]


def test_two_fields_cannot_share_a_place():
    with pytest.raises(ConfigurationError, match="meet"):
        JsonFields(100_000, field_paths(["url=page", "html=page.body"])).encode(PAGE)
