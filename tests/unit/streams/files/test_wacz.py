"""WACZ files, laid out as its specification has them, and hostile ones."""

import gzip
import io
import json
import struct
import sys
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.files.paths import STANDARD_INPUT
from dehusk.streams.files.readers import read_pages
from dehusk.streams.settings import MIB
from dehusk.streams.sources.warc import write_warc

MAX_BYTES = 10_000
PAGES = [RawPage(f"http://example.org/{number}", b"<p>%d" % number) for number in range(4)]
LIST = b"".join(
    json.dumps(line).encode() + b"\n"
    for line in (
        {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"},
        *({"id": page.url[-1], "url": page.url, "ts": "2026-01-02T03:04:05Z"} for page in PAGES),
    )
)


def warc(*pages):
    out = io.BytesIO()
    for page in pages:
        write_warc(page, out)
    return out.getvalue()


def wacz(archives, method=zipfile.ZIP_STORED, comment=b""):
    """The bytes of a WACZ with these archives: the WARC files are stored, all else is deflated."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        package.comment = comment
        package.writestr("pages/pages.jsonl", LIST)
        for name, content in archives.items():
            package.writestr(name, content, method)
        package.writestr("indexes/index.cdx", b"org,example)/0 20260102030405 {}\n")
        package.writestr("datapackage.json", b'{"profile": "data-package"}')
    return out.getvalue()


CRAWL = {"archive/rec-0.warc.gz": warc(*PAGES[:2]), "archive/rec-1.warc.gz": warc(*PAGES[2:])}
GOOD = wacz(CRAWL)


def read(tmp_path, content, name="crawl.wacz"):
    (tmp_path / name).write_bytes(content)
    return list(read_pages([tmp_path / name], MAX_BYTES))


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        wacz(CRAWL, comment=b"made by a crawler" * 1000),
        wacz(CRAWL, zipfile.ZIP_DEFLATED),
        wacz({"archive/a.warc": gzip.decompress(warc(*PAGES))}, zipfile.ZIP_DEFLATED),
        wacz({"archive/2026/A.WARC.GZ": warc(*PAGES)}),
        wacz(CRAWL | {"warcs/other.warc.gz": warc(*PAGES), "archive/notes.txt": b"<p>"}),
        b"#!/bin/sh\n" + GOOD,
    ],
)
def test_the_pages_are_those_of_the_archives(tmp_path, content):
    assert [page.html for page in read(tmp_path, content)] == [page.html for page in PAGES]


def test_a_page_has_the_address_and_the_time_of_its_record(tmp_path):
    (page,) = read(tmp_path, wacz({"archive/a.warc.gz": warc(PAGES[3])}))
    assert page.url == PAGES[3].url
    assert page.fetched_at is not None


def test_other_records_are_named_by_their_archive(tmp_path):
    content = gzip.compress(gzip.decompress(warc(PAGES[0])).replace(b"response", b"metadata"))
    (skipped,) = read(tmp_path, wacz({"archive/a.warc.gz": content}))
    assert skipped.reason is SkipReason.NOT_A_PAGE
    assert f"{tmp_path}/crawl.wacz: archive/a.warc.gz: a record of type 'metadata'" == skipped.detail


@pytest.mark.parametrize("name", ["pages.jsonl", "extraPages.jsonl", "pages.jsonl.gz"])
def test_the_list_of_pages_of_an_unpacked_file_holds_none(tmp_path, name):
    content = gzip.compress(LIST) if name.endswith("gz") else LIST
    (skipped,) = read(tmp_path, content, name)
    assert (skipped.reason, type(skipped)) == (SkipReason.NOT_A_PAGE, Skipped)


@pytest.mark.parametrize("name", ["crawl.zip", "crawl", "crawl.html"])
def test_a_zip_file_of_another_name_is_told_how_a_wacz_is_named(tmp_path, name):
    (skipped,) = read(tmp_path, GOOD, name)
    assert (skipped.reason, type(skipped)) == (SkipReason.NOT_HTML, Skipped)
    assert "zip" in skipped.detail.partition(";")[0]
    assert skipped.detail.endswith("; if it is a WACZ, give it a name with .wacz")


def end64(size):
    """The end of a zip file with a 64-bit directory of this size."""
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    return record + locator + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 2**32 - 1, 2**32 - 1, 0)


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        (b"", "its end is missing"),
        (b"PK", "its end is missing"),
        (GOOD[:-50], "its end is missing"),
        (GOOD[: len(GOOD) // 2], "its end is missing"),
        (wacz({}), "there is no WARC file below archive/"),
        (wacz({"data/a.warc.gz": warc(*PAGES)}), "there is no WARC file below archive/"),
        (wacz({"a.wacz": GOOD, "b.WACZ": GOOD}), "it holds other WACZ files: unpack it, and give these"),
        (
            b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 1, 1, 2**31, 0, 0),
            "a directory of 2,147,483,648 bytes",
        ),
        (end64(2**40), "a directory of 1,099,511,627,776 bytes"),
    ],
)
def test_what_is_no_whole_wacz_is_damaged_and_named(tmp_path, content, detail):
    (damaged,) = read(tmp_path, content)
    assert isinstance(damaged, Damaged)
    assert damaged.reason is BrokenReason.MALFORMED_MESSAGE
    assert str(tmp_path / "crawl.wacz") in damaged.detail
    assert detail in damaged.detail


BOMB = gzip.compress(bytes(8 * MIB), 9, mtime=0) * 320
FIRST = CRAWL["archive/rec-0.warc.gz"]


@pytest.mark.parametrize(
    ("name", "content", "method", "detail"),
    [
        ("a.warc.gz", FIRST, zipfile.ZIP_BZIP2, "compression method 12"),
        ("a.warc.gz", FIRST, zipfile.ZIP_LZMA, "compression method 14"),
        ("a.warc.gz", gzip.compress(BOMB), zipfile.ZIP_STORED, "a record begins with"),
        ("a.warc.gz", BOMB, zipfile.ZIP_DEFLATED, "as in a zip bomb only"),
        ("a.warc", BOMB, zipfile.ZIP_DEFLATED, "as in a zip bomb only"),
        ("a.warc.gz", FIRST[:-20], zipfile.ZIP_STORED, "damaged"),
        ("a.warc.gz", b"plain words", zipfile.ZIP_STORED, "a record begins with"),
    ],
)
def test_an_archive_that_cannot_be_read_does_not_hide_the_next_one(tmp_path, name, content, method, detail):
    packed = io.BytesIO(wacz({f"archive/{name}": content}, method))
    with zipfile.ZipFile(packed, "a") as package:
        package.writestr("archive/b.warc.gz", warc(PAGES[3]))
    *_, damaged, page = read(tmp_path, packed.getvalue())
    assert isinstance(damaged, Damaged)
    assert f"crawl.wacz: archive/{name}" in damaged.detail
    assert detail in damaged.detail
    assert page.html == PAGES[3].html


def test_an_encrypted_archive_is_named(tmp_path):
    content = bytearray(GOOD)
    content[content.index(b"archive/rec-0", content.index(b"PK\x01\x02")) - 46 + 8] |= 1
    damaged, *pages = read(tmp_path, bytes(content))
    assert "archive/rec-0.warc.gz cannot be read" in damaged.detail
    assert "encrypted" in damaged.detail
    assert [page.html for page in pages] == [page.html for page in PAGES[2:]]


def test_files_that_overlap_are_refused(tmp_path):
    """Hold that a file is not read as often as the directory names it."""
    content = wacz({"archive/a.warc.gz": warc(*PAGES, *PAGES, *PAGES)})
    start, end = content.index(b"PK\x01\x02"), content.rindex(b"PK\x05\x06")
    directory = content[start:end]
    many = directory * 20
    count = 4 * 20
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(many), start, 0)
    (damaged,) = read(tmp_path, content[:start] + many + tail)
    assert isinstance(damaged, Damaged)
    assert "its files overlap" in damaged.detail


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_record_that_inflates_to_much_takes_bounded_memory(tmp_path, method):
    head = b"WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: %d\r\n\r\n" % (200 * MIB)
    record = head + bytes(200 * MIB) + b"\r\n\r\n"
    name = "archive/a.warc" if method == zipfile.ZIP_DEFLATED else "archive/a.warc.gz"
    content = record if method == zipfile.ZIP_DEFLATED else gzip.compress(record, 1)
    packed = wacz({name: content}, method)
    del record, content
    tracemalloc.start()
    try:
        (skipped,) = read(tmp_path, packed)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert skipped.reason is SkipReason.NOT_A_PAGE
    assert most < 8 * MIB


def test_a_wacz_in_gzip_is_to_be_unpacked(tmp_path):
    (broken,) = read(tmp_path, gzip.compress(GOOD), "crawl.wacz.gz")
    assert isinstance(broken, Broken)
    assert "unpack it" in broken.detail


def test_a_wacz_is_read_from_its_path_alone(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(GOOD))))
    (damaged,) = read_pages([STANDARD_INPUT], MAX_BYTES)
    assert damaged.detail == "standard input is a zip file: give its path"


@given(st.integers(0, len(GOOD) - 1), st.binary(min_size=1, max_size=8))
def test_whatever_is_changed_nothing_is_raised(tmp_path_factory, at, changed):
    directory = Path(tmp_path_factory.mktemp("wacz"))
    for outcome in read(directory, GOOD[:at] + changed + GOOD[at + len(changed) :]):
        assert isinstance(outcome, RawPage | Skipped | Broken)
