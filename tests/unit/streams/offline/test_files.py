"""`dehusk clean --output`: files of each format beside the lines of standard output; wrong options."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard
from click.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.cli import cli
from dehusk.streams.dataset.folder import FolderSettings, open_folder
from dehusk.streams.dataset.parts import SUFFIXES
from dehusk.streams.files.position import Place
from dehusk.streams.offline import files as module
from dehusk.streams.offline.files import PLACE_COLUMNS, CleanedFiles, describe_input
from dehusk.streams.sources.warc import write_warc
from dehusk.streams.stores.stored import StoredPath
from tests.commands import DEHUSK
from tests.web_server import web_server

FORMATS = pytest.mark.parametrize("name", SUFFIXES)
COMMAND = [DEHUSK, "clean"]
BROKEN = Broken(BrokenReason.MALFORMED_MESSAGE, "it is none")
PROSE = "A paragraph of prose, which is the whole of its page. " * 5


def clean(*words: object) -> Result:
    return CliRunner().invoke(cli, ["clean", "--labeler", "rules", "--processes", "1", *map(str, words)])


def refused(*words: object) -> str:
    """Standard error of the command as a process of its own, which errors end at once."""
    command = [*COMMAND, "--labeler", "rules", "--processes", "1", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) == (1, "")
    return ended.stderr


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A folder of files with three pages, a PDF, a line that is none, and records that are no pages."""
    folder = tmp_path / "crawl"
    folder.mkdir()
    lines = [json.dumps({"id": "1", "url": "http://a.test/1", "html": f"<title>T</title><p>{PROSE}"}), "{"]
    lines.append(json.dumps({"url": "http://a.test/2", "html": "%PDF-1.7"}))
    (folder / "a.jsonl").write_text("".join(f"{line}\n" for line in lines))
    with (folder / "b.warc.gz").open("wb") as archive:
        write_warc(RawPage("http://b.test/3", f"<p>{PROSE}".encode()), archive)
    (folder / "c.html").write_text(f"<p>{PROSE}")
    return folder


def rows(folder: Path, name: str) -> list[dict[str, object]]:
    """Contents of the files, by readers of others."""
    files = sorted(folder.glob("part-*"))
    assert {file.name.removeprefix(f"part-{at:05}") for at, file in enumerate(files)} <= {SUFFIXES[name]}
    found: list[dict[str, object]] = []
    for file in files:
        if name == "parquet":
            found += pq.read_table(file).to_pylist()
        elif name == "wet":
            with file.open("rb") as opened:
                found += map(record, ArchiveIterator(opened, verify_http=False))
        else:
            found += map(
                json.loads, zstandard.ZstdDecompressor().stream_reader(file.read_bytes()).read().splitlines()
            )
    return [row for row in found if row]


def record(found) -> dict[str, object]:
    block = found.content_stream().read().decode()
    fields = {"url": found.rec_headers.get_header("WARC-Target-URI")}
    if found.rec_type == "conversion":
        return fields | {"text": block, "error": None}
    if "note" in found.content_type or found.rec_type == "warcinfo":
        return {}
    return fields | {"text": None, "error": block.removeprefix("error: ").rstrip()}


@FORMATS
def test_every_page_of_standard_output_is_in_a_file_in_the_same_order(
    tmp_path: Path, crawl: Path, name: str
) -> None:
    lines = [json.loads(line) for line in clean(crawl).stdout.splitlines()]
    ended = clean("--output", tmp_path / "out", "--output-format", name, crawl)
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert (
        "2 of 5 pages without a document, `error` says why: 1 malformed-message, 1 not-html" in ended.stderr
    )
    found = rows(tmp_path / "out", name)
    assert [(row["url"], row["text"] or "", row["error"]) for row in found] == [
        (line["url"], line["text"], line["error"]) for line in lines
    ]
    assert [str(line["error"]).partition(":")[0] for line in lines] == [
        *("None", "malformed-message", "not-html", "None", "None")
    ]


def test_lines_in_files_are_those_of_standard_output(tmp_path: Path, crawl: Path) -> None:
    for document_format in ("json", "datatrove", "dolma"):
        folder = tmp_path / document_format
        said = clean("--format", document_format, crawl)
        clean("--format", document_format, "--output", folder, "--output-format", "jsonl.zst", crawl)
        (file,) = folder.glob("part-*")
        lines = zstandard.ZstdDecompressor().stream_reader(file.read_bytes()).read()
        assert lines.decode() == said.stdout


def test_a_row_names_the_part_of_the_file_that_its_page_is(tmp_path: Path, crawl: Path) -> None:
    clean("--output", tmp_path / "out", crawl)
    found = rows(tmp_path / "out", "parquet")
    parts = [
        Path(str(row["input_file"])).read_bytes()[row["input_offset"] :][: row["input_length"]]
        for row in found
    ]
    assert parts[:3] == (crawl / "a.jsonl").read_bytes().splitlines(keepends=True)
    assert parts[3:] == [(crawl / name).read_bytes() for name in ("b.warc.gz", "c.html")]


@FORMATS
def test_a_complete_run_is_not_done_again(tmp_path: Path, crawl: Path, name: str) -> None:
    command = ("--output", tmp_path / "out", "--output-format", name, "--resume", crawl)
    assert clean(*command).exit_code == 0
    before = rows(tmp_path / "out", name)
    (crawl / "a.jsonl").write_text("x" * (crawl / "a.jsonl").stat().st_size)  # it would be read otherwise
    ended = clean(*command)
    said = f"dehusk: going on after 5 pages in {tmp_path / 'out'}\ndehusk: no further page was found\n"
    assert (ended.exit_code, ended.stderr) == (0, said)
    assert rows(tmp_path / "out", name) == before


def test_damage_is_told_again_however_often_a_run_is_gone_on_with(tmp_path: Path, crawl: Path) -> None:
    whole = (crawl / "b.warc.gz").read_bytes()
    (crawl / "b.warc.gz").write_bytes(whole[: len(whole) // 2])
    command = ("--output", tmp_path / "out", "--resume", crawl)
    first = clean(*command)
    assert (first.exit_code, "pages may be lost" in first.stderr) == (1, True)
    for _ in range(2):
        again = clean(*command)
        lost = "dehusk: pages may be lost: 1 damaged file in the runs before: see `error` of the rows\n"
        assert (again.exit_code, again.stderr.endswith(lost)) == (1, True)


def test_the_statistics_of_two_passes_are_those_of_the_whole_input(tmp_path: Path) -> None:
    file, out = tmp_path / "crawl.jsonl", tmp_path / "out"
    page = f"<title>T</title><p>{PROSE}<p>"
    pages = ({"url": f"http://a.test/{at}", "html": page + "x" * at} for at in range(1, 7))
    file.write_text("".join(f"{json.dumps(page)}\n" for page in pages))
    command = ("--two-pass", "--output", out, "--file-mib", "0.001", "--resume", file)
    clean(*command)
    whole = rows(out, "parquet")
    files = sorted(out.glob("part-*"))
    assert {row["template"]["pages_seen"] for row in whole} == {6}
    files[-1].unlink()
    assert clean(*command).exit_code == 0
    assert rows(out, "parquet") == whole


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--favor", "recall"], "favor was 'balance' and is 'recall'"),
        (["--no-blocks"], "with_blocks was 'True' and is 'False'"),
        (["--two-pass"], "site_statistics was 'none' and is 'memory'; two_pass was 'False' and is 'True'"),
        (["--base-url", "http://x.test/"], "base_url was '' and is 'http://x.test/'"),
    ],
)
def test_other_options_than_before_are_named(
    tmp_path: Path, crawl: Path, changed: list[str], said: str
) -> None:
    clean("--output", tmp_path / "out", crawl)
    told = refused("--output", tmp_path / "out", "--resume", *changed, crawl)
    assert told == (
        f"dehusk: {tmp_path / 'out'} was begun with other options ({said}): resume with the same ones, or "
        "name an empty folder\n"
    )


def test_another_version_of_the_model_than_before_is_told(tmp_path: Path, crawl: Path) -> None:
    repository, out = tmp_path / "models", tmp_path / "out"
    model, file = find_model(DEFAULT_REPOSITORY, "dehusk")
    shutil.copytree(file.parent, repository / "dehusk" / model.version)
    onnx = ("--labeler", "onnx", "--model-repository", repository, "--output", out, crawl)
    assert clean(*onnx).exit_code == 0
    assert clean(*onnx, "--resume").exit_code == 0
    with (repository / "dehusk" / model.version / file.name).open("ab") as changed:
        changed.write(b"\x32\x01x")  # a doc_string of ONNX
    assert "(model_sha256 was '" in refused(*onnx, "--resume")
    shutil.copy(file, repository / "dehusk" / model.version)
    (repository / "dehusk" / model.version).rename(repository / "dehusk" / "99")
    assert f"model_version was '{model.version}' and is '99'" in refused(*onnx, "--resume")


def test_another_input_than_before_is_told(tmp_path: Path, crawl: Path) -> None:
    clean("--output", tmp_path / "out", crawl)
    (crawl / "d.html").write_text("<p>")
    told = refused("--output", tmp_path / "out", "--resume", crawl)
    assert re.search(r"[(]input was '3 files of [^']* bytes, \w{16}' and is '4 files of [^']*'[)]", told)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--resume"], "--resume is for --output DIR"),
        (["--file-mib", "3"], "--file-mib is for --output DIR"),
        (["--output-format", "wet"], "--output-format is for --output DIR"),
        (
            ["--output", "out", "--format", "markdown"],
            "--output-format parquet takes --format json, not markdown",
        ),
        (
            ["--output", "out", "--output-format", "jsonl.zst", "--format", "html"],
            "--output-format jsonl.zst takes --format json or datatrove or dolma, not html",
        ),
        (["--output", "out", "."], "--output out is in ., so its files would be read as pages"),
        (["--output", "out", "--resume", "-"], "--resume reads its input again: name files"),
        (["--output", "out", "--resume", "--site-statistics", "memory"], "add --two-pass, or name a Redis"),
    ],
)
def test_options_that_do_not_go_together_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.html").write_text("<p>")
    ended = clean(*words, *([] if "-" in words else ["a.html"]))
    assert ended.exit_code == 2
    assert said in ended.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_a_loop_of_links_is_told(tmp_path: Path, crawl: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for folder in (tmp_path / "loop", tmp_path / "loop" / "below"):
        assert f"cannot write {folder}: " in refused("--output", folder, crawl)


@FORMATS
def test_standard_input_is_written_too(tmp_path: Path, name: str) -> None:
    command = [*COMMAND, "--labeler", "rules", "--output", tmp_path / "out", "--output-format", name]
    ended = subprocess.run(command, input=f"<p>{PROSE}".encode(), capture_output=True, check=True, timeout=60)
    assert (ended.stdout, ended.stderr) == (b"", b"")
    assert [row["text"] for row in rows(tmp_path / "out", name)] == [PROSE.strip()]


def test_damage_is_told_and_the_pages_before_it_are_in_a_file(tmp_path: Path, crawl: Path) -> None:
    archive = crawl / "b.warc.gz"
    archive.write_bytes(archive.read_bytes() * 2 + b"WARC")
    ended = clean("--output", tmp_path / "out", crawl)
    assert ended.exit_code == 1
    assert "pages may be lost" in ended.stderr
    errors = [str(row["error"]).partition(":")[0] for row in rows(tmp_path / "out", "parquet")]
    assert errors == ["None", "malformed-message", "not-html", "None", "None", "malformed-message", "None"]


def test_a_page_whose_row_is_interrupted_is_behind_the_end_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = FolderSettings(tmp_path / "out", "jsonl.zst", resume=True)
    lines = [b"{}\n"] * 2

    def line(*_: object) -> bytes:
        if not lines:
            raise KeyboardInterrupt
        return lines.pop()

    def write() -> None:
        with open_folder(settings, PLACE_COLUMNS, {}) as folder:
            files = CleanedFiles(folder, lambda *_: b"")
            for number in 1, 2, 3:
                files.places.append(Place(0, number, "crawl.jsonl"))
                files.write(BROKEN, BROKEN)

    monkeypatch.setattr(module, "line_of", line)
    with pytest.raises(KeyboardInterrupt):
        write()
    with open_folder(settings, PLACE_COLUMNS, {}) as folder:
        assert (folder.rows, CleanedFiles(folder, None).place) == (2, Place(0, 2, "crawl.jsonl"))


def test_a_file_that_cannot_be_reached_is_told_and_the_others_are_in_a_file(
    tmp_path: Path, crawl: Path
) -> None:
    (crawl / "a.html").symlink_to("a" * 300)
    ended = clean("--output", tmp_path / "out", crawl)
    assert ended.exit_code == 1
    assert "a.html cannot be read: " in ended.stderr
    assert [row["text"] for row in rows(tmp_path / "out", "parquet")].count(PROSE.strip()) == 3


def test_another_signature_of_an_object_is_the_same_input() -> None:
    with web_server() as server:
        server.objects |= {"/a.html": b"<p>", "/b.html": b"<p>"}
        names = ("a.html?signature=1", "a.html?signature=2", "b.html?signature=1")
        first, again, other = (describe_input([StoredPath(f"{server.url}/{name}")]) for name in names)
    assert first == again != other
