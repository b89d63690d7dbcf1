import gzip
import io
import json
import os
import zlib

import brotli
import pytest
import zstandard
from warcio.warcwriter import WARCWriter

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.warc import MAX_HEAD, Warc, WarcPointer, open_warc, read_warc
from tests.unit.streams.sources.crawler_messages import (
    ARCHIVE,
    MAX_BYTES,
    TIME,
    URL,
    as_json,
    chunked,
    crawl_log,
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
        (chunked(BODY).removesuffix(b"0\r\n\r\n"), [CHUNKED]),
        (chunked(BODY).removesuffix(b"\r\n\r\n"), [CHUNKED]),
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
    assert outcome == Skipped(SkipReason.NOT_A_PAGE, f"a record of type {kind!r}", URL)


def test_the_head_of_an_archive_is_no_page():
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warcinfo_record("a.warc.gz", {"software": "test"}))
    assert only(out.getvalue()) == Skipped(SkipReason.NOT_A_PAGE, "a record of type 'warcinfo'", None)


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


@pytest.fixture(params=[True, False], ids=["gzip", "plain"])
def archive(request, tmp_path):
    """A WARC file as Heritrix leaves it: the offset of each record by what it is."""
    offsets, compress = {}, request.param
    records = {
        "response": warc(compress=compress),
        "revisit": warc(b"HTTP/1.1 200 OK\r\n\r\n", kind="revisit", compress=compress),
        "dns": warc(url="dns:example.org", compress=compress),
        "image": warc(BODY, ("Content-Type", "image/png"), compress=compress),
    }
    with (tmp_path / ARCHIVE).open("wb") as out:
        writer = WARCWriter(out, gzip=compress)
        writer.write_record(writer.create_warcinfo_record(ARCHIVE, {"software": "Heritrix/3.12"}))
        for kind, written in records.items():
            offsets[kind] = out.tell()
            out.write(written)
        offsets["end"] = out.tell()
    return offsets


def pointed(fields, directory, max_bytes=MAX_BYTES):
    message = Message(None, as_json(fields))
    source = WarcPointer(max_bytes, directory)
    assert source.recognises(message)
    (outcome,) = source.decode(message)
    return outcome


def test_the_page_is_read_where_the_line_points(archive, tmp_path):
    page = pointed(crawl_log(warc_offset=archive["response"]), tmp_path)
    assert (page.url, page.html, page.fetched_at, page.source) == (URL, HTML.encode(), TIME, "warc-pointer")


def test_a_file_that_heritrix_still_writes_to_is_read(archive, tmp_path):
    (tmp_path / ARCHIVE).rename(tmp_path / f"{ARCHIVE}.open")
    assert pointed(crawl_log(warc_offset=archive["response"]), tmp_path).html == HTML.encode()


def test_a_revisit_is_no_page(archive, tmp_path):
    outcome = pointed(crawl_log(warc_offset=archive["revisit"], annotations="warcRevisit:digest"), tmp_path)
    assert outcome.reason is SkipReason.NOT_A_PAGE


def test_a_line_without_a_content_type_leaves_it_to_the_record(archive, tmp_path):
    page = pointed(crawl_log(warc_offset=archive["response"], mimetype="no-type"), tmp_path)
    assert page.html == HTML.encode()
    outcome = pointed(crawl_log(warc_offset=archive["image"], mimetype="no-type"), tmp_path)
    assert outcome.reason is SkipReason.NOT_HTML


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"status_code": -2}, SkipReason.ERROR_STATUS),
        ({"status_code": -9998, "warc_filename": None, "warc_offset": None}, SkipReason.ERROR_STATUS),
        ({"status_code": 0}, SkipReason.ERROR_STATUS),
        ({"status_code": 404}, SkipReason.ERROR_STATUS),
        ({"status_code": 1, "url": "dns:example.org", "mimetype": "text/dns"}, SkipReason.NOT_A_PAGE),
        ({"mimetype": "image/png"}, SkipReason.NOT_HTML),
        ({"warc_filename": None, "warc_offset": None}, SkipReason.NO_BODY),
    ],
)
def test_a_line_that_speaks_of_no_page_needs_no_file(more, reason):
    outcome = pointed(crawl_log(**more), None)
    assert outcome.reason is reason
    assert outcome.url == {**crawl_log(), **more}["url"]


def test_a_record_of_another_address_is_not_taken(archive, tmp_path):
    outcome = pointed(crawl_log(url=URL + "b", warc_offset=archive["response"]), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND
    assert URL in outcome.detail


@pytest.mark.parametrize("offset", [1, 2**40, 2**63, 2**64 - 1])
def test_an_offset_where_no_record_begins_finds_none(archive, tmp_path, offset):
    assert pointed(crawl_log(warc_offset=offset), tmp_path).reason is BrokenReason.RECORD_NOT_FOUND


def test_the_end_of_the_file_holds_no_record(archive, tmp_path):
    outcome = pointed(crawl_log(warc_offset=archive["end"]), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND


def test_a_record_that_is_not_yet_written_to_its_end_is_not_found(archive, tmp_path):
    os.truncate(tmp_path / ARCHIVE, archive["revisit"] - 30)
    outcome = pointed(crawl_log(warc_offset=archive["response"]), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND


def test_a_page_that_is_too_large_is_named_so(archive, tmp_path):
    outcome = pointed(crawl_log(warc_offset=archive["response"]), tmp_path, max_bytes=10)
    assert outcome.reason is BrokenReason.PAGE_TOO_LARGE


def test_a_missing_file_is_not_found(tmp_path):
    assert pointed(crawl_log(), tmp_path).reason is BrokenReason.RECORD_NOT_FOUND


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_not_found(tmp_path, name):
    outcome = pointed(crawl_log(warc_filename=name), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND
    assert outcome.detail.encode()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / ARCHIVE)
    assert pointed(crawl_log(), tmp_path).reason is BrokenReason.RECORD_NOT_FOUND


def test_without_a_directory_nothing_is_found_and_the_option_is_named():
    outcome = pointed(crawl_log(), None)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND
    assert "--warc-directory" in outcome.detail


@pytest.mark.parametrize(
    "name",
    [
        "../secret.warc",
        "/etc/passwd",
        "a/../b.warc",
        "%2e%2e/secret.warc",
        "..\\secret.warc",
        "..",
        ".",
        "",
        5,
        ["../b"],
    ],
)
def test_no_name_leads_out_of_the_directory(archive, tmp_path, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / ARCHIVE).rename(tmp_path / "secret.warc")
    outcome = pointed(crawl_log(warc_filename=name, warc_offset=archive["response"]), inner)
    assert outcome.reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize("offset", [-1, None, "x", 1.5, True])
def test_an_offset_is_a_number(tmp_path, offset):
    assert pointed(crawl_log(warc_offset=offset), tmp_path).reason is BrokenReason.MALFORMED_MESSAGE


def test_encoded_pages_are_written_to_an_archive_and_pointed_to(tmp_path):
    source = WarcPointer(MAX_BYTES, tmp_path)
    pages = [RawPage(f"{URL}{number}", HTML.encode(), fetched_at=TIME, language="ru") for number in range(3)]
    records = [source.encode(page) for page in pages]
    for page, written in zip(pages, records, strict=True):
        assert json.loads(written.value).keys() == crawl_log().keys()
        read = pointed(written.value, tmp_path)
        assert (read.url, read.html) == (page.url, page.html)
        assert (read.fetched_at, read.language) == (TIME, "ru")
    assert len(list(tmp_path.iterdir())) == 1


def test_pages_cannot_be_encoded_without_a_directory():
    with pytest.raises(ConfigurationError, match="--warc-directory"):
        WarcPointer(1, None).encode(RawPage(URL, b"<p>"))
