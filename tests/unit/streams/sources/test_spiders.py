import importlib
import warnings
from base64 import b64encode
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import orjson
import pytest

from dehusk.schemas.outcomes import Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.spiders import Frontera, ScrapyCluster
from tests.unit.streams.sources.crawler_messages import (
    FRONTERA_HEADERS,
    FRONTERA_META,
    HTML,
    KOI8,
    MAX_BYTES,
    SIZE,
    URL,
    as_json,
    scrapy_cluster,
)

SOURCE, CLUSTER = Frontera(MAX_BYTES), ScrapyCluster(MAX_BYTES)


def decode(value, source=SOURCE):
    message = Message(None, value if isinstance(value, bytes) else value.encode())
    assert source.recognises(message)
    (outcome,) = source.decode(message)
    return outcome


def response_item(**changes):
    return decode(as_json(scrapy_cluster(**changes)), CLUSTER)


@pytest.mark.parametrize("guess", ["cp1252", "big5hkscs", "ascii", None, 7])
def test_the_crawlers_guess_does_not_count(guess):
    body = b64encode(b"<meta charset=utf-8>" + SIZE.encode()).decode()
    page = response_item(body=body, encoding=guess, response_headers={"Content-Type": ["text/html"]})
    assert page.html.endswith(SIZE.encode())


def test_lone_surrogates_of_ujson_are_let_through():
    value = orjson.dumps(scrapy_cluster()).replace("Größe".encode(), b"Gr\\udcf6\\u00dfe")
    assert decode(value, CLUSTER).html.decode() == "<p>Gr\ufffdße</p>"


@pytest.mark.parametrize("status", [True, None, "", "OK", float("nan"), {}])
def test_what_is_no_status_is_none(status):
    assert isinstance(response_item(status_code=status), RawPage)


def test_an_item_is_written_as_the_pipeline_writes_it():
    fetched_at = datetime(2026, 3, 4, 7, 6, 7, 5, tzinfo=timezone(timedelta(hours=2)))
    record = CLUSTER.encode(RawPage(URL, SIZE.encode(), fetched_at=fetched_at))
    item = orjson.loads(record.value)
    assert record.value.isascii()
    assert list(item) == sorted(scrapy_cluster())
    assert (item["body"], item["timestamp"]) == (SIZE, "2026-03-04T05:06:07.000005")


@pytest.mark.parametrize(
    "headers", [None, [], "text/html", {"Content-Type": []}, {"content-type": "text/html"}]
)
def test_headers_of_any_type_are_borne(headers):
    assert isinstance(response_item(response_headers=headers), RawPage)


@pytest.fixture(scope="module")
def frontera():
    """Frontera's own codecs; they ask w3lib for a name that it no longer has, which was `to_unicode`."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # Frontera is of 2018
        w3lib = importlib.import_module("w3lib.util")
        patch.setattr(w3lib, "to_native_str", w3lib.to_unicode, raising=False)
        codecs = "frontera.contrib.backends.remote.codecs"
        models = importlib.import_module("frontera.core.models")
        return SimpleNamespace(
            msgpack=importlib.import_module(f"{codecs}.msgpack").Encoder(models.Request, send_body=True),
            json=importlib.import_module(f"{codecs}.json").Encoder(models.Request, send_body=True),
            bodiless=importlib.import_module(f"{codecs}.msgpack").Encoder(models.Request),
            bodiless_json=importlib.import_module(f"{codecs}.json").Encoder(models.Request),
            fingerprint=importlib.import_module("frontera.utils.fingerprint").sha1,
            Request=models.Request,
            Response=models.Response,
        )


def response(frontera, body=KOI8, headers=FRONTERA_HEADERS, meta=FRONTERA_META, status=200):
    return frontera.Response(URL, status, headers, body, frontera.Request(URL, meta=meta))


def test_the_msgpack_codec_of_today(frontera):
    assert decode(frontera.msgpack.encode_page_crawled(response(frontera))) == RawPage(
        url=URL,
        html=HTML.encode(),
        id="89e6a0649e06d83370cdf2cbfb05f363934a8d0c",
        language="ru",
        encoding="koi8-r",
        source="frontera",
    )


def test_the_charset_of_the_header_counts_before_what_scrapy_took_for_the_encoding(frontera):
    headers = {b"Content-Type": [b"text/html; charset=windows-1251"]}
    page = response(frontera, HTML.encode("windows-1251"), headers)
    assert decode(frontera.msgpack.encode_page_crawled(page)).html == HTML.encode()


def test_the_json_codec_has_the_charset_in_the_meta_only(frontera):
    page = decode(frontera.json.encode_page_crawled(response(frontera)))
    assert (page.html, page.encoding, page.id) == (
        HTML.encode(),
        "koi8-r",
        FRONTERA_META[b"fingerprint"].decode(),
    )


def test_a_lone_surrogate_in_the_json_codec_is_let_through(frontera):
    page = response(frontera, meta={**FRONTERA_META, b"note": "\ud800"})
    assert decode(frontera.json.encode_page_crawled(page)).html == HTML.encode()


def test_a_page_without_stored_content_has_no_body(frontera):
    for encoder in (frontera.bodiless, frontera.bodiless_json):
        outcome = decode(encoder.encode_page_crawled(response(frontera)))
        assert (outcome.reason, outcome.url) == (SkipReason.NO_BODY, URL)


@pytest.mark.parametrize("codec", ["msgpack", "json"])
def test_other_messages_are_no_pages(frontera, codec):
    encoder, request = getattr(frontera, codec), frontera.Request(URL, meta=FRONTERA_META)
    for value in (
        encoder.encode_links_extracted(request, [request]),
        encoder.encode_request_error(request, "TimeoutError"),
        encoder.encode_update_score(request, 0.5, schedule=True),
        encoder.encode_new_job_id(7),
        encoder.encode_offset(1, 2),
        encoder.encode_stats({"pages": 5}),
    ):
        outcome = decode(value)
        assert isinstance(outcome, Skipped)
        assert outcome.reason is SkipReason.NOT_A_PAGE


def test_what_is_encoded_is_what_frontera_writes_and_decodes_to_the_same_page(frontera):
    page = RawPage(URL, HTML.encode(), language="ru")
    record = SOURCE.encode(page)
    (read,) = SOURCE.decode(Message(record.key, record.value))
    assert (read.url, read.html, read.language) == (page.url, page.html, page.language)
    meta = {
        b"domain": {b"name": b"example.org", b"fingerprint": record.key},
        b"encoding": "utf-8",
        b"fingerprint": read.id.encode(),
    }
    headers = {b"Content-Type": [b"text/html; charset=utf-8"], b"Content-Language": [b"ru"]}
    assert record.value == frontera.msgpack.encode_page_crawled(response(frontera, page.html, headers, meta))
    assert record.key == frontera.fingerprint("example.org")
    assert read.id.encode() == frontera.fingerprint(URL)


@pytest.mark.parametrize("url", ["http://[x/", "http://\u2100/"])
def test_a_page_whose_host_makes_no_sense_is_encoded_all_the_same(url):
    (read,) = SOURCE.decode(Message(None, SOURCE.encode(RawPage(url, HTML.encode())).value))
    assert (read.url, read.html) == (url, HTML.encode())
