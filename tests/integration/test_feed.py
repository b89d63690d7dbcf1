"""`dehusk feed`: pages from files onto the real Kafka."""

import asyncio
import gzip
import json
import subprocess
import zipfile
from collections import Counter
from functools import partial
from io import BufferedReader, BytesIO

import pytest

from dehusk.schemas.pages import RawPage
from dehusk.streams.kafka.client import Topic, create_topics
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_source
from dehusk.streams.sources.warc import write_warc
from tests.commands import DEHUSK, invoke
from tests.integration.conftest import messages


async def run(kafka, *arguments, stdin=None):
    """The exit code, output and error output of a command."""
    pipe = stdin and BufferedReader(BytesIO(stdin))
    result = await invoke("feed", "--brokers", kafka.brokers, *arguments, stdin=pipe)
    return result.exit_code, result.stdout, result.stderr


def jsonl(*pages):
    return b"".join(json.dumps(page).encode() + b"\n" for page in pages)


def html(number):
    return f"<html><title>Page {number}</title><p>Grüße {number}</html>"


async def test_feeds_directories_lines_and_archives(kafka, topics, tmp_path):
    (tmp_path / "site" / "deep").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text(html(1))
    (tmp_path / "site" / "deep" / "ä.html").write_text(html(2))
    (tmp_path / "pages.jsonl.gz").write_bytes(
        gzip.compress(jsonl({"id": "3", "url": "http://x.test/3", "html": html(3)}))
    )
    with (tmp_path / "crawl.warc").open("wb") as archive:
        write_warc(RawPage("http://x.test/4", html(4).encode()), archive)
    with zipfile.ZipFile(tmp_path / "crawl.wacz", "w") as package, BytesIO() as archive:
        write_warc(RawPage("http://x.test/5", html(5).encode()), archive)
        package.writestr("archive/crawl.warc.gz", archive.getvalue())
    answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + html(6).encode()
    head = f"http://x.test/6 127.0.0.1 20090102030405 text/html {len(answer)}\n"
    (tmp_path / "crawl.arc").write_bytes(head.encode() + answer + b"\n")
    names = ("site", "pages.jsonl.gz", "crawl.warc", "crawl.wacz", "crawl.arc")
    paths = [tmp_path / name for name in names]
    status, output, _ = await run(kafka, "--topic", topics.input, "--base-url", "http://x.test/", *paths)
    assert status == 0
    assert output.startswith("6 pages (")
    found = {message.key: message.value.decode() for message in await messages(kafka, topics.input)}
    assert found == {
        b"http://x.test/index.html": html(1),
        b"http://x.test/deep/%C3%A4.html": html(2),
        b"http://x.test/3": html(3),
        b"http://x.test/4": html(4),
        b"http://x.test/5": html(5),
        b"http://x.test/6": html(6),
    }


@pytest.mark.parametrize("crawler", FORMATS)
async def test_writes_pages_as_any_crawler_would(kafka, topics, tmp_path, crawler):
    pages = [{"url": f"http://x.test/{number}", "html": html(number)} for number in range(20)]
    (tmp_path / "pages.jsonl").write_bytes(jsonl(*pages))
    options = ["--topic", topics.input, "--as", crawler, "--warc-directory", tmp_path]
    assert (await run(kafka, *options, tmp_path / "pages.jsonl"))[0] == 0
    source = open_source("auto", SourceSettings(warc_directory=tmp_path))
    decoded = [page for message in await messages(kafka, topics.input) for page in source.decode(message)]
    assert Counter((page.url, page.html.decode()) for page in decoded) == Counter(
        (page["url"], page["html"]) for page in pages
    )


async def test_pages_of_one_key_share_a_partition_in_order(kafka, topics):
    pages = [{"url": f"http://x.test/{number % 5}", "html": f"<p>{number}"} for number in range(50)]
    assert (await run(kafka, "--topic", topics.input, "-", stdin=jsonl(*pages)))[0] == 0
    found = await messages(kafka, topics.input)
    assert len({(message.key, message.partition) for message in found}) == 5
    for key in {message.key for message in found}:
        numbers = [int(message.value[3:]) for message in found if message.key == key]
        assert numbers == sorted(numbers)


async def test_names_what_it_cannot_send_and_sends_the_rest(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"max.message.bytes": "200000"})])
    lines = [
        jsonl({"url": "http://x.test/1", "html": html(1)}),
        b"no JSON\n",
        jsonl({"url": "http://x.test/large", "html": "<p>" + "x" * 300_000}),
        jsonl({"url": "http://x.test/image", "html": None}),
        jsonl({"url": "http://x.test/2", "html": html(2)}),
    ]
    status, output, errors = await run(kafka, "--topic", fresh, "-", stdin=b"".join(lines))
    assert status == 1
    assert "2 pages (" in output
    assert "1 not sent: malformed-message\n" in output
    assert "1 not sent: page-too-large\n" in output
    assert "not sent: http://x.test/large: page-too-large: " in errors
    assert "line 2" in errors
    assert "passed over: http://x.test/image: no-body: " in errors
    assert [message.key for message in await messages(kafka, fresh)] == [
        b"http://x.test/1",
        b"http://x.test/2",
    ]


async def test_pages_too_large_for_the_topic_are_sent_compressed(kafka, fresh):
    await create_topics(kafka, [Topic(fresh, 1, 1, {"max.message.bytes": "100000"})])
    page = jsonl({"url": "http://x.test/large", "html": "<p>" + "and so on" * 100_000})
    assert (await run(kafka, "--topic", fresh, "-", stdin=page))[0] == 1
    assert (await run(kafka, "--topic", fresh, "--compression", "zstd", "-", stdin=page))[0] == 0
    assert [message.key for message in await messages(kafka, fresh)] == [b"http://x.test/large"]


async def test_does_not_send_what_a_worker_could_only_refuse(kafka, topics):
    lines = jsonl({"url": "http://x.test/1", "html": html(1)}, {"html": html(2)}, {"url": 7, "html": html(3)})
    status, output, errors = await run(kafka, "--topic", topics.input, "-", stdin=lines)
    assert status == 1
    assert "1 page (" in output
    assert "1 not sent: missing-url\n" in output
    assert "1 not sent: malformed-message\n" in output
    assert "not sent: missing-url: line 2 of standard input: it has no 'url'" in errors
    assert "line 3 of standard input: field 'url': a JSON number where a string is expected" in errors
    assert [message.key for message in await messages(kafka, topics.input)] == [b"http://x.test/1"]


async def test_names_no_more_than_the_first_of_each_reason(kafka, topics):
    empty = [jsonl({"url": f"http://x.test/{number}", "html": None}) for number in range(25)]
    status, output, errors = await run(
        kafka, "--topic", topics.input, "-", stdin=b"".join([*empty, b"no JSON\n" * 25])
    )
    assert status == 1
    assert "25 passed over: no-body\n25 not sent: malformed-message\n" in output
    assert (errors.count("passed over: "), errors.count("not sent: ")) == (20, 20)


async def test_a_missing_topic_is_an_error_that_says_how_to_create_it(kafka, fresh, tmp_path):
    ended = await dehusk("feed", "--brokers", kafka.brokers, "--topic", fresh, str(tmp_path))
    assert ended.returncode == 1
    assert f"dehusk: topic {fresh} does not exist" in ended.stderr
    assert f"kafka-topics.sh --bootstrap-server {kafka.brokers} --create --topic {fresh} " in ended.stderr


async def test_a_missing_file_is_an_error(kafka, topics, tmp_path):
    ended = await dehusk("feed", "--brokers", kafka.brokers, "--topic", topics.input, str(tmp_path / "none"))
    assert ended.returncode == 1
    assert f"there is no file or directory {tmp_path / 'none'}" in ended.stderr


async def dehusk(*arguments):
    """The ended process of a command."""
    command = [DEHUSK, *arguments]
    run = partial(subprocess.run, command, capture_output=True, text=True, check=False)
    return await asyncio.to_thread(run)
