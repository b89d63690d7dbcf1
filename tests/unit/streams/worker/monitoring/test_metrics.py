"""The counters of a worker."""

from collections.abc import Iterable
from importlib.metadata import version
from unittest.mock import Mock

import pytest
from faust.types import TP
from prometheus_client import CollectorRegistry, generate_latest

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, ModelVersion
from dehusk.streams.availability import Dependency
from dehusk.streams.monitoring.state import Totals
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.rollout.verdict import RollbackReason
from dehusk.streams.sources.source import Record
from dehusk.streams.worker.input.lag import Backlog
from dehusk.streams.worker.monitoring.metrics import Metrics
from dehusk.streams.worker.results import CleanedMessage


def test_pages_are_documents_tombstones_skipped_and_dead_letters_together(message: Message) -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry, ())
    full = CleanedMessage(
        message,
        records=[
            WrittenDocument(b"1", b"d", blocks_dropped=3, blocks_saved=1, characters=7),
            WrittenDocument(b"2", b"d", is_empty=True, blocks_dropped=4, characters=5),
            Record(b"3", None),
        ],
        skipped=[Skipped(SkipReason.NO_BODY, "")],
        degraded=("frequencies",),
    )
    full.fail("prepare", Broken(BrokenReason.MISSING_URL, ""))
    metrics.count(full)
    metrics.count(CleanedMessage(message, skipped=[Skipped(SkipReason.NOT_HTML, "")]))
    assert metrics.totals == Totals(
        messages=2,
        bytes=2 * len(message.value or b""),
        pages=6,
        documents=2,
        empty_documents=1,
        tombstones=1,
        skipped=2,
        dead_letters=1,
    )
    assert metrics.characters == registry.get_sample_value("dehusk_text_characters_total") == 12
    assert registry.get_sample_value("dehusk_skipped_total", {"reason": "not-html"}) == 1
    assert registry.get_sample_value("dehusk_dead_letters_total", {"reason": "missing-url"}) == 1
    assert registry.get_sample_value("dehusk_degraded_total", {"missing": "frequencies"}) == 2
    for effect, blocks in (("dropped", 7), ("saved", 1)):
        assert registry.get_sample_value("dehusk_corrected_blocks_total", {"effect": effect}) == blocks


@pytest.mark.parametrize(
    ("name", "label", "values"),
    [
        ("skipped", "reason", SkipReason),
        ("dead_letters", "reason", BrokenReason),
        ("degraded", "missing", ("frequencies", "model")),
        ("corrected_blocks", "effect", ("dropped", "saved")),
        ("revisits", "outcome", ("published", "expired", "failed")),
        ("rollbacks", "reason", RollbackReason),
    ],
)
def test_the_first_event_is_an_increase(name: str, label: str, values: Iterable[str]) -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry, ())
    for value in values:
        assert registry.get_sample_value(f"dehusk_{name}_total", {label: str(value)}) == 0
    assert metrics.degraded == {}


def test_documents_are_counted_by_the_version_that_labeled_them(message: Message) -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry, ())
    for number in range(30):
        model = ModelVersion("dehusk", str(number))
        metrics.count(CleanedMessage(message, records=[WrittenDocument(b"1", b"d", model=model)] * 2))
    name = "dehusk_documents_by_version_total"
    assert registry.get_sample_value(name, {"model": "dehusk", "version": "19"}) == 2
    assert registry.get_sample_value(name, {"model": "dehusk", "version": "20"}) is None
    assert registry.get_sample_value(name, {"model": "other", "version": "other"}) == 20


def test_dependencies_that_are_unavailable_show() -> None:
    registry, redis = CollectorRegistry(), Dependency("redis", "")
    Metrics(registry, [redis, Dependency("kafka", "")])
    redis.missed(OSError())
    assert registry.get_sample_value("dehusk_dependency_unavailable", {"dependency": "redis"}) == 1
    assert registry.get_sample_value("dehusk_dependency_unavailable", {"dependency": "kafka"}) == 0


def test_steps_are_timed() -> None:
    registry = CollectorRegistry()
    with Metrics(registry, ()).step("label"):
        pass
    assert registry.get_sample_value("dehusk_step_seconds_count", {"step": "label"}) == 1


def test_two_workers_in_one_process_do_not_share_counters(message: Message) -> None:
    one, other = Metrics(CollectorRegistry(), ()), Metrics(CollectorRegistry(), ())
    one.count(CleanedMessage(message))
    assert (one.totals.messages, other.totals.messages) == (1, 0)
    assert b"dehusk_messages_total 1.0" in generate_latest(one.registry)


def test_each_partition_has_its_lag_while_there_are_some() -> None:
    registry = CollectorRegistry()
    backlog = Backlog()
    Metrics(registry, []).watch(lambda: 3, lambda: backlog)

    def lags() -> list[str]:
        lines = generate_latest(registry).decode().splitlines()
        return [line for line in lines if "lag" in line and not line.startswith("#")]

    assert lags() == ["dehusk_lag NaN", "dehusk_lag_seconds NaN"]
    backlog = Backlog(5, 1.5, 2.0, {TP("raw", 1): 5, TP("raw", 0): 0, TP("raw", 2): None})
    assert lags() == [
        "dehusk_lag 5.0",
        "dehusk_lag_seconds 1.5",
        'dehusk_partition_lag{partition="0",topic="raw"} 0.0',
        'dehusk_partition_lag{partition="1",topic="raw"} 5.0',
    ]
    assert "dehusk_arriving_messages 2.0\n" in generate_latest(registry).decode()
    assert "dehusk_messages_in_flight 3.0\n" in generate_latest(registry).decode()


def test_a_scrape_finds_out_once_what_is_not_done_with() -> None:
    registry, backlog = CollectorRegistry(), Mock(return_value=Backlog())
    Metrics(registry, []).watch(int, backlog)
    generate_latest(registry)
    assert backlog.call_count == 1


def test_the_build_and_the_process_are_told() -> None:
    registry = CollectorRegistry()
    Metrics(registry, [])
    said = generate_latest(registry).decode()
    assert f'version="{version("dehusk")}"' in said
    assert "process_resident_memory_bytes " in said
