import importlib
import json
import warnings
from base64 import b64encode
from types import SimpleNamespace

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.frontera import Frontera

URL = "http://example.org/a"
HTML = "<!doctype html><title>Ж</title><p>Привет"
BODY = HTML.encode("koi8-r")
META = {
    b"domain": {b"name": b"example.org", b"fingerprint": b"06d80eb0c50b49a509b49f2424e8c805"},
    b"fingerprint": b"89e6a0649e06d83370cdf2cbfb05f363934a8d0c",
    b"encoding": "koi8-r",
    b"scrapy_meta": {"depth": 2, "download_latency": 0.1},
    b"origin_is_frontier": True,
}
HEADERS = {b"Content-Type": [b"text/html"], b"Content-Language": [b"ru"], b"Set-Cookie": [b"a=b", b"c=d"]}
SOURCE = Frontera(100_000)


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


def response(frontera, body=BODY, headers=HEADERS, meta=META, status=200):
    return frontera.Response(URL, status, headers, body, frontera.Request(URL, meta=meta))


def decode(value):
    message = Message(b"06d80eb0", value if isinstance(value, bytes) else value.encode())
    assert SOURCE.recognises(message)
    (outcome,) = SOURCE.decode(message)
    return outcome


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
    assert (page.html, page.encoding, page.id) == (HTML.encode(), "koi8-r", META[b"fingerprint"].decode())


def test_a_lone_surrogate_in_the_json_codec_is_let_through(frontera):
    page = response(frontera, meta={**META, b"note": "\ud800"})
    assert decode(frontera.json.encode_page_crawled(page)).html == HTML.encode()


OLD_META = {key.decode(): value for key, value in META.items()}


@pytest.mark.parametrize(
    "value",
    [
        msgpack.packb([b"pc", [URL, 200, META, BODY]], use_bin_type=True),
        msgpack.packb([b"pc", [URL, 200, META, BODY]], use_bin_type=False),
        msgpack.packb(
            ["pc", [URL, 200, OLD_META, BODY], [["http://example.org/b", {}, {}, {}]]], use_bin_type=False
        ),
    ],
    ids=["0.7", "0.5", "0.4"],
)
def test_the_msgpack_codec_without_headers_and_with_bodies_as_str(value):
    page = decode(value)
    assert (page.url, page.html, page.encoding) == (URL, HTML.encode(), "koi8-r")


def test_the_json_codec_without_types():
    response = {
        "url": URL,
        "status_code": 200,
        "meta": {"encoding": "koi8-r"},
        "body": b64encode(BODY).decode(),
    }
    page = decode(json.dumps({"type": "page_crawled", "r": response, "links": []}))
    assert (page.url, page.html, page.encoding) == (URL, HTML.encode(), "koi8-r")


def test_a_page_without_stored_content_has_no_body(frontera):
    for encoder in (frontera.bodiless, frontera.bodiless_json):
        outcome = decode(encoder.encode_page_crawled(response(frontera)))
        assert (outcome.reason, outcome.url) == (SkipReason.NO_BODY, URL)
    oldest = decode(msgpack.packb(["pc", [URL, 200, OLD_META], []]))
    assert oldest.reason is SkipReason.NO_BODY


@pytest.mark.parametrize("codec", ["msgpack", "json"])
def test_other_messages_are_no_pages(frontera, codec):
    encoder, request = getattr(frontera, codec), frontera.Request(URL, meta=META)
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


def test_seeds_are_no_pages():
    assert decode(msgpack.packb(["as", [[URL, {}, {}, {}]]])).reason is SkipReason.NOT_A_PAGE


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [(404, HEADERS, SkipReason.ERROR_STATUS), (200, {b"Content-Type": [b"image/png"]}, SkipReason.NOT_HTML)],
)
def test_what_is_no_page_is_skipped(frontera, status, headers, reason):
    value = frontera.msgpack.encode_page_crawled(response(frontera, headers=headers, status=status))
    assert decode(value).reason is reason


@pytest.mark.parametrize(
    "value",
    [
        b"\x92\xc4\x02pc",
        msgpack.packb([b"pc", []]),
        msgpack.packb([b"pc", 5]),
        msgpack.packb([b"pc", [URL, 200, META, BODY]]) + b"x",
        b"\x92\xa2pc\x94\xa1u\x01\x81\x90\x01\xa1b",
        b"\x92\xa2pc" + b"\x91" * 5000,
        b'["dict", [[["other", "type"]]]]',
        b'["dict", ' + b"[" * 900 + b"]" * 900 + b"]",
        b'["dict", ' + b"[" * 90000,
        b'{"type": "page_crawled", "r": {"body": "%%%"}}',
        b'{"type": "page_crawled", "r": {"body": "\xff"}}',
    ],
)
def test_what_breaks_the_rules_of_the_codec_is_broken(value):
    outcome = decode(value)
    assert isinstance(outcome, Broken)
    assert outcome.reason is BrokenReason.MALFORMED_MESSAGE


def test_a_page_without_a_url_is_broken():
    assert decode(msgpack.packb([b"pc", [None, 200, {}, {}, BODY]])).reason is BrokenReason.MISSING_URL


@pytest.mark.parametrize(
    "value",
    [None, b"", b"<html>", b"{}", b'["dict"]', b'{"type": "page"}', msgpack.packb([URL, b"GET"]), b"\x92pc"],
)
def test_other_messages_are_not_recognised(value):
    assert not SOURCE.recognises(Message(None, value))


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


MUTATED = [
    msgpack.packb([b"pc", [URL, 200, META, HEADERS, BODY]]),
    json.dumps(
        {"type": "page_crawled", "r": {"url": URL, "status_code": 200, "meta": {}, "body": "PHA+"}}
    ).encode(),
    b'["dict", [[["other", "type"], ["other", "page_crawled"]], [["other", "r"], ["dict", []]]]]',
]


@given(st.data(), st.sampled_from(MUTATED))
def test_whatever_the_value_it_has_one_outcome(data, value):
    at = data.draw(st.integers(0, len(value)))
    mutated = value[:at] + data.draw(st.binary(max_size=6)) + value[at + data.draw(st.integers(0, 6)) :]
    assert len(SOURCE.decode(Message(None, mutated))) == 1
