"""Places of items in an input: which part of which file each is, and where reading goes on."""

import codecs
import gzip
import io
import json
import lzma
import random
from pathlib import Path

import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator
from warcio.warcwriter import WARCWriter

from dehusk.schemas.outcomes import Broken, Damaged
from dehusk.schemas.pages import RawPage
from dehusk.streams.files.position import BEGINNING, InputPosition, Place
from dehusk.streams.files.readers import read_pages
from dehusk.streams.sources.warc import write_warc

MAX_BYTES = 10_000
PAGE = '{"url": "http://x.test/", "html": "<p>%s"}'


def read(path: Path, after: Place = BEGINNING) -> list[tuple[object, Place]]:
    position = InputPosition()
    return [(each, position.place) for each in read_pages([path], MAX_BYTES, position=position, after=after)]


def spans(path: Path) -> list[tuple[int | None, int | None]]:
    return [(place.offset, place.length) for _, place in read(path)]


def archive(*, compressed: bool) -> bytes:
    """Pages of a few sizes, one of them too large to be read, and a record that is none."""
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=compressed)
    writer.write_record(writer.create_warcinfo_record("a.warc", {"software": "a test"}))
    for number, size in enumerate((10, 100, 1_000_000, 0, 30)):
        response = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>" + b"x" * size
        payload, url = io.BytesIO(response), f"http://x.test/{number}"
        record = writer.create_warc_record(url, "response", payload=payload, length=len(response))
        writer.write_record(record)
    return out.getvalue()


@pytest.mark.parametrize("compressed", [True, False])
def test_the_records_of_an_archive_lie_where_warcio_finds_them(tmp_path: Path, *, compressed: bool) -> None:
    file = tmp_path / "crawl.warc.gz"
    file.write_bytes(archive(compressed=compressed))
    with file.open("rb") as opened:
        records = ArchiveIterator(opened)
        known = [(records.get_record_offset(), records.get_record_length()) for _ in records]
    assert len(known) == 6
    assert spans(file) == known
    assert not compressed or sum(length for _, length in known) == file.stat().st_size


@pytest.mark.parametrize(
    ("lost", "kinds"),
    [(0, [RawPage, RawPage]), (1, [RawPage, RawPage, Damaged]), (100, [RawPage, Damaged])],
    ids=["nothing", "a byte of its end", "a part of its page"],
)
def test_the_place_of_a_record_before_damage_is_known(tmp_path: Path, lost: int, kinds: list[type]) -> None:
    out = io.BytesIO()
    write_warc(RawPage("http://x.test/0", b"<p>0"), out)
    end = out.tell()
    write_warc(RawPage("http://x.test/1", b"<p>1"), out)
    whole = out.getvalue()
    (tmp_path / "crawl.warc.gz").write_bytes(whole[: len(whole) - lost])
    found = read(tmp_path / "crawl.warc.gz")
    assert [type(each) for each, _ in found] == kinds
    (_, first), (_, second), *_ = found
    assert (first.offset, first.length) == (0, end)
    assert lost or (second.offset, second.length) == (end, len(whole) - end)


@pytest.mark.parametrize("damage", [b"rubbish", gzip.compress(b"WARC/1.0\r\n" * 9)[:30]])
def test_the_place_of_damage_is_not_that_of_the_record_before(tmp_path: Path, damage: bytes) -> None:
    out = io.BytesIO()
    write_warc(RawPage("http://x.test/0", b"<p>0"), out)
    begin = out.tell()
    write_warc(RawPage("http://x.test/1", b"<p>1"), out)
    end = out.tell()
    (tmp_path / "crawl.warc.gz").write_bytes(out.getvalue() + damage)
    found = read(tmp_path / "crawl.warc.gz")
    assert [type(each) for each, _ in found] == [RawPage, RawPage, Damaged]
    assert spans(tmp_path / "crawl.warc.gz") == [(0, begin), (begin, end - begin), (None, None)]


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstandard.compress])
def test_a_record_before_a_damaged_part_of_its_file_is_read(tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
    out = io.BytesIO()
    write_warc(RawPage("http://x.test/0", b"<p>0"), out)
    whole, damaged = compress(gzip.decompress(out.getvalue())), compress(random.Random(1).randbytes(9_000))
    (tmp_path / "crawl.warc").write_bytes(whole + damaged[:20] + bytes(9_000))
    assert [type(each) for each, _ in read(tmp_path / "crawl.warc")] == [RawPage, Damaged]


def test_a_record_that_is_cut_short_has_no_place(tmp_path: Path) -> None:
    whole = archive(compressed=False)
    (tmp_path / "crawl.warc").write_bytes(whole[:400_000])
    *_, (too_large, place), (damaged, end) = read(tmp_path / "crawl.warc")
    assert isinstance(too_large, Broken)
    assert isinstance(damaged, Damaged)
    assert (place.offset, place.length, end.offset, end.length) == (None,) * 4


def test_records_that_share_a_member_of_gzip_have_no_part_of_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "crawl.warc.gz").write_bytes(gzip.compress(archive(compressed=False)))
    assert spans(tmp_path / "crawl.warc.gz") == [(None, None)] * 6


def test_lines_lie_where_their_bytes_are(tmp_path: Path) -> None:
    lines = [PAGE % "ä", "\n", PAGE % "ö", "\r\n", PAGE % ("x" * 200_000), "{", PAGE % "1"]
    whole = codecs.BOM_UTF8 + "\n".join(lines).encode()
    (tmp_path / "pages.jsonl").write_bytes(whole)
    found = [whole[offset : offset + length] for offset, length in spans(tmp_path / "pages.jsonl")]
    assert found == [
        codecs.BOM_UTF8 + f"{lines[0]}\n".encode(),
        *(f"{lines[number]}\n".encode() for number in (2, 4, 5)),
        lines[6].encode(),
    ]


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstandard.compress])
def test_compressed_lines_have_no_part_of_the_file_alone(tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "pages.jsonl").write_bytes(compress(f"{PAGE % 1}\n{PAGE % 2}\n".encode()))
    assert spans(tmp_path / "pages.jsonl") == [(None, None)] * 2


def test_lines_in_utf_16_have_no_part_of_the_file_alone(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_bytes(f"{PAGE % 1}\n{PAGE % 2}\n".encode("utf-16"))
    assert spans(tmp_path / "pages.jsonl") == [(None, None)] * 2


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_an_html_file_is_a_page_as_a_whole(tmp_path: Path, compress) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "page.html").write_bytes(compress(b"<p>A page"))
    assert spans(tmp_path / "page.html") == [(0, (tmp_path / "page.html").stat().st_size)]


def test_reading_goes_on_behind_any_item_and_opens_no_file_before(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("".join(f"{PAGE % number}\n" for number in range(3)))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.warc.gz").write_bytes(archive(compressed=True))
    (tmp_path / "b" / "d.html").write_text("<p>A page")
    (tmp_path / "e.jsonl").write_text(f"{PAGE % 3}\n{{\n")
    everything = read(tmp_path)
    assert [place.item for _, place in everything] == [1, 2, 3, 1, 2, 1, 2, 3, 4, 5, 6, 1]
    for number, (_, place) in enumerate(everything):
        assert read(tmp_path, after=place) == everything[number + 1 :]
    (tmp_path / "a.jsonl").write_text("{" * 10)
    assert read(tmp_path, after=everything[2][1]) == everything[3:]


def test_the_position_of_bytes_counts_files_that_are_passed_over(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_text(f"{PAGE % name}\n" * 10)
    position = InputPosition()
    pages = read_pages([tmp_path], MAX_BYTES, position=position, after=Place(1, 5))
    next(pages)
    assert position.bytes > len(f"{PAGE % 'a'}\n" * 10)
    assert list(pages)
    assert position.bytes == 3 * len(f"{PAGE % 'a'}\n" * 10)


def test_a_page_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(json.dumps({"url": "http://x.test/", "html": "<p>"}))
    ((_, place),) = read(tmp_path)
    assert place.name == str(tmp_path / "pages.jsonl")
