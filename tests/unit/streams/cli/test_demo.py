"""`dehusk demo`: what the command makes of a run's summary, and where its results are."""

import errno
import tempfile
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.cli import demo
from dehusk.streams.demo.run import DemoSettings
from dehusk.streams.demo.summary import Block, Cleaned, Crawled, Dead, Summary

SENTENCE = "A sentence of a page that is longer than the half of eighty columns."


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for what is temporary."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[DemoSettings]:
    """Record the settings of the demo, which does not run: 5 pages come in, and 4 documents out."""
    told: list[DemoSettings] = []

    def run(settings: DemoSettings, display: object) -> Summary:
        told.append(settings)
        urls = [b"%d" % number for number in range(5)]
        crawled = Crawled({*urls[: settings.pages]}, first=0.0)
        cleaned = Cleaned({*urls[:4]}, example=[Block(SENTENCE, content=True)])
        return Summary("shipped", "rules", crawled, cleaned, Dead(), {}, 1.0, settings.directory)

    monkeypatch.setattr("dehusk.streams.demo.run.run_demo", run)
    return told


@pytest.mark.parametrize(("pages", "status"), [("4", 0), ("5", 1)])
def test_a_page_unaccounted_for_is_status_1(runs: list[DemoSettings], pages: str, status: int) -> None:
    result = CliRunner().invoke(demo.command, ["--site", "shipped", "--pages", pages])
    assert result.exit_code == status
    assert f"{pages} from the shipped site" in result.output


@pytest.mark.parametrize(("terminal", "shown"), [(None, 2), ("200", 2), ("80", 0)])
def test_the_page_before_and_after_has_the_width_of_the_terminal_and_more_in_a_pipe(
    runs: list[DemoSettings], monkeypatch: pytest.MonkeyPatch, terminal: str | None, shown: int
) -> None:
    monkeypatch.setenv("COLUMNS", terminal or "80")
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    result = CliRunner().invoke(demo.command, ["--site", "shipped", "--pages", "4"])
    assert result.stdout.count(SENTENCE) == shown


def test_json_is_the_only_line_of_standard_output(runs: list[DemoSettings], tmp_path: Path) -> None:
    arguments = [
        "--site",
        "shipped",
        "--pages",
        "4",
        "--json",
        "--labeler",
        "rules",
        "--directory",
        str(tmp_path),
    ]
    result = CliRunner().invoke(demo.command, arguments)
    (line,) = result.stdout.splitlines()
    assert orjson.loads(line)["documents"] == 4
    (settings,) = runs
    assert (settings.site.name, settings.labeler, settings.directory) == ("shipped", "rules", tmp_path)


def test_without_scrapy_one_line_says_what_to_install(
    runs: list[DemoSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    result = CliRunner().invoke(demo.command, ["--site", "shipped"])
    assert "`pip install 'dehusk[demo]'`, or `make setup` in its checkout" in str(result.exception)
    assert runs == []


def test_a_folder_that_cannot_be_written_is_named_before_anything_is_done(
    runs: list[DemoSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = CliRunner().invoke(demo.command, ["--site", "shipped", "--directory", "/proc/nope"])
    assert str(result.exception) == "cannot write /proc/nope: No such file or directory"
    assert isinstance(result.exception, ConfigurationError)
    assert runs == []


ENDS = [KeyboardInterrupt(), UnavailableError("the worker ended")]


def end_with(monkeypatch: pytest.MonkeyPatch, end: BaseException, *files: str) -> None:
    """Let a demo write these files and end so."""

    def run(settings: DemoSettings, display: object) -> Summary:
        for name in files:
            (settings.directory / name).touch()
        raise end

    monkeypatch.setattr("dehusk.streams.demo.run.run_demo", run)


def test_the_temporary_folder_that_the_summary_names_stays(runs: list[DemoSettings], temporary: Path) -> None:
    CliRunner().invoke(demo.command, ["--site", "shipped"])
    assert [runs[0].directory] == list(temporary.iterdir())


def test_a_demo_without_room_for_temporary_files_says_what_to_set(
    runs: list[DemoSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", find_none)
    monkeypatch.setattr(tempfile, "tempdir", None)
    error = CliRunner().invoke(demo.command, ["--site", "shipped"]).exception
    assert isinstance(error, ConfigurationError)
    assert "or one that TMPDIR names, must be writable and have room" in str(error)
    assert not runs


@pytest.mark.parametrize(("end", "left"), [(ENDS[0], []), (ENDS[1], ["worker.log"])])
def test_the_log_of_a_demo_that_failed_stays_and_that_of_an_interrupted_one_does_not(
    monkeypatch: pytest.MonkeyPatch, temporary: Path, end: BaseException, left: list[str]
) -> None:
    end_with(monkeypatch, end, "worker.log")
    CliRunner().invoke(demo.command, ["--site", "shipped"])
    assert [file.name for file in temporary.glob("*/*")] == left
    assert len(list(temporary.iterdir())) == len(left)


@pytest.mark.parametrize("end", ENDS)
def test_no_empty_folder_stays(monkeypatch: pytest.MonkeyPatch, temporary: Path, end: BaseException) -> None:
    end_with(monkeypatch, end)
    CliRunner().invoke(demo.command, ["--site", "shipped"])
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("end", ENDS)
def test_a_folder_that_was_named_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: BaseException
) -> None:
    end_with(monkeypatch, end)
    CliRunner().invoke(demo.command, ["--site", "shipped", "--directory", str(tmp_path)])
    assert tmp_path.exists()
