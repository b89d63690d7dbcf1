"""`dehusk inspect`: what it writes, serves and refuses."""

import json
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from selectolax.lexbor import LexborHTMLParser

from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from dehusk.schemas.errors import DehuskError
from dehusk.streams.cli import cli
from tests.commands import DEHUSK

COMMAND = [DEHUSK, "inspect"]
PAGE = "<title>T</title><p>A paragraph of prose, which is the whole of its page.<p hidden>And hidden prose."


def run(*words: object) -> Result:
    """The ended command, in this process."""
    return CliRunner().invoke(cli, ["inspect", *map(str, words)])


def run_apart(*words: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The ended command as a process of its own."""
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
    options = ("--labeler", "rules", "--hidden-text", "drop", "--output", output)
    if way == "file":
        here = run(page, *options)
        assert (here.exit_code, here.output) == (0, "")
    else:
        apart = run_apart("-", *options, stdin=PAGE.encode())
        assert (apart.returncode, apart.stdout, apart.stderr) == (0, b"", b"")
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
    assert isinstance(ended.exception, DehuskError)
    assert str(ended.exception).startswith(reason)
    assert not output.exists()


def test_a_url_without_a_topic_is_said_to_need_one() -> None:
    ended = run("https://example.org/a")
    assert isinstance(ended.exception, DehuskError)
    assert str(ended.exception).startswith("https://example.org/a is looked for in a topic: give --topic")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE)
    ended = run_apart(page, "--labeler", "rules", "--output", tmp_path / "none" / "out.html")
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"dehusk: cannot write ")


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (["--topic", "t", "--page", "u"], "--page is for files"),
        (["--brokers", "k:9"], "--brokers is for --topic"),
        (["--source", "json"], "--source is for --topic"),
        (["--output", "x", "--open"], "--output serves nothing"),
        (["--labeler", "rules", "--triton", "t:1"], "--triton is for --labeler triton"),
    ],
)
def test_options_that_do_not_go_together_are_named(options: list[str], advice: str) -> None:
    ended = run("page.html", *options)
    assert ended.exit_code == 2
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
