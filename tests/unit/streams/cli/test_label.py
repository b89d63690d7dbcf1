"""`dehusk label`: what it offers, says and refuses."""

import json
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dehusk.schemas.errors import DehuskError
from dehusk.streams.cli import cli
from dehusk.streams.labeling.labels_file import open_labels_file
from tests.commands import DEHUSK

COMMAND = [DEHUSK, "label", "--labeler", "rules"]
PAGES = [
    {"id": "a", "url": "https://example.org/a", "html": "<p>A paragraph of prose<p>and another one"},
    {"url": "https://example.org/b", "html": "<p>Second"},
    {"id": "c", "html": "%PDF-1.4"},
]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "pages.jsonl"
    file.write_text("".join(f"{json.dumps(page)}\n" for page in PAGES))
    return file


@contextmanager
def running(*words: object, told: str = "") -> Iterator[tuple[str, str]]:
    """The address of the tool, and the line that it says; it ends by Ctrl-C, and has told no more."""
    command = [*COMMAND, *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield line.split(" ", 1)[0], line
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, said) == (0, told)


def run(*words: object) -> Result:
    """The ended command, in this process."""
    return CliRunner().invoke(cli, ["label", "--labeler", "rules", *map(str, words)])


def refused(*words: object) -> str:
    error = run(*words).exception
    assert isinstance(error, DehuskError)
    return str(error)


def ask(address: str, asked: dict[str, Any] | None = None) -> dict[str, Any]:
    sent = None if asked is None else json.dumps(asked).encode()
    request = urllib.request.Request(address, sent, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def test_labels_are_saved_and_go_on_in_the_next_run(lines: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    with running(lines, "--labels", labels) as (address, line):
        assert "(0 of 3 pages labeled, 1 cannot be; Ctrl-C ends it)" in line
        page = ask(f"{address}pages/0")
        saved = ask(f"{address}pages/0/labels", {"labels": [1, 0], "revision": page["revision"]})
        assert saved["state"] == "labeled"
        assert ask(f"{address}pages/1")["id"] == "https://example.org/b"
        assert ask(f"{address}pages/2")["refusal"].startswith("not-html: ")
    with running(lines, "--labels", labels, "--limit", 2) as (address, line):
        assert "(1 of 2 pages labeled; Ctrl-C ends it)" in line
        assert ask(f"{address}pages/0")["labels"] == [1, 0]


def test_fine_tuning_is_offered_with_an_environment_to_the_page_alone(lines: Path, tmp_path: Path) -> None:
    training = tmp_path / "python"
    training.write_text("#!/bin/sh\nsleep 600\n")
    training.chmod(0o755)
    with running(lines, "--labels", tmp_path / "labels.jsonl", "--training", training) as (address, _):
        assert ask(f"{address}fine-tuning")["state"] == "idle"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{address}fine-tuning", b"{}", timeout=60)
        assert ask(f"{address}fine-tuning")["state"] == "idle"
        assert ask(f"{address}fine-tuning", {})["state"] == "running"
    assert (tmp_path / "labels-fine-tuned" / "pages.jsonl").exists()


def test_another_address_is_listened_on_and_no_other_name_leads_to_it(lines: Path, tmp_path: Path) -> None:
    with running(lines, "--labels", tmp_path / "labels.jsonl", "--listen", "127.0.0.2:0") as (address, _):
        assert address.startswith("http://127.0.0.2:")
        assert ask(f"{address}pages/1")["id"] == "https://example.org/b"
        request = urllib.request.Request(address, headers={"Host": "evil.test"})
        with pytest.raises(urllib.error.HTTPError, match="421"):
            urllib.request.urlopen(request, timeout=60)


def test_a_torn_line_and_labels_of_other_pages_are_told(lines: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    page = {"id": "x", "url": None, "html_hash": "0" * 32, "blocks_hash": "0" * 32, "labels": [1]}
    labels.write_text(json.dumps({**page, "labeled_at": "2026-11-23T03:30:00Z"}) + '\n{"id"')
    told = (
        f"dehusk: the last line of {labels} was torn, as by a crash; it is kept in {labels}.torn\n"
        f"dehusk: {labels} has labels of 1 page not among these; they stay\n"
    )
    with running(lines, "--labels", labels, told=told):
        pass


def test_what_keeps_it_from_starting_is_named(lines: Path, tmp_path: Path) -> None:
    empty, labels = tmp_path / "empty.jsonl", tmp_path / "labels.jsonl"
    empty.touch()
    assert refused(empty, "--labels", labels) == "there are no pages to label"
    assert refused(tmp_path / "none", "--labels", labels).startswith("there is no file or directory ")
    assert not labels.exists()
    with open_labels_file(labels):
        command = [*COMMAND, lines, "--labels", labels]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    assert f"{labels} is open in another program that labels pages" in ended.stderr
    assert "none" in refused(lines, "--labels", labels, "--labeler", "onnx", "--model", "none")
    assert run().exit_code == 2


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "name the PAGES, or --unsure and no PAGES"),
        (("page.html", "--unsure", "--unsure-topic", "unsure"), "name the PAGES, or --unsure and no PAGES"),
        (("--unsure",), "--unsure needs --unsure-topic"),
        (("page.html", "--unsure-topic", "unsure"), "--unsure-topic is for --unsure"),
        (("page.html", "--brokers", "kafka:9092"), "--brokers is for --unsure"),
    ],
)
def test_pages_are_of_files_or_of_the_unsure_topic(words: tuple[str, ...], error: str) -> None:
    ended = run(*words)
    assert (ended.exit_code, error in ended.stderr) == (2, True)


def test_a_topic_that_the_environment_names_for_workers_does_not_matter_to_files(
    lines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEHUSK_UNSURE_TOPIC", "unsure")
    with running(lines, "--labels", tmp_path / "labels.jsonl") as (_, line):
        assert "(0 of 3 pages labeled" in line
