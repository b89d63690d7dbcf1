"""Pages in a real S3: as files of `dehusk clean`, by an index, and named by messages."""

import io
import json
import os
import random
import resource
import signal
import subprocess
import time
import zipfile
from functools import partial
from multiprocessing import forkserver

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.files.readers import read_pages
from dehusk.streams.preparation.pool import open_pool, open_steps
from dehusk.streams.preparation.steps import PackedPage, Postponed, Writing, decode
from dehusk.streams.settings import MIB, PageLimits
from dehusk.streams.sources.registry import SourceSettings, open_source
from dehusk.streams.sources.warc import write_warc
from dehusk.streams.stores.stored import Access, StoredPath
from tests.commands import DEHUSK
from tests.integration.s3_store import S3Server
from tests.unit.streams.offline.test_files import rows

COMMAND = [DEHUSK, "clean", "--processes", "2"]
PAGES = 600
SECONDS = 120
MAX_BYTES = MIB


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = S3Server(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def environment(server, monkeypatch):
    """The settings of the server, with nothing of this machine's own."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module")
def index(server):
    """A crawl as Common Crawl has it: WARC files, and rows that point to their records."""
    made, found = random.Random(1), []
    for part in range(2):
        archive, name = io.BytesIO(), f"crawl/{part}.warc.gz"
        for number in range(part, PAGES, 2):
            words = " ".join(f"word{made.randrange(10**9)}" for _ in range(100))
            begin, url = archive.tell(), f"http://x.test/{number}"
            write_warc(RawPage(url, f"<title>{number}</title><p>{words}".encode()), archive)
            place = {"warc_record_offset": begin, "warc_record_length": archive.tell() - begin}
            found.append({"url": url, "warc_filename": name, **place})
        server.put(name, archive.getvalue())
    server.put("index/a.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in found))
    table = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(found), table)
    server.put("parquet/a.parquet", table.getvalue())
    server.put("cut/a.parquet", table.getvalue()[:-50])
    return found


def read(*urls, folder=None, access=None):
    paths = [StoredPath(url, access or Access()) for url in urls]
    return list(read_pages(paths, MAX_BYTES, warc_directory=StoredPath(folder) if folder else None))


def clean(*arguments, status=0, **others):
    ended = subprocess.run(
        [*COMMAND, "--labeler", "rules", "--no-blocks", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env=os.environ | others,
    )
    assert ended.returncode == status, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["s3://pages/crawl/0.warc.gz", "s3://pages/crawl/1.warc.gz"],
        ["s3://pages/crawl/"],
        ["s3://pages/index/a.jsonl", "--warc-directory", "s3://pages"],
        ["s3://pages/parquet/", "--warc-directory", "s3://pages/"],
    ],
)
def test_pages_in_a_store_are_cleaned_as_those_of_files(index, arguments):
    lines, said = clean(*arguments)
    assert [line["url"] for line in lines] == [row["url"] for row in index]
    assert all(line["error"] is None and "word" in line["text"] for line in lines)
    assert said == ""


def test_all_that_files_hold_is_read_in_a_store(server, index):
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as made:
        archive = io.BytesIO()
        write_warc(RawPage("http://w.test/", b"<p>in a package"), archive)
        made.writestr("archive/a.warc.gz", archive.getvalue())
    server.put("kinds/a.wacz", package.getvalue())
    server.put("kinds/b c+ü.html", b"<p>one page")
    server.put("kinds/c.jsonl", b'{"url": "http://l.test/", "html": "<p>a line"}\n')
    server.put("kinds/d.html", b"")
    pages = read("s3://pages/kinds/")
    assert [page.url for page in pages[:3]] == [
        "http://w.test/",
        "s3://pages/kinds/b c+ü.html",
        "http://l.test/",
    ]
    assert read("s3://pages/kinds/b c+ü.html")[0].html == b"<p>one page"
    assert len(pages) == 4


def test_html_of_a_store_has_a_url_for_a_topic_only_below_another(server):
    server.put("site/a b.html", b"<p>one page")
    path, base = [StoredPath("s3://pages/site/")], "https://example.org/docs"
    (broken,) = read_pages(path, MAX_BYTES, needs_url=True)
    assert (broken.reason, "--base-url" in broken.detail) == (BrokenReason.MISSING_URL, True)
    (page,) = read_pages(path, MAX_BYTES, base, needs_url=True)
    assert page.url == f"{base}/a%20b.html"


def test_what_a_folder_holds_may_be_read_twice(index):
    lines, _ = clean("s3://pages/crawl/", "--two-pass")
    assert [line["url"] for line in lines] == [row["url"] for row in index]


NAMED = [
    ("s3://pages/missing", "there is no object s3://pages/missing", {}),
    ("s3://missing/a", "there is no bucket s3://missing", {}),
    ("s3://pages/missing/", "there is no file or directory s3://pages/missing/", {}),
    (
        "s3://pages/crawl/0.warc.gz",
        "refuses the credentials (SignatureDoesNotMatch)",
        {"AWS_SECRET_ACCESS_KEY": "x"},
    ),
    (
        "s3://pages/crawl/0.warc.gz",
        "refuses the credentials (InvalidAccessKeyId)",
        {"AWS_ACCESS_KEY_ID": "other"},
    ),
    (
        "s3://pages/crawl/0.warc.gz",
        "denies access to s3://pages/crawl/0.warc.gz",
        {"AWS_SKIP_SIGNATURE": "true"},
    ),
]


@pytest.mark.parametrize(("url", "words", "others"), NAMED)
def test_what_is_not_there_or_not_given_ends_the_command_with_its_name(index, url, words, others):
    lines, said = clean(url, status=1, **others)
    assert not lines
    assert words in said
    assert len(said.splitlines()) == 1


def test_a_folder_of_warc_files_in_no_bucket_ends_the_command(index):
    lines, said = clean("s3://pages/index/a.jsonl", "--warc-directory", "s3://no-bucket", status=1)
    assert (lines, "there is no bucket s3://no-bucket" in said) == ([], True)


def test_damage_of_an_object_is_named_and_costs_only_what_is_behind_it(server, index):
    archive = io.BytesIO()
    for number in range(10):
        write_warc(RawPage(f"http://x.test/{number}", b"<p>text" * 10), archive)
    server.put("damaged/a.warc.gz", archive.getvalue()[:-20])
    lines, said = clean("s3://pages/damaged/", "s3://pages/cut/", "--warc-directory", "s3://pages", status=1)
    assert sum(line["error"] is None for line in lines) == 9
    assert "damaged/a.warc.gz: the archive is damaged" in said
    assert "cut/a.parquet cannot be read to its end: it is no whole file of Parquet" in said


def test_a_row_that_points_behind_the_end_costs_only_itself(server, index):
    far = [
        {**index[0], "warc_record_offset": 10**12},
        {**index[1], "warc_filename": "crawl/missing"},
        index[2],
    ]
    server.put("far/a.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in far))
    first, second, third = read("s3://pages/far/a.jsonl", folder="s3://pages")
    assert (first.reason, "ends before" in first.detail) == (BrokenReason.RECORD_NOT_FOUND, True)
    assert (second.reason, "there is no object s3://pages/crawl/missing" in second.detail) == (
        BrokenReason.RECORD_NOT_FOUND,
        True,
    )
    assert third.url == index[2]["url"]


def test_an_object_that_is_replaced_while_it_is_read_is_not_mixed(server):
    lines = b'{"url": "http://x.test/", "html": "<p>text"}\n' * 20_000
    server.put("changing/a.jsonl", lines)
    pages = read_pages([StoredPath("s3://pages/changing/a.jsonl")], MAX_BYTES)
    next(pages)
    server.put("changing/a.jsonl", lines + lines)
    *_, last = pages
    assert "has changed while it was read" in last.detail


def test_memory_does_not_grow_with_an_object(server):
    server.put("large/a.jsonl", b'{"url": "http://x.test/", "html": "<p>%s"}\n' % (b"text " * 20_000) * 3_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in read_pages([StoredPath("s3://pages/large/a.jsonl")], MAX_BYTES)) == 3_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60 * 1024


def test_a_store_that_is_away_is_asked_for_so_long_only(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(UnavailableError, match=r"s3://away at .* does not give .*: Connection refused"):
        read("s3://away/a", access=Access(0.5))


def test_a_store_that_dies_and_comes_back_costs_nothing(server, index, tmp_path):
    """The server is killed again and again while an index is followed, and the command at last, too."""
    folder, chance = tmp_path / "cleaned", random.Random()
    options = ["--output", folder, "--file-mib", "0.005", "--resume", "--warc-directory", "s3://pages"]
    command = [*COMMAND, "--labeler", "rules", *map(str, options), "s3://pages/index/a.jsonl"]
    ends, kills = False, 0
    while not ends:
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        known, until = len(list(folder.glob("part-*"))), time.monotonic() + SECONDS
        while process.poll() is None and len(list(folder.glob("part-*"))) <= known + 1:
            assert time.monotonic() < until
            time.sleep(0.001)
        server.stop()
        time.sleep(chance.random() * 0.1)
        if kills < 2 and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        server.start()
        _, said = process.communicate(timeout=SECONDS)
        ends = process.returncode == 0
        assert ends or process.returncode == -signal.SIGKILL, said
    assert kills == 2
    found = [row["url"] for row in rows(folder, "parquet")]
    assert found == [row["url"] for row in index]


async def prepare(messages, limits=None, **settings):
    """Their outcomes, as processes of pages make them, within their limits."""
    limits = limits or PageLimits(16 * MIB)
    source = partial(open_source, settings.pop("source"), SourceSettings(limits.max_bytes, **settings))
    forkserver._forkserver._stop()  # one of an earlier test has another environment
    try:
        async with open_pool(partial(open_steps, source, limits.max_blocks, Writing()), 1, limits) as pool:
            answers = await pool.prepare(messages)
            while len(answers) < len(messages):
                answers.append(await pool.prepare_alone(messages[len(answers)]))
            return answers
    finally:
        forkserver._forkserver._stop()


def message(value):
    return Message(b"http://x.test/", value if isinstance(value, bytes) else json.dumps(value).encode())


async def test_messages_that_name_objects_are_pages_within_the_limits_of_a_process(server):
    html = b"<p>text" + b" words of a page" * 200_000
    server.put("small.html", b"<p>text")
    server.put("folder/large.html", html)
    values = [b"small.html", b"s3://pages/folder/large.html", {"bucket": "pages", "key": "folder/large.html"}]
    values += [b"missing.html", b"s3://other/small.html", b"../small.html"]
    root = (StoredPath("s3://pages/"),)
    outcomes = await prepare([message(each) for each in values] * 3, source="reference", reference_roots=root)
    for (first, second, third), *broken in (
        (outcomes[at : at + 3], *outcomes[at + 3 : at + 6]) for at in range(0, len(outcomes), 6)
    ):
        assert all(isinstance(each[0], PackedPage) for each in (first, second, third))
        assert [each[0].reason for each in broken] == [BrokenReason.RECORD_NOT_FOUND] * 3


async def test_messages_that_point_to_records_are_pages(index):
    settings = {"source": "auto", "warc_directory": StoredPath("s3://pages/")}
    outcomes = await prepare([message(row) for row in index[:5]], **settings)
    assert [outcome[0].identity.url for outcome in outcomes] == [row["url"] for row in index[:5]]


def test_messages_wait_for_a_store_that_refuses_the_credentials(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    settings = SourceSettings(reference_roots=(StoredPath("s3://of-this-test/"),))
    outcome = decode(open_source("reference", settings), message(b"a.html"))
    assert isinstance(outcome, Postponed)
    assert "refuses the credentials" in outcome.detail
