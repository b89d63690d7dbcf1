import io
import json
import os
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.warc_pointer import WarcPointer

URL = "http://example.org/a"
HTML = "<!doctype html><title>Ж</title><p>Привет"
NAME = "WEB-20260102030405678-00000-7~crawler~8443.warc.gz"


@pytest.fixture(params=[True, False], ids=["gzip", "plain"])
def archive(request, tmp_path):
    """A WARC file as Heritrix leaves it: the offset of each record by what it is."""
    offsets = {}
    with (tmp_path / NAME).open("wb") as out:
        writer = WARCWriter(out, gzip=request.param)
        writer.write_record(writer.create_warcinfo_record(NAME, {"software": "Heritrix/3.12"}))
        for kind in ("response", "revisit", "dns", "image"):
            offsets[kind] = out.tell()
            writer.write_record(record(writer, kind))
        offsets["end"] = out.tell()
    return offsets


def record(writer, kind):
    body = HTML.encode("koi8-r")
    url = "dns:example.org" if kind == "dns" else URL
    content_type = "image/png" if kind == "image" else "text/html; charset=koi8-r"
    return writer.create_warc_record(
        url,
        "revisit" if kind == "revisit" else "response",
        payload=io.BytesIO(body),
        length=len(body),
        http_headers=StatusAndHeaders("200 OK", [("Content-Type", content_type)], protocol="HTTP/1.1"),
        warc_headers_dict={"WARC-Date": "2026-01-02T03:04:05Z", "WARC-Record-ID": "<urn:uuid:1>"},
    )


def line(**more):
    """A line of the crawl log, as Heritrix's CrawlLogJsonBuilder builds it."""
    return {
        "timestamp": "2026-01-02T03:04:05.678Z",
        "content_length": 40,
        "size": 300,
        "status_code": 200,
        "url": URL,
        "hop_path": "L",
        "via": "http://example.org/",
        "mimetype": "text/html",
        "thread": 7,
        "start_time_plus_duration": "20260102030405123+555",
        "content_digest": "sha1:Q4JC6POHK2CXJLM2SEXSFZRG4XBGAQB7",
        "seed": None,
        "host": "example.org",
        "annotations": "",
        "warc_filename": NAME,
        "warc_offset": 0,
        "extra_info": {},
        **more,
    }


def decode(fields, directory, max_bytes=100_000):
    value = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    message = Message(None, value)
    source = WarcPointer(max_bytes, directory)
    assert source.recognises(message)
    (outcome,) = source.decode(message)
    return outcome


def test_the_page_is_read_where_the_line_points(archive, tmp_path):
    assert decode(line(warc_offset=archive["response"]), tmp_path) == RawPage(
        url=URL,
        html=HTML.encode(),
        id="urn:uuid:1",
        fetched_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        encoding="koi8-r",
        source="warc-pointer",
    )


def test_a_file_that_heritrix_still_writes_to_is_read(archive, tmp_path):
    (tmp_path / NAME).rename(tmp_path / f"{NAME}.open")
    assert decode(line(warc_offset=archive["response"]), tmp_path).html == HTML.encode()


def test_a_revisit_is_no_page(archive, tmp_path):
    outcome = decode(line(warc_offset=archive["revisit"], annotations="warcRevisit:digest"), tmp_path)
    assert outcome.reason is SkipReason.NOT_A_PAGE


def test_a_line_without_a_content_type_leaves_it_to_the_record(archive, tmp_path):
    assert decode(line(warc_offset=archive["response"], mimetype="no-type"), tmp_path).html == HTML.encode()
    outcome = decode(line(warc_offset=archive["image"], mimetype="no-type"), tmp_path)
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
    outcome = decode(line(**more), None)
    assert outcome.reason is reason
    assert outcome.url == {**line(), **more}["url"]


def test_a_record_of_another_address_is_not_taken(archive, tmp_path):
    outcome = decode(line(url=URL + "b", warc_offset=archive["response"]), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND
    assert URL in outcome.detail


@pytest.mark.parametrize("offset", [1, 2**40, 2**63, 2**64 - 1])
def test_an_offset_where_no_record_begins_finds_none(archive, tmp_path, offset):
    assert decode(line(warc_offset=offset), tmp_path).reason is BrokenReason.RECORD_NOT_FOUND


def test_the_end_of_the_file_holds_no_record(archive, tmp_path):
    outcome = decode(line(warc_offset=archive["end"]), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND


def test_a_record_that_is_not_yet_written_to_its_end_is_not_found(archive, tmp_path):
    os.truncate(tmp_path / NAME, archive["revisit"] - 30)
    outcome = decode(line(warc_offset=archive["response"]), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND


def test_a_page_that_is_too_large_is_named_so(archive, tmp_path):
    outcome = decode(line(warc_offset=archive["response"]), tmp_path, max_bytes=10)
    assert outcome.reason is BrokenReason.PAGE_TOO_LARGE


def test_a_missing_file_is_not_found(tmp_path):
    assert decode(line(), tmp_path).reason is BrokenReason.RECORD_NOT_FOUND


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_not_found(tmp_path, name):
    outcome = decode(line(warc_filename=name), tmp_path)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND
    assert outcome.detail.encode()


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / NAME)
    assert decode(line(), tmp_path).reason is BrokenReason.RECORD_NOT_FOUND


def test_without_a_directory_nothing_is_found_and_the_option_is_named():
    outcome = decode(line(), None)
    assert outcome.reason is BrokenReason.RECORD_NOT_FOUND
    assert "--warc-directory" in outcome.detail


@pytest.mark.parametrize("name", ["../secret.warc", "/etc/passwd", "a/b.warc", "..", ".", "", 5, ["a/b"]])
def test_no_name_leads_out_of_the_directory(archive, tmp_path, name):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / NAME).rename(tmp_path / "secret.warc")
    outcome = decode(line(warc_filename=name, warc_offset=archive["response"]), inner)
    assert outcome.reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize("offset", [-1, None, "x", 1.5, True])
def test_an_offset_is_a_number(tmp_path, offset):
    assert decode(line(warc_offset=offset), tmp_path).reason is BrokenReason.MALFORMED_MESSAGE


def test_a_damaged_object_is_malformed():
    (broken,) = WarcPointer(1, None).decode(Message(None, b'{"url": "http://example.org/", '))
    assert broken.reason is BrokenReason.MALFORMED_MESSAGE


@pytest.mark.parametrize("value", [b"[]", b"", b"7"])
def test_what_is_no_object_is_of_another_format(value):
    (broken,) = WarcPointer(1, None).decode(Message(None, value))
    assert broken.reason is BrokenReason.WRONG_FORMAT


@pytest.mark.parametrize("value", [None, b"", b"<html>", b"{}", b'{"url": "", "status_code": 200}'])
def test_other_messages_are_not_recognised(value):
    assert not WarcPointer(1, None).recognises(Message(None, value))


def test_encoded_pages_are_written_to_an_archive_and_pointed_to(tmp_path):
    source = WarcPointer(100_000, tmp_path)
    time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    pages = [RawPage(f"{URL}{number}", HTML.encode(), fetched_at=time, language="ru") for number in range(3)]
    records = [source.encode(page) for page in pages]
    for page, written in zip(pages, records, strict=True):
        assert written.key is None
        assert json.loads(written.value).keys() == line().keys()
        read = decode(written.value, tmp_path)
        assert (read.url, read.html) == (page.url, page.html)
        assert (read.fetched_at, read.language) == (time, "ru")
    assert len(list(tmp_path.iterdir())) == 1


def test_pages_cannot_be_encoded_without_a_directory():
    with pytest.raises(ConfigurationError, match="--warc-directory"):
        WarcPointer(1, None).encode(RawPage(URL, b"<p>"))


@given(data=st.data())
def test_whatever_the_value_it_has_one_outcome(data, tmp_path_factory):
    value = json.dumps(line()).encode()
    at = data.draw(st.integers(0, len(value)))
    mutated = value[:at] + data.draw(st.binary(max_size=6)) + value[at + data.draw(st.integers(0, 6)) :]
    assert len(WarcPointer(1000, tmp_path_factory.getbasetemp()).decode(Message(None, mutated))) == 1
