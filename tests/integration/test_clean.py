"""`dehusk clean` as its users run it: a process between two pipes."""

import json
import subprocess
import zipfile
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np
import psutil
import pytest

from dehusk.schemas.pages import PAGE_KINDS, RawPage
from dehusk.schemas.sites import SiteObservation
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from dehusk.streams.sources.warc import write_warc
from tests.commands import DEHUSK
from tests.integration.conftest import redis_settings
from tests.settling import left_running
from tests.unit.streams.models import graphs

COMMAND = [DEHUSK, "clean", "--processes", "2"]
PROSE = "This is a long paragraph of plain prose, which any labeler takes for the content of its page. " * 4


def line(number, html=f"<title>T</title><nav><a href=/>Home</a></nav><p>{PROSE}</p>"):
    return json.dumps({"id": f"id-{number}", "url": f"http://x.test/{number}", "html": html}) + "\n"


def clean(*arguments, stdin=""):
    """The ended process, and its lines of JSON."""
    ended = subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, text=True, check=False)
    return ended, [json.loads(each) for each in ended.stdout.splitlines()]


@contextmanager
def cleaning(*arguments):
    """The running process, which leaves none."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("labeler", [["--labeler", "rules"], ["--labeler", "onnx"], []])
def test_one_line_per_page_in_the_same_order(labeler):
    ended, lines = clean(*labeler, stdin="".join(map(line, range(50))))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert [each["id"] for each in lines] == [f"id-{number}" for number in range(50)]
    fields = (
        "id url site fetched_at title headline language declared_language language_probability text comments "
        "model labeler content_hash simhash minhash metadata expected_f1 page_kind page_kind_probability "
        "blocks error"
    )
    assert {" ".join(each) for each in lines} == {fields}
    assert {each["labeler"] for each in lines} == {labeler[1] if labeler else "onnx"}
    assert {each["error"] for each in lines} == {None}
    assert [block["path"] for block in lines[0]["blocks"]] == ["html/body/nav/a", "html/body/p"]
    assert set(lines[0]["blocks"][0]) == {"text", "path", "probability", "content", "comment", "xpath"}


def test_a_line_has_the_kind_of_its_page_where_the_model_tells_it(tmp_path):
    graphs.write_version(tmp_path / "kinds" / "1", graphs.with_kinds())
    pages = "".join(line(number, "<p>part" * number) for number in range(1, 9))
    ended, lines = clean("--labeler", "onnx", "--model-repository", tmp_path, "--model", "kinds", stdin=pages)
    assert (ended.returncode, ended.stderr) == (0, "")
    expected = [(PAGE_KINDS[number % len(PAGE_KINDS)], 0.76) for number in range(1, 9)]
    assert [(each["page_kind"], each["page_kind_probability"]) for each in lines] == expected


def test_triton_answers_as_the_model_in_process_does(stack):
    pages = "".join(map(line, range(5)))
    _, here = clean("--labeler", "onnx", stdin=pages)
    ended, there = clean("--triton", stack.addresses.triton_grpc, stdin=pages)
    assert ended.returncode == 0
    for one, other in zip(here, there, strict=True):
        assert [block["content"] for block in one["blocks"]] == [
            block["content"] for block in other["blocks"]
        ]


def test_a_bad_line_gives_a_line_with_its_error():
    bad = [
        '{"id":',
        "[]",
        '"text"',
        "\xff\x00",
        '{"id":"a","url":"http://x.test/","html":7}',
    ]
    text = line(1) + "".join(each + "\n" for each in bad) + line(2)
    ended, lines = clean("--labeler", "rules", stdin=text)
    assert ended.returncode == 0
    assert [each["error"] is None for each in (lines[0], lines[-1])] == [True, True]
    assert all(each["error"] for each in lines[1:6])
    assert "line 2 " in lines[1]["error"]
    assert len(lines) == 2 + len(bad)
    assert [each["id"] for each in lines[1:6]] == [None] * 4 + ["a"]


def test_a_url_may_be_missing_or_anything():
    urls = {None: "", "": "", "not a url": "not a url", "mailto:x@x.test": "mailto:x@x.test", 5: "5"}
    text = "".join(json.dumps({"id": "a", "url": url, "html": f"<p>{PROSE}"}) + "\n" for url in urls)
    ended, lines = clean("--labeler", "rules", stdin=text)
    assert ended.returncode == 0
    assert [(each["error"], each["url"]) for each in lines] == [(None, said) for said in urls.values()]


def test_lines_are_written_as_they_come():
    with cleaning("--labeler", "rules") as process:
        for number in range(3):
            process.stdin.write(line(number))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == f"id-{number}"
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait() == 0


def test_ends_silently_when_nobody_reads_its_lines():
    with cleaning("--labeler", "rules") as process:
        process.stdin.write(line(0))
        process.stdin.flush()
        process.stdout.readline()
        children = psutil.Process(process.pid).children(recursive=True)
        process.stdout.close()
        process.stdin.write(line(1))
        process.stdin.flush()
        assert process.wait(timeout=30) != 0
        assert process.stderr.read() == ""
    assert children
    assert left_running(children) == []


def test_a_triton_that_is_away_is_an_error_though_the_input_has_not_ended():
    with cleaning("--triton", f"{LOOPBACK}:{free_ports(1)[0]}") as process:
        process.stdin.write(line(0))
        process.stdin.flush()
        assert process.wait(timeout=60) == 1
        (message,) = process.stderr.read().splitlines()
    assert message.startswith("dehusk: Triton at ")
    assert message.endswith("; --labeler onnx labels in this process")


def test_reads_html_and_web_archives(tmp_path):
    (tmp_path / "a.html").write_text(f"<title>A</title><p>{PROSE}")
    with (tmp_path / "b.warc.gz").open("wb") as archive:
        fetched_at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        page = RawPage("http://x.test/b", f"<title>B</title><p>{PROSE}".encode(), fetched_at=fetched_at)
        write_warc(page, archive)
    answer = f"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<title>C</title><p>{PROSE}".encode()
    head = f"http://x.test/c 127.0.0.1 20090102030405 text/html {len(answer)}\n"
    (tmp_path / "c.arc").write_bytes(head.encode() + answer + b"\n")
    with zipfile.ZipFile(tmp_path / "d.wacz", "w") as package:
        package.write(tmp_path / "b.warc.gz", "archive/b.warc.gz")
    ended, lines = clean("--labeler", "rules", "--no-blocks", str(tmp_path))
    assert ended.returncode == 0
    assert [(each["url"], each["title"], each["fetched_at"]) for each in lines] == [
        ((tmp_path / "a.html").as_uri(), "A", None),
        ("http://x.test/b", "B", "2026-01-02T03:04:05Z"),
        ("http://x.test/c", "C", "2009-01-02T03:04:05Z"),
        ("http://x.test/b", "B", "2026-01-02T03:04:05Z"),
    ]
    assert "blocks" not in lines[0]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--triton", "x:1", "--labeler", "onnx"], 2, "--triton is for --labeler triton"),
        (["--model", "nobody"], 1, "nobody"),
        (["/no/such/file"], 1, "/no/such/file"),
    ],
)
def test_says_what_is_wrong_with_its_options(arguments, status, message):
    ended, lines = clean(*arguments)
    assert ended.returncode == status
    assert lines == []
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def crawl(site, pages=30):
    """Lines of pages of a site, which repeat a paragraph and have one of their own."""
    html = f"<title>T</title><nav><a href=/>Home</a></nav><p>{PROSE}</p>"
    return "".join(
        json.dumps({"url": f"http://www.{site}/a/{number}", "html": f"{html}<p>{PROSE} {'x' * number}"})
        + "\n"
        for number in range(1, pages + 1)
    )


def seen(lines):
    return [each["template"]["pages_seen"] for each in lines]


def test_statistics_in_redis_correct_as_those_in_memory_do(stack, fresh):
    pages = crawl(f"{fresh}.example")
    ended, in_memory = clean("--labeler", "rules", "--site-statistics", "memory", stdin=pages)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended, in_redis = clean("--labeler", "rules", "--site-statistics", stack.addresses.redis, stdin=pages)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert seen(in_redis) == list(range(1, 31))
    assert in_redis == in_memory


def test_two_passes_by_redis_are_those_in_memory(stack, fresh, tmp_path):
    file = tmp_path / "crawl.jsonl"
    file.write_text(crawl(f"{fresh}.example"))
    _, in_memory = clean("--two-pass", str(file))
    ended, in_redis = clean("--two-pass", "--site-statistics", stack.addresses.redis, str(file))
    assert ended.returncode == 0
    assert seen(in_redis) == [30] * 30
    assert in_redis == in_memory


async def test_a_redis_is_shared_with_later_runs_and_with_workers(stack, fresh):
    site, redis = f"{fresh}.example", stack.addresses.redis
    options = ("--labeler", "rules", "--site-statistics", redis)
    for known in (range(1, 6), [5] * 5):
        _, lines = clean(*options, stdin=crawl(site, 5))
        assert seen(lines) == list(known)
    store, texts = RedisSiteStatistics(redis_settings(stack)), np.zeros(1, np.uint64)
    (of_worker,) = await store.observe(
        [SiteObservation(site, "/other", texts, texts, np.zeros(1, np.float32), np.zeros(1, np.bool_))]
    )
    await store.close()
    assert of_worker.pages == 5
    _, lines = clean(*options, stdin=crawl(site, 6))
    assert seen(lines)[-1] == 7


@pytest.mark.parametrize("passes", [[], ["--two-pass"]])
def test_a_redis_keeps_samples_and_names_as_of_a_worker(stack, fresh, tmp_path, passes):
    file = tmp_path / "crawl.jsonl"
    file.write_text(crawl(f"{fresh}.example/ä", 8))
    options = ("--site-statistics", stack.addresses.redis, "--site-key", "path")
    ended, lines = clean("--labeler", "rules", *options, *passes, str(file))
    assert (ended.returncode, ended.stderr) == (0, "")
    (site,) = {each["site"] for each in lines}
    shown = subprocess.run(
        [DEHUSK, "sites", "show", site, "--json", "--redis", stack.addresses.redis],
        capture_output=True,
        check=True,
    )
    known = json.loads(shown.stdout)
    assert (known["name"], known["pages"]) == (site, 8)
    dropped = sum(each["template"]["blocks_dropped"] for each in lines)
    assert sum(each["dropped"] for each in known["samples"]) == dropped
    texts = {each["text"]: each["pages"] for each in known["samples"]}
    assert texts["Home"] == 8


def test_statistics_that_are_counted_by_different_keys_do_not_mix(stack, fresh):
    for key, site in (("host", ""), ("domain", "."), ("path", "")):
        options = ("--site-statistics", stack.addresses.redis, "--site-key", key)
        _, lines = clean("--labeler", "rules", *options, stdin=crawl(f"{fresh}.example", 3))
        assert seen(lines) == [1, 2, 3]
        folder = "/a" if key == "path" else ""
        assert {each["site"] for each in lines} == {f"{site}{fresh}.example{folder}"}


def test_a_redis_that_goes_away_ends_it_and_the_run_can_be_repeated(stack, fresh):
    options = ("--labeler", "rules", "--site-statistics", stack.addresses.redis)
    first, second = crawl(f"{fresh}.example", 2).splitlines(keepends=True)
    with cleaning(*options) as process:
        process.stdin.write(first)
        process.stdin.flush()
        assert seen([json.loads(process.stdout.readline())]) == [1]
        stack.services["redis"].stop()
        try:
            process.stdin.write(second)
            process.stdin.flush()
            assert process.wait(timeout=60) == 1
            (message,) = process.stderr.read().splitlines()
        finally:
            stack.services["redis"].start()
    assert "Redis does not answer" in message
    assert "run the command again" in message
    ended, lines = clean(*options, stdin=first + second)
    assert ended.returncode == 0
    assert len(lines) == 2
    assert seen(lines)[1] == 2
