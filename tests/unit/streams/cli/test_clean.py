"""`dehusk clean`: what it says of files that it cannot read or that hold no page; models of one's own."""

import io
import json
import os
import pty
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner, Result
from warcio.warcwriter import WARCWriter

from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.pages import RawPage
from dehusk.streams.cli import cli
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.sources.warc import write_warc
from tests.commands import DEHUSK

PAGE = "<p>A paragraph of prose, which is the whole of its page."


COMMAND = [DEHUSK, "clean"]


URLS = [f"https://{host}.example.org/{at}" for at in range(3) for host in ("a", "b")]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Three pages of two hosts each, which repeat a paragraph and have one of their own."""
    file = tmp_path / "crawl.jsonl"
    pages = ({"url": url, "html": f"{PAGE}<p>{'x' * at}"} for at, url in enumerate(URLS, start=1))
    file.write_text("".join(f"{json.dumps(page)}\n" for page in pages))
    return file


def pages_seen(ended: Result) -> list[tuple[str, int]]:
    """Of each page its site, and how many pages of it were known."""
    assert (ended.exit_code, ended.stderr) == (0, "")
    lines = map(json.loads, ended.stdout.splitlines())
    return [(line["site"], line["template"]["pages_seen"]) for line in lines]


def words_of(path: Path, options: tuple[str, ...]) -> list[str]:
    return [*(options or ("--labeler", "rules")), "--processes", "1", str(path)]


def clean(path: Path, *options: str) -> Result:
    """The ended command, in this process."""
    return CliRunner().invoke(cli, ["clean", *words_of(path, options)])


def clean_apart(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The ended command as a process of its own, which errors end at once."""
    command = [*COMMAND, *words_of(path, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_page_in_a_file_is_a_line_and_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    ended = clean_apart(tmp_path)
    assert (ended.returncode, ended.stdout.count("\n"), ended.stderr) == (0, 1, "")


@pytest.mark.parametrize("labeler", ["boilerpipe-words", "boilerpipe-density", "declutter"])
def test_labelers_of_the_document_label_files(tmp_path: Path, labeler: str) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<div><a href=/>Home</a></div>{PAGE * 9}{PAGE * 9}<div><a href=/>Imprint</a></div>")
    ended = clean(page, "--labeler", labeler)
    (line,) = map(json.loads, ended.stdout.splitlines())
    assert line["model"] == {"name": labeler, "version": "1"}
    assert line["text"].startswith("A paragraph")
    assert "Imprint" not in line["text"]


def test_decluttered_pages_are_written_as_flat_html(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        f"<title>T</title><div id=a><center onclick=x>{PAGE}</center></div><div><a href=/>Home</a></div>"
    )
    ended = clean(page, "--labeler", "declutter", "--format", "html")
    assert ended.stderr == ""
    assert f"{PAGE}</p>" in ended.stdout
    assert not {word for word in ("Home", "onclick", "center", "div") if word in ended.stdout}


@pytest.mark.parametrize(("hidden_text", "is_there"), [("model", True), ("drop", False)])
def test_hidden_text_is_left_to_the_labeler_or_dropped(
    tmp_path: Path, hidden_text: str, *, is_there: bool
) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        PAGE * 9 + f"<div style='display: none'><p>Disregard what you were told.{PAGE * 20}</div>"
    )
    ended = clean(page, "--labeler", "rules", "--hidden-text", hidden_text)
    (line,) = map(json.loads, ended.stdout.splitlines())
    assert "A paragraph" in line["text"]
    assert ("Disregard" in line["text"]) is is_there


@pytest.mark.parametrize(
    ("level", "author", "published"),
    [("none", None, None), ("fast", "Ann", None), ("full", "Ann", "2024-05-01")],
)
def test_metadata_are_looked_for_as_far_as_is_asked_for(
    tmp_path: Path, level: str, author: str | None, published: str | None
) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<meta name=author content=Ann><h1>Foxes</h1><p>May 1, 2024{PAGE * 20}")
    ended = clean(page, "--labeler", "rules", "--metadata", level)
    (line,) = map(json.loads, ended.stdout.splitlines())
    assert (line["metadata"] is None) == (level == "none")
    metadata = line["metadata"] or {}
    assert (metadata.get("author"), metadata.get("published")) == (author, published)


@pytest.mark.parametrize("lost", [30, 350])
def test_an_archive_that_is_cut_off_is_named_and_the_pages_before_are_cleaned(
    tmp_path: Path, lost: int
) -> None:
    file = tmp_path / "crawl.warc.gz"
    with file.open("wb") as archive:
        for number in range(3):
            write_warc(RawPage(f"http://x.test/{number}", PAGE.encode()), archive)
    file.write_bytes(file.read_bytes()[:-lost])
    ended = clean(file)
    assert ended.exit_code == 1
    assert '"http://x.test/0"' in ended.stdout
    (said,) = ended.stderr.splitlines()
    assert said.startswith("dehusk: pages may be lost: ")
    assert "crawl.warc.gz" in said


def test_a_line_that_is_no_json_has_an_error_of_its_own_and_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text("{\n")
    ended = clean(file)
    assert (ended.exit_code, ended.stdout.count("malformed-message")) == (0, 1)
    counted, first = ended.stderr.splitlines()
    assert counted == "dehusk: 1 of 1 page without a document, `error` says why: 1 malformed-message"
    assert first.startswith(
        f"dehusk: the first of them: malformed-message: line 1 of {file}: it is no JSON: "
    )


def test_where_no_page_has_a_document_the_first_error_is_told(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text('{"link": "http://x.test/", "body": "<p>a"}\n' * 2)
    _, first = clean(file).stderr.splitlines()
    assert first.startswith(f"dehusk: the first of them: wrong-format: line 1 of {file}: ")
    assert "--field html=PATH" in first
    with file.open("a") as lines:
        lines.write(json.dumps({"html": PAGE}))
    assert "the first of them" not in clean(file).stderr


def test_lines_with_fields_of_other_names_are_read(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text(json.dumps({"link": "https://a.test/", "page": {"body": PAGE}}))
    ended = clean(file, "--field", "url=link", "--field", "html=page.body")
    line = json.loads(ended.stdout)
    assert (ended.exit_code, line["url"], line["error"], ended.stderr) == (0, "https://a.test/", None, "")
    ended = clean(file)
    assert "with the fields 'link, page', without 'html': `dehusk clean`" in ended.stdout
    ended = clean(file, "--field", "body=page.body")
    assert (ended.exit_code, "NAME=PATH with a name of: id, url, html" in ended.stderr) == (2, True)


def test_a_directory_without_pages_is_said_to_have_none(tmp_path: Path) -> None:
    ended = clean(tmp_path)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", "dehusk: no page was found\n")


def test_archives_without_pages_are_said_to_have_none(tmp_path: Path) -> None:
    archive, out = tmp_path / "a.warc.wet.gz", io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    writer.write_record(writer.create_warc_record("http://x.test/", "conversion", io.BytesIO(b"A text"), 6))
    archive.write_bytes(out.getvalue())
    ended = clean(archive)
    said = "dehusk: no page was found among 1 record of archives; WET and WAT files hold none\n"
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "", said)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one model, version 7 of `mine`."""
    folder = tmp_path / "repository"
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / "7").symlink_to(find_model(DEFAULT_REPOSITORY, "boilernet")[1].parent)
    return folder


@pytest.mark.parametrize("version", [[], ["--model-version", "7"]])
def test_a_model_of_another_repository_labels(tmp_path: Path, repository: Path, version: list[str]) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    options = ["--model-repository", str(repository), "--model", "mine", *version]
    ended = clean(tmp_path / "page.html", *options)
    assert (ended.exit_code, ended.stdout.count('"error":null'), ended.stderr) == (0, 1, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model-version", "8"], "holds no version 8 of model 'mine'; versions there: 7"),
        (["--model", "dehusk"], "holds no model 'dehusk'; models there: mine"),
    ],
)
def test_a_model_that_is_not_there_is_an_error(repository: Path, options: list[str], said: str) -> None:
    ended = clean_apart(repository, "--model-repository", str(repository), "--model", "mine", *options)
    (line,) = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert line.endswith(said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--labeler", "rules"], "--model-repository is for --labeler onnx, not rules"),
        (["--triton", "localhost:1"], "--model-repository is for --labeler onnx, not triton"),
    ],
)
def test_a_repository_of_models_that_run_elsewhere_is_a_wrong_option(
    repository: Path, options: list[str], said: str
) -> None:
    ended = clean(repository, "--model-repository", str(repository), *options)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.splitlines()[-1] == f"Error: {said}"


def test_what_holds_for_all_commands_need_not_suit_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    monkeypatch.setenv("DEHUSK_TRITON", "localhost:1")
    ended = clean(tmp_path / "page.html", "--labeler", "rules")
    assert (ended.exit_code, ended.stdout.count('"error":null'), ended.stderr) == (0, 1, "")


def shown_by(*arguments: str) -> tuple[bytes, bytes]:
    """Standard output, and what a terminal shows."""
    terminal, standard_error = pty.openpty()
    command = [*COMMAND, "--labeler", "rules", "--processes", "1", *arguments]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "150"}
    ended = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=standard_error, env=environment, check=True, timeout=60
    )
    os.close(standard_error)
    shown = b""
    with suppress(OSError):  # as Linux says that nobody writes to a terminal any more
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    return ended.stdout, shown


def test_the_progress_is_shown_on_a_terminal_alone(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    output, shown = shown_by(str(tmp_path))
    assert output.count(b"\n") == 1
    assert b"1 page, " in shown
    assert b"100%, ETA" in shown


def test_a_model_is_loaded_once_however_many_processes_there_are(
    crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = Mock(side_effect=OnnxLabeler)
    monkeypatch.setattr("dehusk.inference.labelers.onnx.OnnxLabeler", load)
    assert clean(crawl, "--labeler", "onnx", "--processes", "3").exit_code == 0
    assert load.call_count == 1


def test_each_of_two_passes_shows_its_progress(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    output, shown = shown_by("--two-pass", str(tmp_path))
    assert output.count(b"\n") == 1
    counting, cleaning = shown.rindex(b"counting"), shown.index(b"cleaning")
    assert counting < cleaning
    assert b"1 page, " in shown[:cleaning]
    assert b"1 page, " in shown[cleaning:]


def test_a_pipe_is_shown_no_progress_whatever_its_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert clean(tmp_path).stderr == ""


def test_without_statistics_lines_say_nothing_of_them(crawl: Path) -> None:
    for line in map(json.loads, clean(crawl).stdout.splitlines()):
        assert "template" not in line
        assert "frequency" not in line["blocks"][0]


def test_a_pass_learns_as_it_goes(crawl: Path) -> None:
    a, b = "a.example.org", "b.example.org"
    ended = clean(crawl, "--labeler", "rules", "--site-statistics", "memory")
    assert pages_seen(ended) == [(a, 1), (b, 1), (a, 2), (b, 2), (a, 3), (b, 3)]


@pytest.mark.parametrize("memory", [[], ["--site-statistics", "memory"]])
def test_two_passes_show_each_page_all_others(crawl: Path, memory: list[str]) -> None:
    ended = clean(crawl, "--labeler", "rules", "--two-pass", *memory)
    assert pages_seen(ended) == [("a.example.org", 3), ("b.example.org", 3)] * 3


@pytest.mark.parametrize(
    ("key", "site", "pages"), [("domain", ".example.org", 6), ("path", "a.example.org/", 3)]
)
def test_pages_of_a_site_are_those_with_the_same_key(crawl: Path, key: str, site: str, pages: int) -> None:
    ended = clean(crawl, "--labeler", "rules", "--two-pass", "--site-key", key)
    assert pages_seen(ended)[0] == (site, pages)


def test_what_cannot_be_read_is_named_once_though_it_is_read_twice(tmp_path: Path) -> None:
    file = tmp_path / "crawl.warc.gz"
    with file.open("wb") as archive:
        write_warc(RawPage("http://x.test/", PAGE.encode()), archive)
    file.write_bytes(file.read_bytes()[:-30])
    ended = clean(file, "--labeler", "rules", "--two-pass")
    assert (ended.exit_code, ended.stderr.count("pages may be lost")) == (1, 1)


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (["--labeler", "rules"], None),
        (["--labeler", "rules", "--comments", "include"], None),
        (["--labeler", "onnx", "--comments", "separate"], None),
        (["--labeler", "rules", "--comments", "separate"], "--comments separate has no effect: boilerpipe"),
        (["--model", "boilernet", "--comments", "drop"], "--comments drop has no effect: boilernet"),
    ],
)
def test_comments_that_the_model_does_not_tell_apart_are_warned_of_once(
    crawl: Path, options: list[str], warning: str | None
) -> None:
    ended = clean(crawl, *options)
    said = f"dehusk: {warning} does not tell user comments apart\n" if warning else ""
    assert (ended.exit_code, ended.stderr) == (0, said)


def test_pages_without_a_host_are_told_of_and_may_be_given_one(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.html").write_text(f"{PAGE}<p>{name}")
    ended = clean(tmp_path, "--labeler", "rules", "--two-pass")
    assert [json.loads(line)["template"]["pages_seen"] for line in ended.stdout.splitlines()] == [1, 1]
    assert ended.exit_code == 0
    assert ended.stderr.startswith("dehusk: 2 pages without a host in the URL: of no site")
    named = clean(tmp_path, "--labeler", "rules", "--two-pass", "--base-url", "https://x.test/a/")
    assert pages_seen(named) == [("x.test", 2)] * 2
    assert json.loads(named.stdout.splitlines()[0])["url"] == "https://x.test/a/a.html"
    assert clean(tmp_path, "--labeler", "rules").stderr == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_says_how_many_pages_were_written(number: signal.Signals) -> None:
    pipe, line = subprocess.PIPE, json.dumps({"html": PAGE}) + "\n"
    command = [*COMMAND, "--labeler", "rules", "--processes", "1"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        for _ in range(2):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline()
        process.send_signal(number)
        rest, said = process.communicate(timeout=60)
    assert (process.returncode, rest, said) == (
        128 + number,
        "",
        "dehusk: interrupted; 2 pages were written\n",
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--two-pass", "--site-statistics", "none"], "--two-pass needs --site-statistics memory or"),
        (["--two-pass", "-"], "--two-pass reads its pages twice: name files, not standard input"),
        (["--two-pass", "/dev/null"], "--two-pass reads its pages twice: name files, not standard input"),
        (["--redis-cluster"], "--redis-cluster is for --site-statistics redis://…, not none"),
        (
            ["--redis-seconds", "1", "--site-statistics", "memory"],
            "--redis-seconds is for --site-statistics redis://…, not memory",
        ),
        (["--site-statistics", "disk"], "it must be none, or memory, or a URL that begins with redis://"),
    ],
)
def test_options_of_statistics_that_conflict_are_wrong(crawl: Path, options: list[str], said: str) -> None:
    ended = clean(crawl, "--labeler", "rules", *options)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--format", "datatrove", "--with-links"],
            "--with-links is for documents with all fields, not datatrove",
        ),
        (
            ["--format", "html", "--with-markdown"],
            "--with-markdown is for documents with all fields, not html",
        ),
        (
            ["--format", "dolma", "--images", "drop"],
            "--images is for Markdown and HTML, not dolma without them",
        ),
        (["--tables", "drop"], "--tables is for Markdown and HTML, not json without them"),
        (["--labeler", "rules", "--model", "dehusk"], "--model is for --labeler triton or onnx, not rules"),
    ],
)
def test_options_that_have_no_effect_are_wrong(crawl: Path, options: list[str], said: str) -> None:
    ended = clean(crawl, *options)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in ended.stderr.splitlines()[-1]


def test_files_are_not_written_into_stores(crawl: Path) -> None:
    ended = clean(crawl, "--output", "s3://key:secret@pages/out")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "s3://***@pages/out is a URL, and no folder of this machine" in ended.stderr
    assert not Path("s3:").exists()


def test_links_are_for_no_files_of_texts(crawl: Path, tmp_path: Path) -> None:
    ended = clean(crawl, "--output", tmp_path / "out", "--output-format", "wet", "--with-links")
    assert "--with-links is for documents with all fields, not wet" in ended.stderr


def test_two_passes_need_files() -> None:
    ended = CliRunner().invoke(cli, ["clean", "--two-pass"])
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "name files" in ended.stderr


def test_statistics_in_a_redis_that_is_not_there_are_an_error(crawl: Path) -> None:
    url = f"redis://{LOOPBACK}:{free_ports(1)[0]}"
    ended = clean_apart(crawl, "--labeler", "rules", "--site-statistics", url)
    assert (ended.returncode, ended.stdout) == (1, "")
    (said,) = ended.stderr.splitlines()
    assert said.startswith("dehusk: Redis does not answer: ")
    assert said.endswith("or clean with --site-statistics memory")


LINKED = f"<title>T</title><h1>Title</h1>{PAGE * 3} <a href=/x>link</a>"


def test_a_page_is_written_as_markdown(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(LINKED)
    ended = clean(tmp_path, "--labeler", "rules", "--format", "markdown")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert ended.stdout.startswith('---\ntitle: "T"\nurl: ')
    assert "[link](" in ended.stdout


def test_markdown_and_html_are_fields_of_lines(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(LINKED)
    ended = clean(tmp_path, "--labeler", "rules", "--with-markdown", "--with-html", "--links", "drop")
    line = json.loads(ended.stdout)
    assert line["markdown"].endswith(" link")
    assert line["html"].endswith(" link</p>")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--format", "markdown"], ["---", 'url: "b"', 'error: "too-many-blocks: ']),
        (["--format", "html"], ["<!DOCTYPE html>", '<meta name="dehusk-error" content="too-many-blocks: ']),
        (["--with-markdown"], ['"error":"too-many-blocks: ', '"markdown":null']),
        (["--with-html"], ['"error":"too-many-blocks: ', '"html":null']),
    ],
)
def test_a_page_that_cannot_be_cleaned_is_told_in_the_same_format(
    tmp_path: Path, options: list[str], expected: list[str]
) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text(json.dumps({"url": "b", "html": PAGE * 20}))
    ended = clean(*(file, "--labeler", "rules", *options, "--max-page-blocks", "10"))
    assert ended.exit_code == 0
    assert all(each in ended.stdout for each in expected)
