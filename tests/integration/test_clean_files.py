"""`dehusk clean --output --resume`, killed at random: each page is in one file, once."""

import io
import json
import random
import signal
import subprocess
import time

import pytest
from warcio.warcwriter import WARCWriter

from dehusk.schemas.pages import RawPage
from dehusk.streams.dataset.parts import SUFFIXES
from dehusk.streams.sources.warc import write_warc
from tests.commands import DEHUSK
from tests.unit.streams.offline.test_files import rows

COMMAND = [DEHUSK, "clean", "--processes", "2"]
PAGES = 300
KILLS = 3
SECONDS = 120


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    """Files of each kind, with pages that are broken, and records that are no pages, between the others."""
    folder, made = tmp_path_factory.mktemp("crawl"), random.Random(1)
    archive, lines = io.BytesIO(), []
    for number in range(PAGES):
        words = " ".join(f"word{made.randrange(10**9)}" for _ in range(100))
        html, url = f"<title>{number}</title><p>{words}", f"http://x.test/{number}"
        if number % 2:
            write_warc(RawPage(url, html.encode(), id=str(number)), archive)
            writer = WARCWriter(archive, gzip=True)
            writer.write_record(writer.create_warcinfo_record("a", {"software": "a test"}))
        else:
            html = "%PDF-1.7" if number % 10 == 0 else html
            lines.append(json.dumps({"url": url, "html": html}) + "\n")
    third = len(lines) // 3
    (folder / "a.jsonl").write_text("".join(lines[:third]))
    (folder / "b.warc.gz").write_bytes(archive.getvalue())
    (folder / "c.jsonl").write_text("".join(lines[third:]))
    (folder / "d.html").write_text("<p>The last page.")
    return folder


def command(crawl, folder, name):
    options = ["--labeler", "rules", "--output", folder, "--output-format", name, "--file-mib", "0.02"]
    return [*COMMAND, *map(str, options), "--resume", str(crawl)]


def run(crawl, folder, name):
    ended = subprocess.run(
        command(crawl, folder, name), capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    return ended.stderr


def kill(crawl, folder, name, chance):
    """Run until some files more are there, then kill it, at any moment; return False if it had ended."""
    known, more = len(list(folder.glob("part-*"))), chance.randrange(4)
    process = subprocess.Popen(command(crawl, folder, name), stderr=subprocess.DEVNULL)
    until = time.monotonic() + SECONDS
    try:
        while process.poll() is None and len(list(folder.glob("part-*"))) < known + more:
            assert time.monotonic() < until
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
    finally:
        process.kill()
    return process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("name", SUFFIXES)
def test_a_run_that_is_killed_again_and_again_has_the_rows_of_one_that_is_not(crawl, tmp_path, name):
    chance, folder = random.Random(), tmp_path / "killed"
    folder.mkdir()
    kills = sum(kill(crawl, folder, name, chance) for _ in range(KILLS))
    complete = rows(folder, name)
    run(crawl, folder, name)
    run(crawl, tmp_path / "undisturbed", name)
    found, wanted = rows(folder, name), rows(tmp_path / "undisturbed", name)
    assert len(wanted) == PAGES + 1
    assert kills
    assert found[: len(complete)] == complete
    assert found == wanted
    assert not list(folder.glob(".part*"))
