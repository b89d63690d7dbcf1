"""`dehusk inspect`: a page of a topic of the real Kafka."""

import asyncio
import json

from selectolax.lexbor import LexborHTMLParser

from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.registry import SourceSettings, open_crawler_format
from tests.commands import DEHUSK
from tests.integration.conftest import write

COMMAND = [DEHUSK, "inspect"]


def written_as(crawler, url, text):
    return open_crawler_format(crawler, SourceSettings()).encode(RawPage(url, f"<html><p>{text}".encode()))


async def inspect(*words):
    process = await asyncio.create_subprocess_exec(
        *COMMAND, *map(str, words), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, told = await process.communicate()
    return process.returncode, told.decode()


async def test_the_newest_page_of_a_url_is_inspected(kafka, topics, tmp_path):
    url, other, output = "http://x.test/1", "http://x.test/2", tmp_path / "out.html"
    await write(kafka, topics.input, written_as("html", url, "old"), written_as("html", other, "another"))
    await write(kafka, topics.input, written_as("scrapy-cluster", url, f"new, beside {other}"))
    options = ["--topic", topics.input, "--brokers", kafka.brokers, "--labeler", "rules"]
    assert await inspect(url, *options, "--output", output) == (0, "")
    node = LexborHTMLParser(output.read_bytes()).css_first("#page-data")
    page = json.loads(node.text(deep=True))
    assert (page["url"], page["source"]) == (url, "scrapy-cluster")
    assert [block["text"] for block in page["blocks"]] == [f"new, beside {other}"]
    status, told = await inspect("http://x.test/none", *options, "--output", output)
    assert (status, told.split(":")[:2]) == (1, ["dehusk", f" {topics.input} holds no page http"])
