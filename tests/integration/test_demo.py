"""`dehusk demo` as a newcomer runs it, on the site that needs no network."""

import os
import signal
import subprocess
from pathlib import Path

import orjson
import psutil
import pytest

from dehusk.streams.demo.handbook import CHAPTERS
from tests.commands import DEHUSK
from tests.settling import left_running

PAGES = len(CHAPTERS)


def start(temporary: Path, *options: str) -> subprocess.Popen[str]:
    """The demo once its worker is ready, which has this folder for what is temporary."""
    command = [DEHUSK, "demo", "--site", "shipped", "--json", *options]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    demo = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert demo.stderr is not None
    said = [""]
    while "worker is ready" not in said[-1]:
        said.append(demo.stderr.readline())
        assert demo.poll() is None, "".join(said) + demo.stderr.read()
    return demo


def test_every_page_is_accounted_for_though_a_service_fails_and_is_started_again(tmp_path: Path) -> None:
    demo = start(tmp_path, "--directory", str(tmp_path / "out"))
    below = psutil.Process(demo.pid).children(recursive=True)
    (triton,) = (process for process in below if process.name() == "tritonserver")
    triton.send_signal(signal.SIGSEGV)
    output, messages = demo.communicate(timeout=200)
    assert demo.returncode == 0, messages
    (failure,) = (line for line in messages.splitlines() if line.startswith("triton failed: "))
    assert "It is started again now" in failure
    assert any(cause in failure for cause in ("status 139 (SIGSEGV)", "the process of a model died"))
    summary = orjson.loads(output)
    assert (summary["pages"], summary["documents"], summary["skipped"]) == (PAGES + 1, PAGES, {"not-html": 1})
    assert (summary["dead_letters"], summary["unaccounted"]) == ({}, 0)
    lines = (tmp_path / "out" / "documents.jsonl").read_bytes().splitlines()
    documents = {document["url"]: document for document in map(orjson.loads, lines)}
    assert len(documents) == PAGES
    assert {document["labeler"] for document in documents.values()} == {"triton"}
    assert 0 < summary["kept_share"] < 1
    assert set(summary["example"]["after"]) < set(summary["example"]["before"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_running_however_it_ends(tmp_path: Path, number: signal.Signals) -> None:
    demo = start(tmp_path, "--labeler", "rules")
    started = psutil.Process(demo.pid).children(recursive=True)
    demo.send_signal(number)
    demo.communicate(timeout=60)
    assert len(started) > 2
    assert left_running(started) == []
    assert demo.returncode != 0
    if number is signal.SIGTERM:
        assert list(tmp_path.iterdir()) == []
