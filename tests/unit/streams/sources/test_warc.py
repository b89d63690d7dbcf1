import gzip
import io
import zlib

import brotli
import pytest
import zstandard
from warcio.warcwriter import WARCWriter

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message
from dehusk.streams.sources.warc import MAX_HEAD, Warc, open_warc, read_warc
from tests.unit.streams.sources.crawler_messages import (
    MAX_BYTES,
    RECORD_ID,
    URL,
    chunked,
)
from tests.unit.streams.sources.crawler_messages import warc as record

HTML = "<!doctype html><title>Ж</title><p>" + "Привет. " * 40
BODY = HTML.encode("koi8-r")
TYPE = ("Content-Type", "text/html; charset=koi8-r")


def warc(body=BODY, *headers, **more):
    return record(body, *headers, **more)


def decode(value, max_bytes=MAX_BYTES):
    return list(Warc(max_bytes).decode(Message(None, value)))


def only(value, max_bytes=MAX_BYTES):
    (outcome,) = decode(value, max_bytes)
    return outcome


@pytest.mark.parametrize(
    ("protocol", "status"),
    [("HTTP/2", "200"), ("HTTP/2.0", "200"), ("HTTP/3", "200 "), ("HTTP/1.0", " 200 OK")],
)
def test_every_version_of_http_has_its_status_line(protocol, status):
    assert only(warc(protocol=protocol, status=status)).html == HTML.encode()


def bare_deflate(body):
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


CHUNKED = ("Transfer-Encoding", "chunked")


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (chunked(BODY), [CHUNKED]),
        (chunked(BODY), [("transfer-encoding", "Chunked")]),
        (BODY, [CHUNKED]),
        (chunked(gzip.compress(BODY, mtime=0)), [CHUNKED, ("Content-Encoding", "gzip")]),
        (chunked(gzip.compress(BODY, mtime=0)), [CHUNKED]),
        (chunked(BODY, trailer=b"Expires: 0\r\nX-Trailer: <p>none</p>\r\n"), [CHUNKED]),
        (chunked(BODY).replace(b"\r\n0\r\n", b"\r\n000 ; last=yes\r\n"), [CHUNKED]),
        (b"%016x\r\n%s\r\n%016x\r\n\r\n" % (len(BODY), BODY, 0), [CHUNKED]),
        (chunked(BODY).removesuffix(b"0\r\n\r\n"), [CHUNKED]),
        (chunked(BODY).removesuffix(b"\r\n\r\n"), [CHUNKED]),
        (chunked(BODY).replace(b"\r\n", b"\n"), [CHUNKED]),
        (gzip.compress(BODY, mtime=0), [CHUNKED, ("Content-Encoding", "gzip")]),
        (gzip.compress(BODY, mtime=0), [("Content-Encoding", "gzip")]),
        (gzip.compress(BODY, mtime=0), []),
        (zlib.compress(BODY), [("Content-Encoding", "deflate")]),
        (bare_deflate(BODY), [("Content-Encoding", "deflate")]),
        (brotli.compress(BODY), [("Content-Encoding", "br")]),
        (zstandard.compress(BODY), [("Content-Encoding", "zstd")]),
        (BODY, [("Content-Encoding", "gzip")]),
        (BODY, [("Content-Encoding", "br")]),
    ],
)
def test_the_body_is_read_as_it_was_sent_or_as_the_crawler_left_it(body, headers):
    assert only(warc(body, TYPE, *headers)).html == HTML.encode()


def test_a_resource_with_a_web_address_is_a_page():
    value = warc(HTML.encode(), kind="resource", content_type="text/html; charset=utf-8")
    assert only(value).html == HTML.encode()


@pytest.mark.parametrize("kind", ["request", "revisit", "metadata", "conversion", "continuation"])
def test_other_records_are_no_pages(kind):
    head = b"HTTP/1.1 200 OK" if kind == "revisit" else b"GET / HTTP/1.1"
    outcome = only(warc(head + b"\r\n\r\n", kind=kind))
    assert outcome == Skipped(SkipReason.NOT_A_PAGE, f"a record of type {kind!r}", URL, outcome.id)


def test_the_head_of_an_archive_is_no_page():
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warcinfo_record("a.warc.gz", {"software": "test"}))
    outcome = only(out.getvalue())
    assert outcome == Skipped(SkipReason.NOT_A_PAGE, "a record of type 'warcinfo'", None, outcome.id)


@pytest.mark.parametrize(
    "fields",
    [{"kind": "metadata"}, {"protocol": "FTP"}, {"url": "dns:example.org"}, {"body": b"%PDF-1.7"}],
    ids=["metadata", "no-http", "dns", "pdf"],
)
def test_the_reason_why_a_record_is_no_page_has_its_id(fields):
    assert only(warc(**fields, **{"WARC-Record-ID": f"<{RECORD_ID}>"})).id == RECORD_ID


@pytest.mark.parametrize("url", ["dns:example.org", "urn:text:http://example.org/"])
def test_what_is_no_page_has_its_address(url):
    assert only(warc(b"text", kind="resource", url=url)).url == url


def test_brackets_round_the_address_are_not_of_it():
    assert only(warc().replace(URL.encode(), f"<{URL}>".encode())).url == URL


def bare(*lines, block=b""):
    return b"\r\n".join([b"WARC/1.0", *lines, b"", block])


RESPONSE = (b"WARC-Type: response", b"WARC-Target-URI: " + URL.encode())


GZIP = ("Content-Encoding", "gzip")
MALFORMED = BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize(
    ("value", "reason", "detail"),
    [
        (b"", BrokenReason.WRONG_FORMAT, "no WARC record"),
        (b"<p>", BrokenReason.WRONG_FORMAT, "begins with b'<p>'"),
        (bare(*RESPONSE), MALFORMED, "Content-Length is ''"),
        (bare(*RESPONSE, b"Content-Length: -5"), MALFORMED, "Content-Length is '-5'"),
        (bare(*RESPONSE, b"Content-Length: " + b"9" * 5000), MALFORMED, "Content-Length is '999"),
        (bare(*RESPONSE, b"Content-Length: 5", block=b"hello"), MALFORMED, "b'hello'"),
        (bare(*RESPONSE, b"X: " + b"x" * MAX_HEAD), MALFORMED, "headers of more than"),
        (bare(RESPONSE[0], b"Content-Length: 0"), BrokenReason.MISSING_URL, "no URL"),
        (warc()[:-20], MALFORMED, "cut short"),
        (warc(compress=True)[:-20], BrokenReason.MALFORMED_COMPRESSION, "ends early"),
        (
            warc(gzip.compress(BODY, mtime=0)[:-20], TYPE, GZIP),
            BrokenReason.MALFORMED_COMPRESSION,
            "ends early",
        ),
        (warc(b"<p>" + b"x" * MAX_BYTES), BrokenReason.PAGE_TOO_LARGE, "limit"),
        (warc(b"<p>" + b"x" * 9 * MAX_HEAD), BrokenReason.PAGE_TOO_LARGE, "a record of 2,359,"),
        (
            warc(gzip.compress(bytes(10_000_000), mtime=0), TYPE, GZIP),
            BrokenReason.INFLATES_TOO_LARGE,
            "grows",
        ),
        (
            gzip.compress(b"WARC/1.0\r\n" + bytes(10_000_000), mtime=0),
            BrokenReason.INFLATES_TOO_LARGE,
            "grows",
        ),
    ],
)
def test_what_cannot_be_read_is_broken_with_its_reason(value, reason, detail):
    outcome = only(value)
    assert isinstance(outcome, Broken)
    assert outcome.reason is reason
    assert detail in outcome.detail


def test_a_large_record_that_is_no_page_stays_a_skip():
    outcome = only(warc(bytes(9 * MAX_HEAD), ("Content-Type", "video/mp4")))
    assert outcome.reason is SkipReason.NOT_HTML


def test_a_message_of_several_records_gives_an_outcome_for_each():
    value = warc(kind="metadata") + warc(b"<p>1") + warc(b"x", url="dns:a") + warc(b"<p>2", url=URL + "2")
    first, second, third, fourth = decode(value)
    assert (first.reason, third.reason) == (SkipReason.NOT_A_PAGE, SkipReason.NOT_A_PAGE)
    assert (second.html, fourth.html, fourth.url) == (b"<p>1", b"<p>2", URL + "2")


def test_a_bad_response_does_not_hide_the_next_record():
    bad, good = decode(warc(protocol="GARBAGE") + warc())
    assert bad.reason is BrokenReason.MALFORMED_MESSAGE
    assert good.html == HTML.encode()


def test_an_archive_of_gzip_members_is_read_record_by_record():
    pages = [warc(b"<p>%d" % number, compress=True) for number in range(5)]
    with open_warc(io.BytesIO(b"".join(pages)[:-30])) as stream:
        *read, damaged = read_warc(stream, MAX_BYTES)
    assert [page.html for page in read] == [b"<p>0", b"<p>1", b"<p>2", b"<p>3"]
    assert damaged.reason is BrokenReason.MALFORMED_MESSAGE


class Counted(io.BytesIO):
    """A stream that keeps the largest read that was asked of it."""

    largest = 0

    def read(self, size=-1):
        self.largest = max(self.largest, size)
        return super().read(size)

    def readline(self, size=-1):
        self.largest = max(self.largest, size)
        return super().readline(size)


@pytest.mark.parametrize(
    "value",
    [
        warc(b"<p>" + b"x" * 50 * MAX_BYTES),
        warc(b"x" * 50 * MAX_BYTES, kind="metadata"),
        b"WARC/1.0\r\n" + b"x" * 50 * MAX_BYTES,
        b"x" * 50 * MAX_BYTES,
    ],
)
def test_no_read_is_larger_than_a_page(value):
    stream = Counted(value)
    assert list(read_warc(stream, MAX_BYTES))
    assert 0 < stream.largest <= MAX_BYTES + MAX_HEAD
