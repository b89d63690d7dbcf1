"""`dehusk inspect`: what it writes, serves and refuses."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from dehusk.inference.labelers import LOCAL_LABELERS

COMMAND = [sys.executable, "-c", "from dehusk.streams.cli import main; main()", "inspect"]
PAGE = "<title>T</title><p>A paragraph of prose, which is the whole of its page.<p hidden>And hidden prose."


def run(*words: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The ended command: a process of its own, with which its pool ends."""
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=120)


def data(file: Path, name: str) -> object:
    node = LexborHTMLParser(file.read_bytes()).css_first(f"#{name}")
    assert node is not None
    return json.loads(node.text(deep=True))


@pytest.mark.parametrize("way", ["file", "standard input"])
def test_a_page_is_written_with_what_every_labeler_says(tmp_path: Path, way: str) -> None:
    page, output = tmp_path / "page.html", tmp_path / "out.html"
    page.write_text(PAGE)
    words, stdin = ([page], b"") if way == "file" else (["-"], PAGE.encode())
    ended = run(*words, "--labeler", "rules", "--hidden-text", "drop", "--output", output, stdin=stdin)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    shown, views = data(output, "page-data"), data(output, "view-data")
    others = [name for name in LOCAL_LABELERS if name != "rules"]
    models = ["onnx"] * (len(views) - len(LOCAL_LABELERS))
    assert [view["labeler"] for view in views] == ["rules", *models, *others]
    assert len(shown["labelers"]) == len(views) > 1
    assert [block["text"] for block in shown["blocks"]][-1] == "And hidden prose."


@pytest.mark.parametrize(
    ("content", "options", "reason"),
    [
        (b"%PDF-1.4\n%\xe2\xe3", [], "not-html: "),
        (b"", [], "no-body: "),
        (b"<p>" + b"x" * (1 << 21), ["--max-page-mib", "1"], "page-too-large: "),
        (b"<p>one<p>two<p>three", ["--max-page-blocks", "2"], "too-many-blocks: "),
    ],
)
def test_a_page_that_is_refused_has_its_reason(
    tmp_path: Path, content: bytes, options: list[str], reason: str
) -> None:
    page, output = tmp_path / "page.html", tmp_path / "out.html"
    page.write_bytes(content)
    ended = run(page, *options, "--output", output)
    assert ended.returncode == 1
    assert ended.stderr.decode().startswith(f"dehusk: {reason}")
    assert not output.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    ended = run(page, "--labeler", "rules", "--output", tmp_path / "none" / "out.html")
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"dehusk: cannot write ")


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["--topic", "t", "--page", "u"], b"--page is for files"),
        (["--brokers", "k:9"], b"--brokers is for --topic"),
        (["--source", "json"], b"--source is for --topic"),
        (["--output", "x", "--open"], b"--output serves nothing"),
        (["--labeler", "rules", "--triton", "t:1"], b"--triton is for --labeler triton"),
    ],
)
def test_options_that_do_not_go_together_are_named(options: list[str], advice: bytes) -> None:
    ended = run("page.html", *options)
    assert ended.returncode == 2
    assert advice in ended.stderr


def test_it_is_served_until_it_is_interrupted(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    with subprocess.Popen([*COMMAND, str(page)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[0].decode()
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"which is the whole of its page" in answer.read()
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, told) == (0, b"")
