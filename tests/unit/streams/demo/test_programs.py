"""The command lines that the demo runs, read by the commands themselves."""

import pytest

from streams.cli.worker import command as worker
from streams.demo.programs import Crawler, Worker
from streams.demo.spider import main as spider
from streams.local.addresses import Addresses
from streams.settings import TopicSettings

ADDRESSES = Addresses("127.0.0.1:9", "redis://127.0.0.1:6/0", "127.0.0.1:8", "127.0.0.1:7", "/tmp/stack")
TOPICS = TopicSettings("in", "out", "dead", "group")


@pytest.mark.parametrize("labeler", ["triton", "onnx", "rules"])
def test_the_worker_understands_its_command_line(labeler: str) -> None:
    line = Worker(ADDRESSES, TOPICS, labeler, port=8123).command()  # type: ignore[arg-type]
    read = worker.make_context("worker", list(line[2:])).params
    assert line[1] == "worker"
    assert (read["input_topic"], read["output"], read["dead_letters"], read["group"]) == (
        "in",
        "out",
        "dead",
        "group",
    )
    assert (read["brokers"], read["redis"], read["monitoring"]) == (
        "127.0.0.1:9",
        ADDRESSES.redis,
        "127.0.0.1:8123",
    )
    assert (read["labeler"], read["source"], read["with_blocks"]) == (labeler, "html", True)
    assert (read["triton"] == "127.0.0.1:8") is (labeler == "triton")


def test_the_monitoring_pages_are_where_the_worker_was_told() -> None:
    assert Worker(ADDRESSES, TOPICS, "rules", port=8123).monitoring.url == "http://127.0.0.1:8123/"


def test_the_crawler_understands_its_command_line() -> None:
    line = Crawler("http://127.0.0.1/index.html", "127.0.0.1:9", "in", pages=7).command()
    assert line[1:3] == ["-m", "streams.demo.spider"]
    read = spider.make_context("spider", list(line[3:])).params
    assert read == {"url": "http://127.0.0.1/index.html", "brokers": "127.0.0.1:9", "topic": "in", "pages": 7}
