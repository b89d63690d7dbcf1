import json
import os

import pytest
from warcio.warcwriter import WARCWriter

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.warc_pointer import WarcPointer
from dehusk.streams.stores.stored import StoredPath
from tests.unit.streams.sources.crawler_messages import (
    ARCHIVE,
    MAX_BYTES,
    TIME,
    URL,
    as_json,
    crawl_log,
    warc,
)
from tests.unit.streams.sources.test_warc import BODY, HTML
from tests.web_server import web_server


@pytest.fixture(params=[True, False], ids=["gzip", "plain"])
def archive(request, tmp_path):
    """A WARC file as Heritrix leaves it: the offset of each record by what it is."""
    offsets, compress = {}, request.param
    records = {
        "response": warc(BODY, compress=compress),
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


def test_no_detail_tells_a_signature():
    with web_server() as server:
        server.objects[f"/{ARCHIVE}"] = b"no archive"
        outcome = pointed(crawl_log(warc_filename=f"{ARCHIVE}?signature=secret"), StoredPath(server.url))
    assert outcome.detail.startswith(f"{ARCHIVE!r} does not hold it")
    assert "secret" not in outcome.detail


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


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=f"cannot write {tmp_path}/no"):
        WarcPointer(1, tmp_path / "no").encode(RawPage(URL, b"<p>"))


def test_pages_cannot_be_encoded_without_a_directory():
    with pytest.raises(ConfigurationError, match="--warc-directory"):
        WarcPointer(1, None).encode(RawPage(URL, b"<p>"))
