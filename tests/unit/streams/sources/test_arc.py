"""ARC records, laid out as the Internet Archive's description of the format has them."""

import gzip
import io
from datetime import UTC, datetime

import pytest
from warcio.archiveiterator import ArchiveIterator

from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.warc import MAX_HEAD, open_warc, read_warc

URL = "http://www.dryswamp.edu/index.html"
HTML = b"<!doctype html><title>T</title><p>Hello"
MAX_BYTES = 100_000
TIME = datetime(1996, 11, 4, 14, 21, 3, tzinfo=UTC)


def response(body=HTML, content_type="text/html", status="200 Document follows"):
    return f"HTTP/1.0 {status}\r\nContent-Type: {content_type}\r\n\r\n".encode() + body


def record(block=None, *, url=URL, date="19961104142103", more=""):
    block = response() if block is None else block
    return f"{url} 127.10.100.2 {date} text/html {more}{len(block)}\n".encode() + block + b"\n"


def filedesc(version="1 0 Alexa Internet", fields="URL IP-address Archive-date Content-type Archive-length"):
    block = f"{version}\n{fields}\n".encode()
    head = f"filedesc://IA-001102.arc 0.0.0.0 19960923142103 text/plain {len(block)}\n"
    return head.encode() + block + b"\n"


SECOND = (
    "URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length"
)


def read(value, max_bytes=MAX_BYTES):
    return list(read_warc(open_warc(io.BytesIO(value)), max_bytes))


def page(value, max_bytes=MAX_BYTES):
    described, outcome = read(filedesc() + value, max_bytes)
    assert described == Skipped(SkipReason.NOT_A_PAGE, "a record of type 'filedesc'")
    return outcome


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_record_is_a_page_of_its_address_and_time(pack):
    described, read_page = read(pack(filedesc()) + pack(record()))
    assert isinstance(described, Skipped)
    assert read_page == RawPage(URL, HTML, fetched_at=TIME, source="warc")


def test_the_archive_is_what_others_read_as_one():
    """Hold the records of these tests to the reader of warcio."""
    others = list(ArchiveIterator(io.BytesIO(filedesc() + record()), arc2warc=True))
    assert [each.rec_headers.get_header("WARC-Target-URI") for each in others] == [None, URL]


@pytest.mark.parametrize(
    "value",
    [
        record(more="200 fac069150613fe55599cc7fa88aa089d - 209 IA-001102.arc "),
        record(date="199611041421"),
        record(date="19961104142103000"),
        record().replace(b"text/html ", b"text/html; charset=utf-8 ", 1),
        record(response(gzip.compress(HTML, mtime=0))),
        b"\n\n" + record(),
        record().replace(b"\n", b"\r\n", 1),
    ],
)
def test_versions_and_writers_differ_in_their_fields(value):
    outcome = page(value)
    assert (outcome.url, outcome.html) == (URL, HTML)
    assert outcome.fetched_at.replace(second=0) == TIME.replace(second=0)


def test_a_second_version_describes_itself():
    _, outcome = read(filedesc("2 0 Alexa Internet", SECOND) + record(more="200 - - 209 IA-001102.arc "))
    assert outcome.html == HTML


@pytest.mark.parametrize(
    ("url", "read_as"),
    [
        ("http://a.org/a b 1.html", "http://a.org/a%20b%201.html"),
        ("http://a.org/ä", "http://a.org/ä"),
        ("HTTP://A.ORG/", "HTTP://A.ORG/"),
    ],
)
def test_an_address_may_have_spaces_and_any_letters(url, read_as):
    assert page(record(url=url)).url == read_as


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (record(b"20241104 ...", url="dns:www.dryswamp.edu"), SkipReason.NOT_A_PAGE),
        (record(response(content_type="image/gif")), SkipReason.NOT_HTML),
        (record(response(status="404 Not Found")), SkipReason.ERROR_STATUS),
        (record(b"no answer"), BrokenReason.MALFORMED_MESSAGE),
        (record(response(HTML + bytes(MAX_BYTES + 2 * MAX_HEAD))), BrokenReason.PAGE_TOO_LARGE),
    ],
)
def test_what_is_no_page_or_broken_has_its_reason_and_address(value, reason):
    outcome, next_page = read(value + record())
    assert isinstance(outcome, Skipped | Broken)
    assert outcome.reason is reason
    assert outcome.url is None or value.startswith(outcome.url.encode())
    assert next_page.html == HTML


@pytest.mark.parametrize(
    "value",
    [
        b"plain words",
        b"filedesc://a.arc",
        f"{URL} 127.10.100.2 19961104142103 text/html -5\n".encode(),
        f"{URL} 127.10.100.2 tomorrow text/html 5\n".encode(),
        f"no address 127.10.100.2 19961104142103 text/html {'9' * 30}\n".encode(),
        b"http://a.org/ " + b"1 " * 500_000,
        record()[:-20],
        record(b""),
    ],
)
def test_damage_ends_the_archive_and_is_named(value):
    *pages, damaged = read(record() + value)
    assert pages[0].html == HTML
    assert isinstance(damaged, Damaged | Broken)
    assert damaged.reason is BrokenReason.MALFORMED_MESSAGE
