"""Batches of Arrow: a row for each page, whatever its columns hold, and processes that are kept."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dehusk
import dehusk.arrow
from dehusk.arrow import processes
from dehusk.streams.dataset.columns import row_schema
from tests.kept_processes import end_kept_processes

PROSE = (
    "<title>Foxes</title><p>A paragraph of prose, which is the whole of its page, and long enough.</p>" * 3
)
PAGES = sorted((Path(__file__).parents[3] / "inference/golden_pages").glob("*.html"))
URL = "http://x.test/"


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    end_kept_processes()
    assert multiprocessing.active_children() == []


def batch_of(pages: Any, **others: Any) -> pa.RecordBatch:
    if not isinstance(pages, pa.Array):
        pages = pa.array(pages)
    return pa.RecordBatch.from_pydict({"page": pages, "address": [URL] * len(pages), **others})


def clean(batch: Any, **options: Any) -> Any:
    return dehusk.arrow.clean(batch, **{"html": "page", "url": "address", "labeler": "rules", **options})


def reasons(batch: Any, **options: Any) -> list[str | None]:
    errors = clean(batch, **options)["error"].to_pylist()
    return [error and error.partition(":")[0] for error in errors]


def test_rows_are_those_of_the_files_of_clean(tmp_path: Path) -> None:
    pages = [page.read_bytes().decode("latin-1") for page in PAGES] + ["", "%PDF-1.7", PROSE]
    rows = [
        {"html": page, "url": f" {URL}{number} ", "id": str(number) * (number % 2)}
        for number, page in enumerate(pages)
    ]
    rows.append({"html": "%PDF-1.7", "url": "", "id": ""})
    (tmp_path / "pages.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = [sys.executable, "-m", "dehusk", "clean", "--output", tmp_path / "out", "--processes", "1"]
    subprocess.run([*command, tmp_path / "pages.jsonl"], check=True, capture_output=True)
    (file,) = (tmp_path / "out").glob("*.parquet")
    written = pq.read_table(file).drop_columns(["input_file", "input_offset", "input_length"])
    batch = pa.RecordBatch.from_pylist(rows).rename_columns(["page", "address", "name"])
    found = clean(batch, labeler="onnx", id="name", with_blocks=True)
    assert found.schema == written.schema
    expected = written.to_pylist()
    for row in expected:
        row["error"] = row["error"] and re.sub("line .*jsonl: ", "", row["error"])
    assert found.to_pylist() == expected


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.binary(len(PROSE)),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_binary()),
    ],
    ids=str,
)
def test_pages_may_be_of_any_type_of_text_or_bytes(kind: pa.DataType) -> None:
    value = PROSE if "string" in str(kind) else PROSE.encode()
    if pa.types.is_dictionary(kind):
        pages = pa.array([value, None, value], kind.value_type).dictionary_encode().cast(kind)
    else:
        pages = pa.array([value, None, value], kind)
    found = clean(batch_of(pages))
    assert found["error"].to_pylist() == [None, "no-body: the message holds no content", None]
    assert found["title"].to_pylist() == ["Foxes", None, "Foxes"]


def test_run_ends_and_slices_are_read_as_they_are() -> None:
    pages = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([PROSE, None]))
    assert reasons(batch_of(pages)) == [None, None, "no-body"]
    assert reasons(batch_of(["", PROSE, None, PROSE]).slice(1, 2)) == [None, "no-body"]


@pytest.mark.parametrize(
    "pages",
    [
        [7, None],
        [[PROSE], None],
        [{"html": PROSE}, None],
        [b"%PDF-1.7", None],
        pa.nulls(2),
        pa.array([2**62, None], pa.timestamp("ns", "nowhere")),
        pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array([7])),
    ],
    ids=str,
)
def test_what_is_no_page_has_a_reason(pages: Any) -> None:
    found = clean(batch_of(pages))
    expected = {"malformed-message", "not-html", "no-body"}
    assert {error.partition(":")[0] for error in found["error"].to_pylist()} <= expected
    assert found["error"][1].as_py() == "no-body: the message holds no content"
    assert (found["url"].to_pylist(), found["text"].null_count) == ([URL] * 2, 2)


def test_text_that_is_no_utf_8_is_taken_as_bytes() -> None:
    koi8 = "<meta charset=koi8-r><p>Привет, мир, это текст страницы.".encode("koi8-r")
    pages = pa.array([koi8, PROSE.encode()], pa.binary()).view(pa.string())
    found = clean(batch_of(pages), with_blocks=True)
    assert [block["text"] for block in found["blocks"][0].as_py()] == ["Привет, мир, это текст страницы."]
    assert found["error"].to_pylist() == [None, None]


def test_urls_ids_and_types_of_content_may_be_missing_or_wrong() -> None:
    bare = "<p>Привет, мир".encode("koi8-r")
    columns = {
        "page": [PROSE.encode(), PROSE.encode(), bare],
        "address": [None, b"http://x.test/\xe4", b"http://x.test/2"],
        "name": ["7", "8", None],
        "declared": [None, None, "text/html; charset=koi8-r"],
    }
    found = clean(
        pa.RecordBatch.from_pydict(columns), id="name", content_type="declared", with_blocks=True
    ).to_pylist()
    assert [(row["id"], row["url"]) for row in found] == [
        ("7", ""),
        ("8", None),
        ("http://x.test/2", "http://x.test/2"),
    ]
    assert found[1]["error"] == "malformed-message: url is bytes, not str"
    assert found[2]["blocks"][0]["text"] == "Привет, мир"
    numbers = pa.RecordBatch.from_pydict({"page": [PROSE], "address": [7], "name": [7]})
    assert clean(numbers, id="name").select(["id", "url", "error"]).to_pylist() == [
        {"id": "7", "url": None, "error": "malformed-message: url is int, not str"}
    ]
    rows = pa.RecordBatch.from_pydict({"page": [PROSE], "address": [URL], "name": [7], "why": [""]})
    assert clean(rows, id="name", error="why").select(["id", "url", "error"]).to_pylist() == [
        {"id": "7", "url": URL, "error": None}
    ]


def test_a_page_that_is_deep_huge_or_slow_costs_no_other() -> None:
    pages = [PROSE, "<div>" * 10_000 + PROSE, "<p>x" * 25_000, PROSE * 40_000, PROSE]
    found = reasons(batch_of(pages), max_page_blocks=20_000, max_page_bytes=len(PROSE) * 30_000)
    assert found == [None, None, "too-many-blocks", "page-too-large", None]
    slow = batch_of([PROSE, "<p>" + "a <b>b</b> " * 400_000, PROSE])
    assert reasons(slow, page_seconds=0.05) == [None, "time-budget-exceeded", None]


def test_an_empty_batch_gives_the_schema_and_starts_nothing() -> None:
    batch = batch_of([PROSE], rank=[7])
    empty = clean(batch.slice(0, 0))
    assert (empty.num_rows, empty.schema) == (0, clean(batch).schema)
    end_kept_processes()
    table = clean(pa.Table.from_batches([], batch.schema))
    assert (table.num_rows, table.schema) == (0, empty.schema)
    assert processes._kept == {}


def test_other_columns_are_kept_behind_those_of_documents() -> None:
    batch = batch_of([PROSE, None], rank=[7, None], tags=[["a"], []])
    found = clean(batch)
    assert found.schema == pa.schema([*row_schema(), batch.schema.field("rank"), batch.schema.field("tags")])
    assert found.select(["rank", "tags"]) == batch.select(["rank", "tags"])
    assert clean(batch, keep=["tags", "page", "tags"]).schema.names == [*row_schema().names, "tags", "page"]
    assert clean(batch, keep=()).schema == row_schema()


def test_a_table_becomes_a_table() -> None:
    table = pa.Table.from_batches([batch_of([PROSE, ""], n=[1, 2]), batch_of([PROSE], n=[3])])
    found = clean(table)
    assert isinstance(found, pa.Table)
    assert found["n"].to_pylist() == [1, 2, 3]
    assert found["error"].to_pylist() == [None, "no-body: the message holds no content", None]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"html": "body"}, "there is no column 'body' among page, address, title, n, n"),
        ({"html": None}, "html is None: name the column of the pages"),
        ({"id": "n"}, "there are several columns 'n' among page, address, title, n, n"),
        ({"keep": ["title"]}, "'title' is a column of documents, too: rename it, or leave it out"),
        ({"keep": "page"}, "keep is 'page': name the columns in a list"),
        ({"keep": ["nothing"]}, "there is no column 'nothing'"),
        ({"keep": (), "processes": 0}, "processes is 0"),
        ({"keep": (), "processes": 1025}, "processes is 1025"),
        ({"keep": (), "page_seconds": 0}, "page_seconds is 0"),
        ({"keep": (), "max_page_blocks": 2**70}, "max_page_blocks is 1180"),
        ({"keep": (), "favor": "speed"}, "favor is 'speed'"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    columns = [pa.array([PROSE]), pa.array([URL]), pa.array(["Foxes"]), pa.array([1]), pa.array([2])]
    batch = pa.RecordBatch.from_arrays(columns, ["page", "address", "title", "n", "n"])
    with pytest.raises(dehusk.ConfigurationError) as raised:
        clean(batch, **options)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ({"page": [PROSE]}, "the batch is dict, neither a RecordBatch nor a Table"),
        (
            pa.table({"page": [PROSE]}).to_reader(),  # which exports Arrow, as frames do
            "the batch is RecordBatchReader, neither a RecordBatch nor a Table; give pyarrow.table(it)",
        ),
    ],
)
def test_what_is_no_batch_is_named(batch: Any, said: str) -> None:
    with pytest.raises(dehusk.ConfigurationError) as raised:
        clean(batch)
    assert str(raised.value) == said


def test_processes_are_kept_for_the_next_batch_with_the_same_options() -> None:
    def pids() -> set[int | None]:
        return {child.pid for child in multiprocessing.active_children()}

    clean(batch_of([PROSE]))
    (first,) = pids()
    clean(batch_of([PROSE, PROSE]))
    assert pids() == {first}
    clean(batch_of([PROSE]), favor="recall")
    assert first in pids()
    for seconds in range(1, 5):
        clean(batch_of([PROSE]), page_seconds=seconds)
    assert first not in pids()
    assert len(pids()) == processes._MAX_KEPT


def test_a_process_that_dies_costs_nothing_else() -> None:
    batch = batch_of([f"<title>{number}</title>{PROSE}" for number in range(80)])
    first = clean(batch)
    (child,) = multiprocessing.active_children()
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    assert clean(batch) == first


def test_threads_take_turns() -> None:
    batch, found = batch_of([PROSE] * 20), []
    threads = [Thread(target=lambda: found.append(clean(batch))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [clean(batch)] * 4
    assert len(multiprocessing.active_children()) == 1


def test_a_forked_process_has_processes_of_its_own_and_all_end_with_the_program() -> None:
    program = f"""
import os, pyarrow as pa, dehusk.arrow
batch = pa.RecordBatch.from_pydict({{"page": [{PROSE!r}] * 20, "address": [{URL!r}] * 20}})
clean = lambda: dehusk.arrow.clean(batch, html="page", url="address")
first = clean()
if not (pid := os.fork()):
    os._exit(clean() == first and clean() == first)
assert os.waitpid(pid, 0)[1] == 1 << 8
assert clean() == first
print("done")
"""
    run_to_its_end(program)


def test_a_forked_process_ends_in_order_beside_those_of_the_program() -> None:
    """It ends as those of web servers do that load their program before they fork."""
    program = f"""
import os, sys, pyarrow as pa, dehusk.arrow
batch = pa.RecordBatch.from_pydict({{"page": [{PROSE!r}], "address": [{URL!r}]}})
clean = lambda: dehusk.arrow.clean(batch, html="page", url="address", labeler="rules")
first = clean()
if not (pid := os.fork()):
    sys.exit(clean() == first)
assert os.waitpid(pid, 0)[1] == 1 << 8
assert clean() == first
print("done")
"""
    run_to_its_end(program)


def run_to_its_end(program: str) -> None:
    """Run a program that says when it is done, and then ends by itself."""
    quiet = ("-W", "ignore:This process:DeprecationWarning")  # of a fork beside threads, from Python 3.12 on
    ended = subprocess.run(
        [sys.executable, *quiet, "-c", program], check=False, capture_output=True, text=True, timeout=240
    )
    assert (ended.stdout, ended.stderr, ended.returncode) == ("done\n", "", 0)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_pools_clean_and_end(method: str) -> None:
    """Those of `multiprocessing.Pool` are daemonic, and those of `concurrent.futures` are not."""
    program = f"""
import multiprocessing, pyarrow as pa, dehusk.arrow
from concurrent.futures import ProcessPoolExecutor
batch = pa.RecordBatch.from_pydict({{"page": [{PROSE!r}] * 20, "address": [{URL!r}] * 20}})
options = {{"html": "page", "url": "address", "labeler": "rules"}}
context = multiprocessing.get_context({method!r})
pool = context.Pool(1)
first = pool.apply(dehusk.arrow.clean, (batch,), options)
assert first["title"].to_pylist() == ["Foxes"] * 20
pool.close()
pool.join()
with ProcessPoolExecutor(1, context) as executor:
    assert executor.submit(dehusk.arrow.clean, batch, **options).result() == first
print("done")
"""
    run_to_its_end(program)


def crawled() -> list[dict[str, str]]:
    """Pages of two sites and of none: with copies, a page that came twice, and what is no page."""
    menu = "<nav>" + "".join(f"<a href=/{n}>Section number {n} of this site</a>" for n in range(9)) + "</nav>"
    rows = []
    for number in range(24):
        site = ("a.test", "www.b.test", "")[number % 5 % 3]
        words = ["".join(chr(97 + ord(c) % 26) for c in f"{number // 2 * 17 + n:05}") for n in range(14)]
        body = "".join(f"<p>The {word} of the story is told in a sentence of its own.</p>" for word in words)
        teaser = f"<aside><p>Read the story of week {number // 6}, which is told at length.</p></aside>"
        url = f" http://{site}/{number % 17}" if site else ""
        rows.append(
            {"html": f"<title>{number} | {site}</title>{menu}<main>{body}</main>{teaser}", "url": url}
        )
    return [*rows, {"html": "%PDF-1.7", "url": "http://a.test/pdf"}]


def test_statistics_of_sites_are_those_of_two_passes(tmp_path: Path) -> None:
    rows = [{**row, "id": str(number)} for number, row in enumerate(crawled())]
    (tmp_path / "pages.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = [sys.executable, "-m", "dehusk", "clean", "--output", tmp_path / "out", "--processes", "1"]
    subprocess.run([*command, "--two-pass", tmp_path / "pages.jsonl"], check=True, capture_output=True)
    (file,) = (tmp_path / "out").glob("*.parquet")
    written = pq.read_table(file).drop_columns(["input_file", "input_offset", "input_length", "error"])
    pages = pa.Table.from_batches([pa.RecordBatch.from_pylist(part) for part in (rows[:7], rows[7:])])
    observed = [dehusk.arrow.observe(part, html="html", url="url") for part in (pages[:11], pages[11:])]
    statistics = dehusk.arrow.site_statistics(pa.concat_tables(observed))
    assert statistics["site"].to_pylist() == ["a.test", "b.test"]
    joined = dehusk.arrow.with_site(pages, url="url").join(statistics, "site").sort_by([("id", "ascending")])
    options: Any = {"html": "html", "url": "url", "id": "id", "with_blocks": True}
    found = dehusk.arrow.clean(joined, site_statistics="site_statistics", **options)
    assert found.drop_columns(["error"]).to_pylist() == written.sort_by([("id", "ascending")]).to_pylist()
    alone = dehusk.arrow.clean(joined, keep=(), **options)
    assert probabilities(alone) != probabilities(found)


def probabilities(table: pa.Table) -> list[list[float]]:
    return [[block["probability"] for block in blocks or ()] for blocks in table["blocks"].to_pylist()]


def test_statistics_that_are_none_are_refused() -> None:
    batch = batch_of([PROSE])
    observed = dehusk.arrow.observe(batch, html="page", url="address", labeler="rules")
    counted = dehusk.arrow.site_statistics(observed)
    assert dehusk.arrow.observe(batch[:0], html="page", url="address").schema == observed.schema
    assert dehusk.arrow.site_statistics(observed[:0]).schema == counted.schema
    for wrong in (b"", b"nonsense" * 9, observed["observation"][0].as_py(), "text"):
        with pytest.raises(dehusk.ConfigurationError, match="site_statistics"):
            clean(batch_of([PROSE], known=[wrong]), site_statistics="known")
    for wrong in (b"", None, counted["site_statistics"][0].as_py()):
        page = pa.RecordBatch.from_pydict({"site": ["x.test"], "observation": pa.array([wrong], pa.binary())})
        with pytest.raises(dehusk.ConfigurationError, match="observation"):
            dehusk.arrow.site_statistics(page)
    for of_text in (["text"], [5]):
        with pytest.raises(dehusk.ConfigurationError, match=r"an observation is (str|int), not bytes"):
            dehusk.arrow.site_statistics(pa.table({"site": ["x.test"], "observation": of_text}))
    with pytest.raises(dehusk.ConfigurationError, match="the batch is dict, neither a RecordBatch"):
        dehusk.arrow.clean({"html": []}, html="html", url="url")  # type: ignore[type-var]
    with pytest.raises(dehusk.ConfigurationError, match="'site' already"):
        dehusk.arrow.with_site(observed, url="site")
