"""Files of each format, by readers that others have written; the note in them, which these pass over."""

import gzip
import io
import json
import re
import shutil
import subprocess
import tracemalloc
import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import zstandard
from warcio.archiveiterator import ArchiveIterator

from dehusk.streams.dataset.folder import file_format
from dehusk.streams.dataset.parts import SUFFIXES, Row
from dehusk.streams.files.inflating import inflated
from tests.documents import BARE, FULL

FORMATS = pytest.mark.parametrize("name", SUFFIXES)
FAILED = Row(None, "http://x.test/\r\n a", error="not-html:\r\n a PDF", line=b'{"error": "not-html"}\n')
ROWS = [
    Row(FULL.id, FULL.url, FULL, line=FULL.to_json_bytes() + b"\n"),
    Row(None, "", BARE, line=BARE.to_json_bytes() + b"\n"),
    FAILED,
]


def write(folder: Path, name: str, rows: Sequence[Row] = ROWS, note: bytes = b'{"a": 1}') -> Path:
    path = folder / f"part{SUFFIXES[name]}"
    with path.open("wb") as file:
        part = file_format(name).open(file, (), 1 << 20)
        for row in rows:
            part.write(row)
        part.end(note)
    return path


@FORMATS
@pytest.mark.parametrize("note", [b"{}", b'{"a": "\x1f\x8b\x08"}', b"{%s}" % (b"1" * 100_000)])
@pytest.mark.parametrize("rows", [[], ROWS * 50])
def test_a_note_is_read_as_it_was_written(tmp_path: Path, name: str, note: bytes, rows: list[Row]) -> None:
    assert file_format(name).read_note(write(tmp_path, name, rows, note)) == note


@FORMATS
def test_a_file_of_something_else_or_a_part_of_one_has_no_note(tmp_path: Path, name: str) -> None:
    path, read_note = write(tmp_path, name), file_format(name).read_note
    whole = path.read_bytes()
    others = [b"", b"x", bytes(20), zstandard.compress(b"{}\n"), gzip.compress(b"WARC/1.0\r\n\r\n")]
    for content in (*others, whole[:-1], whole[: len(whole) // 2], b"dehusk\x00\x01" * 3):
        path.write_bytes(content)
        with pytest.raises((ValueError, OSError)):
            read_note(path)


def test_documents_of_large_pages_do_not_wait_for_others_as_objects(tmp_path: Path) -> None:
    size = 6 << 20
    with (tmp_path / "part.parquet").open("wb") as file:
        part = file_format("parquet").open(file, (), 1 << 30)
        tracemalloc.start()
        try:
            for number in range(3):
                part.write(Row(document=replace(FULL, text=str(number) * size, raw_length=size)))
            assert tracemalloc.get_traced_memory()[0] < size
        finally:
            tracemalloc.stop()
        part.end(b"{}")


def test_parquet_is_read_by_pyarrow_and_duckdb(tmp_path: Path) -> None:
    path = write(tmp_path, "parquet")
    assert pyarrow.dataset.dataset(tmp_path, format="parquet").to_table().num_rows == len(ROWS)
    query = f"""select url, text, len(blocks), metadata.published_day, fetched_at, error
    from '{path}' where text is null or language = 'de'"""
    (whole, failed) = duckdb.sql(query).fetchall()
    assert whole[:4] == (FULL.url, FULL.text, 2, FULL.metadata.published_day if FULL.metadata else None)
    assert failed == (FAILED.url, None, None, None, None, FAILED.error)
    times = duckdb.sql(f"select epoch_us(fetched_at) from '{path}' where fetched_at is not null").fetchall()
    assert FULL.fetched_at is not None
    assert times == [(round(FULL.fetched_at.timestamp() * 1e6),)]


def test_a_corpus_as_in_the_guide_has_each_text_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[4] / "docs/how-to/offline.md").read_text()
    (query,) = re.findall(r'^duckdb -c "(copy .*?)"$', guide, re.MULTILINE | re.DOTALL)
    document = replace(FULL, language="en", text_length=500, expected_f1=0.7)
    documents = [
        document,
        document,
        replace(document, content_hash="1", language="de"),
        replace(document, content_hash="2", text_length=499),
        replace(document, content_hash="3", expected_f1=0.69),
    ]
    (tmp_path / "cleaned").mkdir()
    write(tmp_path / "cleaned", "parquet", [*(Row(each.id, each.url, each) for each in documents), *ROWS])
    monkeypatch.chdir(tmp_path)
    duckdb.sql(query)
    assert duckdb.sql("from 'corpus.parquet'").fetchall() == [(document.url, document.text)]


def test_parquet_is_compressed_by_zstd_in_row_groups_of_a_bounded_size(tmp_path: Path) -> None:
    path = write(tmp_path, "parquet", ROWS * 5000)
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    assert sum(group.num_rows for group in groups) == 3 * 5000
    assert len(groups) > 3
    assert {groups[0].column(number).compression for number in range(groups[0].num_columns)} == {"ZSTD"}
    assert {group.total_byte_size < 2 << 20 for group in groups} == {True}


def test_lines_are_read_by_readers_of_one_frame_and_of_all(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl.zst")
    lines = b"".join(row.line for row in ROWS)
    for across in (False, True):
        with (
            path.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=across) as reader,
        ):
            assert reader.read() == lines
    with path.open("rb") as file:
        assert inflated(file).read() == lines
    if shutil.which("zstd"):
        assert subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout == lines
    query = f"select count(*), count(error) from read_json('{path}', format='newline_delimited')"
    assert duckdb.sql(query).fetchall() == [(3, 1)]


def records(path: Path) -> list[tuple[dict[str, str], bytes]]:
    """Headers and blocks of the records of WARC, each a member of gzip, as the standard has them."""
    data, found = path.read_bytes(), []
    while data:
        member = zlib.decompressobj(31)
        record, data = member.decompress(data), member.unused_data
        assert member.eof
        head, _, rest = record.partition(b"\r\n\r\n")
        version, *lines = head.decode().split("\r\n")
        assert version == "WARC/1.0"
        headers = dict(line.split(": ", 1) for line in lines)
        assert len(headers) == len(lines)
        length = int(headers["Content-Length"])
        assert rest[length:] == b"\r\n\r\n"
        found.append((headers, rest[:length]))
    return found


def test_wet_has_a_record_for_each_text_and_for_each_error(tmp_path: Path) -> None:
    begun = datetime.now(UTC)
    path = write(tmp_path, "wet")
    info, full, bare, failed, note = records(path)
    kinds = [headers["WARC-Type"] for headers, _ in (info, full, bare, failed, note)]
    assert kinds == ["warcinfo", "conversion", "conversion", "metadata", "metadata"]
    headers, block = full
    assert headers.pop("WARC-Record-ID").startswith("<urn:uuid:")
    assert headers.pop("WARC-Block-Digest") == headers.pop("WARC-Payload-Digest")
    assert headers == {
        "WARC-Type": "conversion",
        "WARC-Target-URI": FULL.url,
        "WARC-Date": "2026-03-01T12:30:05Z",
        "WARC-Refers-To": "<urn:uuid:0b1c>",
        "WARC-Identified-Content-Language": "deu",
        "Content-Type": "text/plain",
        "Content-Length": str(len(FULL.text.encode())),
    }
    assert block.decode() == FULL.text
    assert (bare[1], bare[0].keys() & {"WARC-Refers-To", "WARC-Identified-Content-Language"}) == (b"", set())
    assert datetime.fromisoformat(bare[0]["WARC-Date"]) >= begun.replace(microsecond=0)
    assert failed[0]["WARC-Target-URI"] == "http://x.test/%0D%0A%20a"
    assert (failed[0]["Content-Type"], failed[1]) == (
        "application/warc-fields",
        b"error: not-html: a PDF\r\n",
    )
    assert json.loads(note[1]) == {"a": 1}


def test_wet_has_times_that_utc_has_not(tmp_path: Path) -> None:
    first = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))
    row = replace(ROWS[0], document=replace(FULL, fetched_at=first))
    assert len(records(write(tmp_path, "wet", [row]))) == 3


def test_wet_is_read_by_warcio(tmp_path: Path) -> None:
    path = write(tmp_path, "wet")
    with path.open("rb") as file:
        texts = [
            (record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read().decode())
            for record in ArchiveIterator(file, verify_http=False, check_digests="raise")
            if record.rec_type == "conversion"
        ]
    assert texts == [(FULL.url, FULL.text), (None, "")]


def test_records_that_warcio_writes_end_where_it_says(tmp_path: Path) -> None:
    assert len(records(write(tmp_path, "wet", ROWS * 20))) == 62
    assert io.BytesIO(write(tmp_path, "wet", []).read_bytes()).read(2) == b"\x1f\x8b"
