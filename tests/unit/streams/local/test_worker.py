"""The command line of a worker on the local stack, read by the command itself."""

import pytest

from dehusk.streams.cli.worker import command as worker
from dehusk.streams.local.stack import Addresses
from dehusk.streams.local.worker import Worker
from dehusk.streams.settings import TopicSettings

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


@pytest.mark.parametrize("topic", [None, "figures"])
def test_it_shares_its_figures_where_there_is_a_topic_for_them(topic: str | None) -> None:
    topics = TopicSettings("in", "out", "dead", "group", monitoring=topic)
    line = Worker(ADDRESSES, topics, "rules", port=8123).command()
    assert worker.make_context("worker", list(line[2:])).params["monitoring_topic"] == topic


def test_a_token_of_other_workers_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEHUSK_WORKER_MONITORING_TOKEN", "0123456789abcdef")
    line = Worker(ADDRESSES, TOPICS, "rules", port=8123).command()
    assert worker.make_context("worker", list(line[2:])).params["monitoring_token"] is None


def test_the_monitoring_pages_are_where_the_worker_was_told() -> None:
    assert Worker(ADDRESSES, TOPICS, "rules", port=8123).monitoring.url == "http://127.0.0.1:8123/"
