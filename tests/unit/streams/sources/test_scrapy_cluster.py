import json
from base64 import b64encode
from datetime import datetime, timedelta, timezone

import orjson
import pytest

from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.scrapy_cluster import ScrapyCluster

URL = "https://example.org/page"
HTML = "<p>Größe</p>"
source = ScrapyCluster(max_bytes=100_000)
ITEM = {
    "url": "https://example.org/redirected",
    "response_url": URL,
    "status_code": 200,
    "status_msg": "OK",
    "response_headers": {"Content-Type": ["text/html; charset=ISO-8859-1"], "Server": ["x"]},
    "request_headers": {"User-Agent": ["y"]},
    "body": HTML,
    "encoding": "cp1252",
    "links": [],
    "appid": "app",
    "crawlid": "c1",
    "timestamp": "2026-03-04T05:06:07.123456Z",
    "attrs": None,
}


def decode(value=None, **changes):
    value = orjson.dumps(ITEM | changes) if value is None else value
    message = Message(None, value)
    assert source.recognises(message)
    (outcome,) = source.decode(message)
    return outcome


def test_the_final_url_and_the_text_are_the_page():
    page = decode()
    assert (page.url, page.html, page.encoding) == (URL, HTML.encode(), "utf-8")
    assert page.fetched_at.isoformat() == "2026-03-04T05:06:07.123456+00:00"


def test_base64_is_the_bytes_that_the_server_sent():
    page = decode(body=b64encode(HTML.encode("latin-1")).decode())
    assert (page.html, page.encoding) == (HTML.encode(), "windows-1252")


@pytest.mark.parametrize("guess", ["cp1252", "big5hkscs", "ascii", None, 7])
def test_the_crawlers_guess_does_not_count(guess):
    body = b64encode(b"<meta charset=utf-8>" + HTML.encode()).decode()
    page = decode(body=body, encoding=guess, response_headers={"Content-Type": ["text/html"]})
    assert page.html.endswith(HTML.encode())


def test_ok_is_said_of_any_status():
    assert decode(status_code=404, status_msg="OK").reason is SkipReason.ERROR_STATUS


def test_lone_surrogates_of_ujson_are_let_through():
    value = orjson.dumps(ITEM).replace("Größe".encode(), b"Gr\\udcf6\\u00dfe")
    assert decode(value).html.decode() == "<p>Gr\ufffdße</p>"


@pytest.mark.parametrize("status", ["404", "404 Not Found", 404.0, ["404"]])
def test_a_status_may_be_of_another_type(status):
    assert decode(status_code=status).reason is SkipReason.ERROR_STATUS


@pytest.mark.parametrize("status", [True, None, "", "OK", float("nan"), {}])
def test_what_is_no_status_is_none(status):
    assert isinstance(decode(json.dumps(ITEM | {"status_code": status}).encode()), RawPage)


def test_an_item_is_written_as_the_pipeline_writes_it():
    fetched_at = datetime(2026, 3, 4, 7, 6, 7, 5, tzinfo=timezone(timedelta(hours=2)))
    record = source.encode(RawPage(URL, HTML.encode(), fetched_at=fetched_at))
    item = orjson.loads(record.value)
    assert record.key is None
    assert record.value.isascii()
    assert list(item) == sorted(ITEM)
    assert (item["body"], item["timestamp"]) == (HTML, "2026-03-04T05:06:07.000005")


@pytest.mark.parametrize("value", [b"json failed to parse", b'"json failed to parse"'])
def test_the_note_of_a_failure_is_broken(value):
    assert decode(value).reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize(
    "headers", [None, [], "text/html", {"Content-Type": []}, {"content-type": "text/html"}]
)
def test_headers_of_any_type_are_borne(headers):
    assert isinstance(decode(response_headers=headers), RawPage)


@pytest.mark.parametrize("body", [None, "", [], {}])
def test_no_body_is_skipped(body):
    assert decode(body=body).reason is SkipReason.NO_BODY
