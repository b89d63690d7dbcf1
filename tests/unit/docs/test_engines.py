"""The examples of engines, run as they stand, beside `dehusk clean`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.warc_files import warc

ROOT = Path(__file__).parents[3]
GOLDEN = sorted((ROOT / "inference/golden_pages").glob("*.html"))
PAGES = [
    {"url": f"http://x.test/{number}/{kind}", "html": html}
    for number in range(9)
    for kind, html in enumerate(
        (
            *(page.read_text() for page in GOLDEN),
            f"<title>{number}</title>" + "<p>Prose." * 30,
            "%PDF-1",
        )
    )
]
"""Some dozens of pages with content, and some that are none."""
NOT_INSTALLED = "is not installed; make test-engines installs the engines, and runs these tests"
OF_ENGINES = {
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_SUBMIT_ARGS": "--master local[2,4] pyspark-shell",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
}
"""Settings of engines by the environment; the 4 of Spark are attempts at a task."""


def run_example(section: str, folder: Path) -> None:
    """Run the Python of a section in a folder, as a program."""
    page = (ROOT / "docs/how-to/engines.md").read_text()
    text = re.split(r"\n##+ ", page.partition(f"# {section}\n")[2])[0]
    program = "".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert program
    run_program(program, folder)


def run_program(program: str, folder: Path) -> str:
    """Run a program in a folder, and return what it prints."""
    (folder / "program.py").write_text(program)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])} | OF_ENGINES
    ended = subprocess.run(
        [sys.executable, "program.py"],
        check=False,
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=880,
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


@pytest.fixture(scope="module")
def cleaned(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return rows_of_clean(tmp_path_factory.mktemp("cleaned"))


def rows_of_clean(folder: Path, *options: str) -> list[dict[str, Any]]:
    """Return the rows of the files of `dehusk clean`, but for the columns of the place, by their URLs."""
    (folder / "pages.jsonl").write_text("".join(f"{json.dumps(page)}\n" for page in PAGES))
    options = (
        *options,
        "--no-blocks",
        "--processes",
        "1",
        "--favor",
        "precision",
        "--output",
        f"{folder}/out",
    )
    subprocess.run([sys.executable, "-m", "dehusk", "clean", *options, folder / "pages.jsonl"], check=True)
    table = pq.read_table(folder / "out").drop_columns(["input_file", "input_offset", "input_length"])
    rows = rows_of(table)
    assert {row["error"] is None for row in rows} == {True, False}
    return [{**row, "error": row["error"] and re.sub("line [0-9]+[^:]*: ", "", row["error"])} for row in rows]


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table by their URLs."""
    rows: list[dict[str, Any]] = table.sort_by("url").to_pylist()
    return rows


def write_parquet(folder: Path) -> None:
    """Write the pages as Parquet files, with a column of their own."""
    (folder / "pages").mkdir()
    table = pa.Table.from_pylist([{**page, "rank": rank} for rank, page in enumerate(PAGES)])
    for part in range(4):
        pq.write_table(table.take(list(range(part, len(PAGES), 4))), folder / f"pages/{part}.parquet")


@pytest.mark.timeout(900)  # on a busy machine, Ray and Spark take minutes to start
@pytest.mark.parametrize(("engine", "section"), [("ray", "Ray Data"), ("pyspark", "Spark")])
def test_engines_of_arrow_write_the_rows_of_clean(
    engine: str, section: str, tmp_path: Path, cleaned: list[dict[str, Any]]
) -> None:
    pytest.importorskip(engine, reason=f"{engine} {NOT_INSTALLED}")
    write_parquet(tmp_path)
    run_example(section, tmp_path)
    found = rows_of(pq.read_table(tmp_path / "cleaned"))
    ranks = {page["url"]: rank for rank, page in enumerate(PAGES)}
    assert found == [{**row, "rank": ranks[row["url"]]} for row in cleaned]


def test_duckdb(tmp_path: Path, cleaned: list[dict[str, Any]]) -> None:
    write_parquet(tmp_path)
    run_example("DuckDB, and frames", tmp_path)
    found = pq.read_table(tmp_path / "cleaned.parquet").drop_columns(["rank"])
    assert rows_of(found) == cleaned


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("library", "module", "read"),
    [
        ("pandas", "pandas", "pandas.read_parquet('pages')"),
        ("Polars", "polars", "polars.read_parquet('pages/*.parquet')"),
        ("Dask", "dask.dataframe", "dask.dataframe.read_parquet('pages')"),
    ],
)
def test_frames(library: str, module: str, read: str, tmp_path: Path, cleaned: list[dict[str, Any]]) -> None:
    pytest.importorskip(module, reason=f"{module} {NOT_INSTALLED}")
    page = (ROOT / "docs/how-to/engines.md").read_text()
    (documents,) = re.findall(rf"^\| {library} \| `(.*)` \|$", page, re.MULTILINE)
    write_parquet(tmp_path)
    program = f"""
import json, {module}, pyarrow as pa
from dehusk import arrow
COLUMNS = {{"html": "html", "url": "url", "favor": "precision"}}
if __name__ == "__main__":
    frame = {read}
    found = {documents}
    print(json.dumps(sorted(zip(*(map(str, found[name]) for name in ("url", "headline", "rank"))))))
"""
    found = json.loads(run_program(program, tmp_path).splitlines()[-1])
    missing = ("None", "nan")  # pandas has either
    assert [
        (url, None if headline in missing else headline, PAGES[int(rank)]["url"])
        for url, headline, rank in found
    ] == [(row["url"], row["headline"], row["url"]) for row in cleaned]


@pytest.mark.timeout(900)
def test_statistics_of_sites_on_spark_are_those_of_two_passes(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason=f"pyspark {NOT_INSTALLED}")
    write_parquet(tmp_path)
    run_example("What sites repeat", tmp_path)
    found = rows_of(pq.read_table(tmp_path / "cleaned").drop_columns(["rank"]))
    assert found == rows_of_clean(tmp_path, "--two-pass")


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of WARC files, of which one is cut off."""
    folder = tmp_path_factory.mktemp("crawled") / "crawl"
    folder.mkdir()
    pages = [(str(page["url"]), "text/html", str(page["html"]).encode()) for page in PAGES]
    for part in range(4):
        (folder / f"{part}.warc.gz").write_bytes(warc(pages[part::4]))
    whole = (folder / "3.warc.gz").read_bytes()
    (folder / "3.warc.gz").write_bytes(whole[: len(whole) * 2 // 3])
    return folder


@pytest.fixture(scope="module")
def cleaned_crawl(crawl: Path) -> list[dict[str, Any]]:
    """Return the rows of the files of `dehusk clean`."""
    options = ("--no-blocks", "--processes", "1", "--favor", "precision", "--output", "../out")
    command = [sys.executable, "-m", "dehusk", "clean", *options, "crawl"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, check=False, cwd=crawl.parent, env=environment)
    assert ended.returncode == 1  # as a file is cut off
    return rows_by_place(pq.read_table(crawl.parent.parent / "out"))


def rows_by_place(table: pa.Table) -> list[dict[str, Any]]:
    keys = [(name, "ascending") for name in ("input_file", "input_offset")]
    rows: list[dict[str, Any]] = table.sort_by(keys).to_pylist()
    return rows


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("engine", "section"), [("ray", "On Ray Data"), ("pyspark", "On Spark")])
def test_engines_clean_the_pages_of_warc_files(
    engine: str, section: str, tmp_path: Path, crawl: Path, cleaned_crawl: list[dict[str, Any]]
) -> None:
    pytest.importorskip(engine, reason=f"{engine} {NOT_INSTALLED}")
    (tmp_path / "crawl").symlink_to(crawl)
    run_example(section, tmp_path)
    assert rows_by_place(pq.read_table(tmp_path / "cleaned")) == cleaned_crawl


def test_datatrove(tmp_path: Path, crawl: Path, cleaned_crawl: list[dict[str, Any]]) -> None:
    (tmp_path / "crawl").symlink_to(crawl)
    run_example("datatrove", tmp_path)
    from datatrove.pipeline.readers import JsonlReader

    found = sorted(
        (document.metadata["url"], document.text) for document in JsonlReader(f"{tmp_path}/cleaned").run()
    )
    assert found == sorted((row["url"], row["text"]) for row in cleaned_crawl if row["error"] is None)
