import gzip
import io
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.outcomes import Broken, BrokenReason, Damaged, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.files.page_lines import LineFields
from dehusk.streams.files.position import InputPosition, Place
from dehusk.streams.files.readers import read_pages
from dehusk.streams.sources.warc import write_warc
from dehusk.streams.stores.stored import StoredPath
from tests.web_server import web_server

PAGES = 60
MAX_BYTES = 10_000
WARC = "crawl-data/segments/1/a.warc.gz"


@pytest.fixture(scope="module")
def crawl():
    """A WARC file, and the rows that point to its records, in another order."""
    archive, rows = io.BytesIO(), []
    for number in range(PAGES):
        begin, url = archive.tell(), f"http://x.test/{number}"
        write_warc(RawPage(url, b"<title>%d</title>" % number), archive)
        length = archive.tell() - begin
        rows.append(
            {"url": url, "warc_filename": WARC, "warc_record_offset": begin, "warc_record_length": length}
        )
    random.Random(1).shuffle(rows)
    return archive.getvalue(), rows


@pytest.fixture
def folder(crawl, tmp_path):
    (tmp_path / WARC).parent.mkdir(parents=True)
    (tmp_path / WARC).write_bytes(crawl[0])
    return tmp_path


@pytest.fixture
def server(crawl):
    with web_server() as server:
        server.objects[f"/cc/{WARC}"] = crawl[0]
        yield server


def as_lines(rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_cdx(rows, **others):
    """Lines as a CDX server answers them."""
    names = ("url", "filename", "offset", "length")
    found = [dict(zip(names, map(str, row.values()), strict=True)) for row in rows]
    return as_lines({**others, **row} for row in found)


def as_whole_cdx(rows):
    return as_cdx(rows, urlkey="test,x)/", status="200", mime="text/html")


def as_cdxj(rows):
    return b"".join(
        b"test,x)/ 20240229120000 " + line for line in as_whole_cdx(rows).splitlines(keepends=True)
    )


def as_parquet(rows):
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, row_group_size=7)
    return out.getvalue()


FORMS = {
    "index.jsonl": as_lines,
    "index": as_lines,
    "cdx": as_whole_cdx,
    "some-fields.cdx": as_cdx,
    "index.cdxj": as_cdxj,
    "index.jsonl.gz": lambda rows: gzip.compress(as_lines(rows)),
    "index.parquet": as_parquet,
    "part-0.c000.snappy": as_parquet,
}


def read(path, folder, **others):
    return list(read_pages([path], MAX_BYTES, warc_directory=folder, **others))


def test_the_pages_before_the_damage_of_an_index_come_first(crawl, folder):
    cut = gzip.compress(as_lines(crawl[1]))[:-8]
    (folder / "index.jsonl.gz").write_bytes(cut)
    *pages, damaged = read(folder / "index.jsonl.gz", folder)
    assert isinstance(damaged, Damaged)
    assert [page.url for page in pages] == [row["url"] for row in crawl[1]]


@pytest.mark.parametrize("name", FORMS)
def test_the_rows_of_an_index_are_the_pages_that_they_point_to(crawl, folder, name):
    (folder / name).write_bytes(FORMS[name](crawl[1]))
    pages = read(folder / name, folder)
    assert [page.url for page in pages] == [row["url"] for row in crawl[1]]
    assert all(page.html == b"<title>%s</title>" % page.url.rpartition("/")[2].encode() for page in pages)


def test_cdxj_beside_the_files_that_it_points_to_gives_no_page_twice(crawl, folder):
    (folder / "index.cdxj").write_bytes(as_cdxj(crawl[1][:9]))
    beside, *pages = read(folder, None)
    assert sorted(page.url for page in pages) == sorted(row["url"] for row in crawl[1])
    assert (type(beside), beside.reason) == (Skipped, SkipReason.NOT_HTML)


@pytest.mark.parametrize("name", ["index.jsonl", "index.parquet"])
def test_index_and_records_lie_in_a_store_and_records_are_read_alone(crawl, server, name):
    server.objects[f"/cc/{name}"] = FORMS[name](crawl[1])
    root = f"{server.url}/cc/"
    assert len(read(StoredPath(f"{root}{name}"), StoredPath(root), needs_url=True)) == PAGES
    asked = [ranges for path, ranges in server.requests if path.endswith(".warc.gz")]
    begins = [(row["warc_record_offset"], row["warc_record_length"]) for row in crawl[1]]
    assert sorted(asked) == sorted(f"bytes={begin}-{begin + length - 1}" for begin, length in begins)


@pytest.mark.parametrize("name", ["index.jsonl", "index.parquet"])
def test_rows_that_were_read_before_are_not_followed_again(crawl, server, name):
    server.objects[f"/cc/{name}"] = FORMS[name](crawl[1])
    path, root = StoredPath(f"{server.url}/cc/{name}"), StoredPath(f"{server.url}/cc/")
    pages = read(path, root, after=Place(0, 50))
    assert [page.url for page in pages] == [row["url"] for row in crawl[1][50:]]
    assert sum(path.endswith(".warc.gz") for path, _ in server.requests) == PAGES - 50


def test_a_row_keeps_its_place_in_the_index(crawl, folder):
    lines = as_lines(crawl[1])
    (folder / "index.jsonl").write_bytes(lines)
    position = InputPosition()
    for _ in read_pages([folder / "index.jsonl"], MAX_BYTES, warc_directory=folder, position=position):
        place = position.place
        row = json.loads(lines[place.offset : place.offset + place.length])
        assert row == crawl[1][place.item - 1]
        count = place.item
    assert (count, position.bytes) == (PAGES, len(lines))


WRONG = {
    "warc_record_offset": [None, -1, "x", 1.5, 10**6, 1 << 70, {"a": 1}],
    "warc_record_length": [0, -5],
    "warc_filename": ["../a.warc.gz", "", 5, None, "missing.warc.gz"],
    "url": [None, 5, "", "mailto:x", "http://x.test/of-another"],
}


@pytest.mark.parametrize(
    ("column", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_row_costs_only_itself(crawl, folder, column, value):
    rows = [crawl[1][0], {**crawl[1][1], column: value}, crawl[1][2]]
    (folder / "index.jsonl").write_bytes(as_lines(rows))
    first, wrong, third = read(folder / "index.jsonl", folder)
    assert [first.url, third.url] == [rows[0]["url"], rows[2]["url"]]
    assert isinstance(wrong, Broken | Skipped)
    assert not isinstance(wrong, Damaged)


def test_columns_of_wrong_types_in_parquet_cost_only_their_rows(crawl, folder):
    rows = [
        {**row, "warc_record_offset": [row["warc_record_offset"]], "url": row["url"].encode()}
        for row in crawl[1]
    ]
    (folder / "index.parquet").write_bytes(as_parquet(rows))
    outcomes = read(folder / "index.parquet", folder)
    assert {outcome.reason for outcome in outcomes} == {BrokenReason.MALFORMED_MESSAGE}
    assert len(outcomes) == PAGES


def test_a_time_that_python_lacks_is_damage(crawl, folder):
    table = pa.Table.from_pylist(crawl[1])
    times = pa.array([2**60] * len(table), pa.timestamp("us"))
    pq.write_table(table.append_column("fetch_status", times), folder / "index.parquet")
    (damaged,) = read(folder / "index.parquet", folder)
    assert isinstance(damaged, Damaged)


@pytest.mark.parametrize("cut", [-1, -100, 50, 4])
def test_parquet_that_is_cut_off_is_damaged(crawl, folder, cut):
    (folder / "index.parquet").write_bytes(as_parquet(crawl[1])[:cut])
    *_, damaged = read(folder / "index.parquet", folder)
    assert isinstance(damaged, Damaged)
    assert "no whole file of Parquet" in damaged.detail


def test_pages_in_columns_are_read(folder):
    rows = [
        {"id": 7, "url": "http://x.test/1", "html": "<p>Ünö"},
        {"id": None, "url": "", "html": "<p>two"},
        {"id": 9, "url": None, "html": None},
    ]
    (folder / "pages.parquet").write_bytes(as_parquet(rows))
    first, second, empty = read(folder / "pages.parquet", None)
    assert (first.id, first.url, first.html.decode()) == ("7", "http://x.test/1", "<p>Ünö")
    assert (second.id, second.url, second.html) == (None, "", b"<p>two")
    assert (empty.reason, empty.id) == (SkipReason.NO_BODY, "9")
    first, second, empty = read(folder / "pages.parquet", None, needs_url=True)
    assert (first.url, second.reason) == ("http://x.test/1", BrokenReason.MISSING_URL)


def test_pages_in_columns_of_other_names_are_read_as_bytes_too(folder):
    rows = [{"link": "http://x.test/1", "page": {"body": "<p>Ü".encode()}}, {"link": None, "page": None}]
    (folder / "pages").write_bytes(as_parquet(rows))
    fields = LineFields(url="link", html="page.body")
    page, broken = read(folder / "pages", None, fields=fields)
    assert (page.url, page.html.decode()) == ("http://x.test/1", "<p>Ü")
    assert broken.reason is BrokenReason.WRONG_FORMAT
    (damaged,) = read(folder / "pages", None, fields=LineFields(html="body"))
    assert "without a column 'body' of pages" in damaged.detail


def test_parquet_of_something_else_is_named(folder):
    without_offset = {"url": "http://x.test/", "warc_filename": WARC}
    for row in ({"text": "a"}, without_offset):
        (folder / "a.parquet").write_bytes(as_parquet([row]))
        for warc_directory in (folder, None):
            (damaged,) = read(folder / "a.parquet", warc_directory)
            assert isinstance(damaged, Damaged)
            assert "without the columns url, warc_filename and warc_record_offset" in damaged.detail


def test_a_line_that_is_no_row_costs_only_itself(crawl, folder):
    lines = as_lines(crawl[1][:1]) + b"{]\n\n" + b'{"url": "http://x.test/"}\n' + as_lines(crawl[1][1:2])
    (folder / "index.jsonl").write_bytes(lines)
    first, *broken, last = read(folder / "index.jsonl", folder)
    assert [first.url, last.url] == [row["url"] for row in crawl[1][:2]]
    assert {each.reason for each in broken} == {BrokenReason.MALFORMED_MESSAGE}
    assert "line 2 of" in broken[0].detail


def test_rows_whose_status_or_type_shows_that_they_are_no_page_are_not_followed(crawl, server):
    rows = [{**crawl[1][0], "fetch_status": 404}, {**crawl[1][1], "content_mime_type": "application/pdf"}]
    server.objects["/cc/index.jsonl"] = as_lines(rows)
    outcomes = read(StoredPath(f"{server.url}/cc/index.jsonl"), StoredPath(f"{server.url}/cc/"))
    assert [type(outcome) for outcome in outcomes] == [Skipped, Skipped]
    assert not any(path.endswith(".warc.gz") for path, _ in server.requests)


def test_a_record_that_inflates_without_end_is_not_inflated(server, crawl):
    head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://x.test/\r\nContent-Length: %d\r\n\r\n"
    bomb = gzip.compress(head % 10**9 + b"HTTP/1.1 200 OK\r\n\r\n<p>" + bytes(200_000_000))
    server.objects["/cc/bomb.warc.gz"] = bomb
    row = {
        "url": "http://x.test/",
        "warc_filename": "bomb.warc.gz",
        "warc_record_offset": 0,
        "warc_record_length": len(bomb),
    }
    server.objects["/cc/index.jsonl"] = as_lines([row])
    (outcome,) = read(StoredPath(f"{server.url}/cc/index.jsonl"), StoredPath(f"{server.url}/cc/"))
    assert outcome.reason is BrokenReason.PAGE_TOO_LARGE


def test_an_index_needs_the_folder_of_its_files(crawl, folder):
    (folder / "index.jsonl").write_bytes(as_lines(crawl[1]))
    (folder / "index.parquet").write_bytes(as_parquet(crawl[1]))
    for name in ("index.jsonl", "index.parquet"):
        (damaged,) = read(folder / name, None)
        assert isinstance(damaged, Damaged)
        assert "--warc-directory" in damaged.detail


def test_an_index_ends_where_the_store_of_its_files_is_away(crawl, folder, monkeypatch):
    monkeypatch.setattr("dehusk.streams.files.readers.PATIENCE_SECONDS", 0.2)
    (folder / "index.jsonl").write_bytes(as_lines(crawl[1]))
    with pytest.raises(UnavailableError, match="does not give"):
        read(folder / "index.jsonl", StoredPath("http://127.0.0.1:1/cc/"))
