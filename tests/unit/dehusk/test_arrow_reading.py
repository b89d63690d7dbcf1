"""Pages of files as batches of Arrow, beside what `dehusk clean` makes of the files."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dehusk
from dehusk import arrow
from dehusk.streams.settings import MIB
from tests.kept_processes import end_kept_processes
from tests.warc_files import warc

PAGES = sorted((Path(__file__).parents[3] / "inference/golden_pages").glob("*.html"))
PROSE = "<title>Foxes</title><p>A paragraph of prose, which is the whole of its page.</p>" * 3
BAD = [("text/html", b""), ("application/pdf", b"%PDF-1.7"), ("text/html", b"\x1f\x8bnonsense" * 9)]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    end_kept_processes()


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Return a folder of pages in several formats, some of them damaged."""
    folder = tmp_path / "crawl"
    folder.mkdir()
    pages = [page.read_bytes() for page in PAGES]
    koi8 = "<meta charset=utf-8><p>Привет, мир, это текст страницы.".encode("koi8-r")
    bodies = [*(("text/html", page) for page in pages), ("text/html; charset=koi8-r", koi8), *BAD]
    whole = warc([(f"http://x.test/{number}", *body) for number, body in enumerate(bodies)])
    (folder / "a.warc.gz").write_bytes(whole)
    (folder / "b.warc.gz").write_bytes(whole[: len(whole) // 2])
    lines = [{"id": "7", "url": "http://x.test/ä", "html": PROSE}, {"html": PROSE}, {"html": 7}, {}]
    (folder / "c.jsonl.gz").write_bytes(gzip.compress("".join(f"{json.dumps(o)}\n" for o in lines).encode()))
    (folder / "d.jsonl").write_text("{}\n" + "nonsense\n" + json.dumps(lines[0]) + "\n")
    (folder / "e.html").write_text(PROSE)
    (folder / "f.bin").write_bytes(b"%PDF-1.7")
    (folder / "g.parquet").write_bytes(b"PAR1 of which the rest is missing")
    return folder


def test_rows_that_were_read_become_those_of_clean(crawl: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dehusk", "clean", "--output", tmp_path / "out", "--processes", "1"]
    ended = subprocess.run([*command, "--no-blocks", crawl], check=False, capture_output=True)
    assert ended.returncode == 1  # as files are damaged
    expected = pq.read_table(tmp_path / "out")
    batches = list(arrow.read(crawl, rows=5))
    found = pa.Table.from_batches([arrow.clean(batch, **arrow.COLUMNS) for batch in batches])
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()
    reasons = {row["error"] and row["error"].partition(":")[0] for row in expected.to_pylist()}
    assert reasons == {None, "no-body", "not-html", "malformed-message", "wrong-format"}
    assert max(batch.num_rows for batch in batches) == 5
    assert arrow.read(str(crawl / "e.html")).__next__()["url"].to_pylist() == [(crawl / "e.html").as_uri()]


def test_what_was_read_is_counted(crawl: Path) -> None:
    table = pa.Table.from_batches(arrow.read(crawl / "a.warc.gz"))
    observed = arrow.observe(table, labeler="rules", **arrow.COLUMNS)
    assert set(observed["site"].to_pylist()) == {"x.test"}
    assert 0 < observed.num_rows < table.num_rows


def test_records_that_an_index_names_are_read(crawl: Path, tmp_path: Path) -> None:
    whole = [row for batch in arrow.read(crawl / "a.warc.gz") for row in batch.to_pylist()]
    page = next(row for row in whole if row["error"] is None)
    offset, length = page["input_offset"], page["input_length"]
    index = {"url": page["url"], "warc_filename": "a.warc.gz", "warc_record_offset": offset}
    rows = [{**index, "warc_record_length": length}, {**index, "warc_record_offset": offset + 1}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "index.parquet")
    (batch,) = arrow.read([tmp_path / "index.parquet"], warc_directory=crawl)
    found, missing = batch.to_pylist()
    assert (found["html"], found["fetched_at"], found["language"]) == (
        page["html"],
        page["fetched_at"],
        "de",
    )
    assert missing["error"].startswith("record-not-found: ")


def test_fields_of_lines_may_have_other_names(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text('{"link": "http://x.test/", "page": {"body": "<p>The fox"}}')
    (batch,) = arrow.read(tmp_path, fields={"url": "link", "html": "page.body"})
    assert batch.select(["html", "url", "error"]).to_pylist() == [
        {"html": "<p>The fox", "url": "http://x.test/", "error": None}
    ]
    (batch,) = arrow.read(tmp_path)
    assert "dehusk.arrow.read by `fields`" in batch["error"].to_pylist()[0]


@pytest.mark.parametrize("fields", [{"body": "page.body"}, {"html": ""}])
def test_fields_that_no_page_has_are_refused_at_once(fields: dict[str, str]) -> None:
    with pytest.raises(dehusk.ConfigurationError, match="it has paths of id, url, html"):
        arrow.read(".", fields=fields)


def test_batches_are_bounded_by_their_bytes(tmp_path: Path) -> None:
    line = json.dumps({"url": "http://x.test/", "html": "<p>" + "word " * (2 * MIB)}) + "\n"
    (tmp_path / "large.jsonl").write_text(line * 9)
    assert [batch.num_rows for batch in arrow.read(tmp_path / "large.jsonl")] == [4, 4, 1]
    (error,) = arrow.read(tmp_path / "large.jsonl", max_page_bytes=MIB)
    assert {re.sub("^page-too-large: .*limit of|bytes.*", "", text) for text in error["error"].to_pylist()}
    assert "max_page_bytes" in error["error"][0].as_py()


@pytest.mark.parametrize("path", ["nowhere.warc", "ftp://x/a.warc", "s3:///a"])
def test_what_cannot_be_read_is_named(path: str) -> None:
    with pytest.raises(dehusk.ConfigurationError, match=re.escape(path.partition("://")[0])):
        list(arrow.read(path))


def test_a_number_of_rows_below_one_is_refused_at_once() -> None:
    with pytest.raises(dehusk.ConfigurationError, match="rows is 0"):
        arrow.read("a.warc", rows=0)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (pa.array([0, None, 2**62], pa.timestamp("s")), ["1970-01-01T00:00:00+00:00", None, None]),
        (
            pa.array([1_500, None, 0], pa.timestamp("ns", "Europe/Paris")),
            ["1970-01-01T00:00:00.000001+00:00"],
        ),
        (pa.nulls(3), [None]),
    ],
    ids=["without a zone", "in nanoseconds", "of none"],
)
def test_times_of_the_crawl_are_instants(times: Any, expected: list[str | None]) -> None:
    batch = pa.RecordBatch.from_pydict({"html": [PROSE] * 3, "url": ["http://x.test/"] * 3, "at": times})
    found = arrow.clean(batch, html="html", url="url", fetched_at="at", labeler="rules")["fetched_at"]
    texts = [time and time.isoformat() for time in found.to_pylist()]
    assert texts[: len(expected)] == expected


def test_columns_of_another_type_are_refused_or_have_a_reason() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"html": [PROSE], "url": ["http://x.test/"], "n": [7], "why": ["x: y"]}
    )
    with pytest.raises(dehusk.ConfigurationError, match="fetched_at is a column of int64"):
        arrow.clean(batch, html="html", url="url", fetched_at="n")
    for call in (arrow.clean, arrow.observe):
        with pytest.raises(dehusk.ConfigurationError, match="error is a column of int64, not of text"):
            call(batch, html="html", url="url", error="n")
    found = arrow.clean(batch, html="html", url="url", language="n", labeler="rules")
    assert found["error"].to_pylist() == ["malformed-message: language is int, not str"]
    found = arrow.clean(batch, html="html", url="url", error="why", labeler="rules")
    assert (found["error"].to_pylist(), found["title"].to_pylist()) == (["x: y"], [None])


@pytest.mark.parametrize(
    "errors",
    [
        pa.array(["x: y"]),
        pa.array(["x: y"]).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays([1], ["x: y"]),
        pa.array(["x: y"], pa.string_view()),
        pa.array([b"x: y"], pa.large_binary()),
        pa.array([b"x: y"], pa.binary(4)),
        pa.array(['"x: y"'], pa.json_()),
    ],
    ids=lambda errors: str(errors.type),
)
def test_errors_are_text_of_any_type(errors: pa.Array) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([PROSE]), pa.array([""]), errors], ["html", "url", "why"])
    (error,) = arrow.clean(batch, html="html", url="url", error="why", labeler="rules")["error"].to_pylist()
    assert error.strip('"') == "x: y"


def test_errors_of_nothing_leave_the_pages() -> None:
    batch = pa.RecordBatch.from_pydict({"html": [PROSE], "url": [""], "why": pa.nulls(1)})
    found = arrow.clean(batch, html="html", url="url", error="why", labeler="rules")
    assert found["error"].to_pylist() == [None]
