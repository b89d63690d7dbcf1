import gzip
import random
import zlib

import pytest
import zstandard

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.page import Answer, html_page, offline_page, page_url

RANDOM = random.Random(1).randbytes(5000)
HTML = b"<!doctype html><title>t</title><p>text</p>"


def outcome(**answer):
    return html_page(Answer(**({"url": "https://example.org/", "body": HTML} | answer)), "test", 10_000)


def test_an_answer_is_a_page():
    page = outcome(content_type="text/html; charset=utf-8", status=200, language="de", id="7")
    assert page == RawPage("https://example.org/", HTML, id="7", language="de", source="test")


@pytest.mark.parametrize(
    "kind",
    [
        *("text/html,text/html", "text/html charset=utf-8", " TEXT/HTML ;charset=utf-8"),
        *("application/xhtml+xml", "html", "HTML; charset=utf-8", "xhtml"),
    ],
)
def test_a_content_type_is_read_as_servers_write_it(kind):
    assert isinstance(outcome(content_type=kind, body="words"), RawPage)


def test_what_is_said_of_a_page_can_be_written_down():
    page = outcome(id="\ud800", language="d\udfffe", url="http://a.b/\ud800")
    assert (page.id, page.language, page.url) == ("\ufffd", "d\ufffde", "http://a.b/\ufffd")


@pytest.mark.parametrize("status", [199, 301, 404, 500, -1])
def test_an_error_status_is_skipped(status):
    assert outcome(status=status).reason is SkipReason.ERROR_STATUS


@pytest.mark.parametrize(
    "kind", ["application/pdf", "image/png", "text/plain", "application/json; charset=utf-8"]
)
def test_other_content_types_are_skipped(kind):
    assert outcome(content_type=kind).reason is SkipReason.NOT_HTML


ICON = bytes.fromhex("000001000200101000000100200068040000260000002020000001002000a81000008e040000")
NUL_FIRST = [
    ICON,
    b"\0\0\2\0\1\0\x20\x20\0\0\5\0\7\0\xa8\x10\0\0\x16\0\0\0" + bytes(50),
    b"\0\0\2" + bytes(9) + b"\x40\0\x40\0\x18\x20",
    b"\0\0\0\x18ftypmp42" + bytes(50),
    b"\0\1\0\0\0\x12\1\0\0\4\0\x20DSIG",
    b"\0asm\1\0\0\0",
]


@pytest.mark.parametrize(
    "body",
    [
        *(b"%PDF-1.7 ...", b"\x89PNG\r\n\x1a\n....", b"PK\x03\x04....", b"wOFF\0\1", *NUL_FIRST),
        b"<rss version='2.0'><channel><description><p>",
        b"<?xml version='1.0'?>\n<!-- a feed -->\n<feed xmlns='http://www.w3.org/2005/Atom'><link>",
        b"\xef\xbb\xbf<?xml version='1.0'?><!DOCTYPE x><urlset >",
        "<rdf:RDF xmlns='x'><title>",
        b"<svg xmlns='http://www.w3.org/2000/svg'><a>",
        b"<svg><foreignObject><div><p>text</p></div></foreignObject><svg></svg></svg>\n<!-- drawn -->",
    ],
)
def test_other_formats_and_feeds_are_skipped_whatever_the_content_type_says(body):
    assert outcome(body=body, content_type="text/html").reason is SkipReason.NOT_HTML


@pytest.mark.parametrize(
    "body",
    [
        b"<!doctype html>\n<svg><symbol id=a></symbol></svg><p>text",
        b"<svg style='display:none'>" + b"<symbol id=a></symbol>" * 200 + b"</svg><div><p>text</p></div>",
        "<svg></svg>\n<main><p>text<svg></svg></main>",
    ],
)
def test_a_page_that_begins_with_a_drawing_is_no_image(body):
    assert isinstance(outcome(body=body, content_type="text/html"), RawPage)


@pytest.mark.parametrize("kind", [None, "application/octet-stream", "text/html", "text/html; charset=utf-8"])
@pytest.mark.parametrize(
    "body",
    [RANDOM, RANDOM[:50], zlib.compress(HTML), b"\0\1\0\0glyf loca", "\0words"],
    ids=["random", "short", "zlib", "font", "text"],
)
def test_bytes_that_no_text_has_are_skipped_whatever_the_content_type_says(kind, body):
    assert outcome(body=body, content_type=kind).reason is SkipReason.NOT_HTML


@pytest.mark.parametrize("kind", [None, "text/html"])
def test_markup_that_random_bytes_hold_by_chance_makes_no_page(kind):
    body = RANDOM[:1000] + b"<p><a href>" + RANDOM[1000:]
    assert outcome(body=body, content_type=kind).reason is SkipReason.NOT_HTML


@pytest.mark.parametrize(
    "body",
    [
        b"\n <title>\x0b\x1f\x02\x03\x04\x05</title>\x00",
        b"Warning: no such file\x1a in " + b"x" * 100 + HTML,
        bytes(1000) + b" " + HTML + bytes(1000),
        "<p>a\x01b",
    ],
)
def test_a_page_may_hold_a_few_bytes_that_no_text_has(body):
    assert isinstance(outcome(body=body), RawPage)
    assert isinstance(outcome(body=body, content_type="text/html"), RawPage)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (HTML.decode().encode("utf-16"), None),
        (HTML.decode().encode("utf-16-be"), "text/html"),
        (HTML.decode().encode("utf-16-le"), "text/html; charset=utf-16le"),
        ("<p>日本".encode("iso-2022-jp"), "text/html; charset=iso-2022-jp"),
    ],
)
def test_a_page_is_text_once_it_is_decoded(body, kind):
    assert isinstance(outcome(body=body, content_type=kind), RawPage)


def test_a_page_may_begin_with_a_long_comment():
    assert isinstance(outcome(body=b"<!--" + b" " * 5000 + b"--><p>text"), RawPage)


@pytest.mark.parametrize(
    "kind", [None, "", "text", "application/octet-stream", "application/xml", ["text/html"]]
)
def test_without_a_content_type_the_body_is_looked_at(kind):
    assert isinstance(outcome(content_type=kind), RawPage)
    assert outcome(content_type=kind, body=b"some words").reason is SkipReason.NOT_HTML
    assert outcome(content_type=kind, body=b"<?xml version='1.0'?><rss><link>").reason is SkipReason.NOT_HTML


@pytest.mark.parametrize("body", [None, b"", "", {}])
def test_no_content_is_skipped(body):
    assert outcome(body=body).reason is SkipReason.NO_BODY


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b""), "gzip"),
        (zlib.compress(b""), "deflate"),
        (zstandard.compress(gzip.compress(b"")), "gzip, zstd"),
        *((mark, None) for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")),
    ],
)
def test_no_content_within_compression_or_behind_a_byte_order_mark_is_skipped(body, encoding):
    assert outcome(body=body, content_encoding=encoding) == outcome(body=b"")


@pytest.mark.parametrize(("odd", "kind"), [(7, "number"), (True, "boolean"), ({"a": 1}, "object")])
def test_a_url_or_content_of_a_wrong_type_breaks_the_page(odd, kind):
    detail = f"a JSON {kind} where a string is expected"
    assert outcome(url=odd) == Broken(BrokenReason.MALFORMED_MESSAGE, f"the URL: {detail}")
    assert outcome(body=odd) == Broken(
        BrokenReason.MALFORMED_MESSAGE, f"the content: {detail}", "https://example.org/"
    )


def test_the_limit_holds_before_and_after_inflating_and_says_how_to_raise_it():
    large = outcome(body=b"<p>" + b"x" * 10_000)
    assert large.reason is BrokenReason.PAGE_TOO_LARGE
    assert large.detail == "10,003 bytes, more than the limit of 10,000 bytes (--max-page-mib)"
    bomb = gzip.compress(b"<p>" + b"x" * 10_000, mtime=0)
    inflating = outcome(body=bomb, content_encoding="gzip")
    assert inflating.reason is BrokenReason.INFLATES_TOO_LARGE
    assert inflating.detail == f"the gzip body of {len(bomb)} bytes grows beyond 10,000 (--max-page-mib)"


@pytest.mark.parametrize("encoding", ["utf-8", "koi8-r"])
def test_the_limit_holds_for_a_page_in_utf8_be_it_text_or_bytes(encoding):
    kind = f"text/html; charset={encoding}"
    for letters, is_page in ((4_998, True), (5_000, False)):
        html = "<p>" + "ж" * letters
        outcomes = outcome(body=html), outcome(body=html.encode(encoding), content_type=kind)
        assert [isinstance(each, RawPage) for each in outcomes] == [is_page, is_page]


def test_text_is_unicode_already_whatever_the_page_declares():
    page = outcome(body="<meta charset=koi8-r><p>é \ud800", content_type="text/html; charset=koi8-r")
    assert page.html.decode() == "<meta charset=koi8-r><p>é \ufffd"


@pytest.mark.parametrize("kind", [None, "application/octet-stream", "text/html"])
@pytest.mark.parametrize("encoding", [None, "br", "identity"])
def test_a_page_in_zstd_is_known_by_its_bytes(kind, encoding):
    body = zstandard.ZstdCompressor(write_content_size=False).compress(HTML)
    assert outcome(body=body, content_type=kind, content_encoding=encoding).html == HTML


@pytest.mark.parametrize("kind", ["text/html", "application/octet-stream", ""])
@pytest.mark.parametrize("encoding", [None, "gzip", "identity"])
def test_a_page_in_gzip_is_known_by_its_bytes(kind, encoding):
    twice = (
        gzip.compress(gzip.compress(HTML, mtime=0), mtime=0)
        if encoding == "gzip"
        else gzip.compress(HTML, mtime=0)
    )
    assert outcome(body=twice, content_type=kind, content_encoding=encoding).html == HTML


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b"\0\1\2" * 9000, mtime=0),
        gzip.compress(b"some words " * 9000, mtime=0),
        gzip.compress(b"<urlset><url>" * 9000, mtime=0),
        gzip.compress(HTML, mtime=0)[:8],
    ],
)
def test_another_file_in_gzip_is_skipped_as_it_is(body):
    assert outcome(body=body) == Skipped(SkipReason.NOT_HTML, "a gzip file", "https://example.org/")


def test_a_page_in_gzip_is_inflated_no_further_than_a_page_may_be():
    body = gzip.compress(HTML + b"x" * 10_000, mtime=0)
    assert outcome(body=body).reason is BrokenReason.INFLATES_TOO_LARGE
    assert outcome(body=gzip.compress(HTML, mtime=0)[:-9]).reason is BrokenReason.MALFORMED_COMPRESSION


def test_the_charset_of_the_content_type_counts_before_the_crawlers():
    assert (
        outcome(content_type='text/html;Charset="koi8-r"', charset="utf-8", body=HTML + b"\xcf").encoding
        == "koi8-r"
    )
    assert outcome(content_type="text/html", charset="koi8-r", body=HTML + b"\xcf").encoding == "koi8-r"
    assert outcome(content_type="text/html; charset=none", charset="koi8-r").encoding == "koi8-r"


@pytest.mark.parametrize("url", ["http://a.b/c", "HTTPS://a.b", "https://a.b/ü?q=1#f", "file:///a/b.html"])
def test_urls_of_pages(url):
    assert page_url(f" {url}\n") == url


@pytest.mark.parametrize("url", ["x\ud800", " x\ufffd "])
def test_any_url_of_a_page_of_no_crawler_can_be_written(url):
    assert offline_page(url=url, body="<p>", source="x", max_bytes=100).url == "x\ufffd"


def test_white_space_inside_a_url_is_what_browsers_make_of_it():
    assert page_url("http://a.b/c d\n/e") == "http://a.b/c%20d/e"


@pytest.mark.parametrize(
    "url", [None, "", " ", "a.b/c", "http://", "http:///c", "http://a\x00b/", "http://a.b/\x7f", "\ud800"]
)
def test_what_is_no_url_breaks_the_page(url):
    broken = page_url(url)
    assert isinstance(broken, Broken)
    assert broken.reason is BrokenReason.MISSING_URL


def test_an_endless_url_breaks_the_page():
    assert page_url("http://a.b/" + "c" * 1_000_000).reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize("url", ["dns:example.org", "javascript:void(0)", "data:text/html,x", "ftp://a.b/c"])
def test_other_schemes_are_no_pages(url):
    skipped = page_url(url)
    assert isinstance(skipped, Skipped)
    assert skipped.reason is SkipReason.NOT_A_PAGE
