"""The command line of a worker on the local stack, read by the command itself."""

import os
import sys

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
    assert line[:4] == [sys.executable, "-m", "dehusk", "worker"]
    read = worker.make_context("worker", list(line[4:])).params
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
    assert worker.make_context("worker", list(line[4:])).params["monitoring_topic"] == topic


def test_settings_of_other_workers_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEHUSK_WORKER_MONITORING_TOKEN", "0123456789abcdef")
    monkeypatch.setenv("DEHUSK_AUDIT_TOPIC", "audit")
    variables = Worker(ADDRESSES, TOPICS, "rules", port=8123).environment()
    assert variables == {name: value for name, value in os.environ.items() if "DEHUSK" not in name}


def test_the_monitoring_pages_are_where_the_worker_was_told() -> None:
    assert Worker(ADDRESSES, TOPICS, "rules", port=8123).monitoring.url == "http://127.0.0.1:8123/"
