"""Metrics of a worker, in one Prometheus registry that is passed in."""

from __future__ import annotations  # Faust's type is in them alone: who reads metrics does not load it

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from dehusk.schemas.documents import Missing
from dehusk.schemas.outcomes import BrokenReason, SkipReason
from dehusk.schemas.pages import ModelVersion
from dehusk.streams.availability import Dependency
from dehusk.streams.monitoring.state import STEP_BOUNDS, Totals
from dehusk.streams.rollout.verdict import RollbackReason
from dehusk.streams.worker.results import BatchTrace, CleanedMessage

if TYPE_CHECKING:
    from dehusk.streams.worker.input.lag import Backlog

_CORRECTIONS = ("dropped", "saved")
_MAX_VERSIONS = 20
_OTHER = ModelVersion("other", "other")
"""Label of the versions beyond the maximum, so that the metric stays bounded."""


class RevisitOutcome(StrEnum):
    """Outcome of a second cleaning."""

    PUBLISHED = "published"
    EXPIRED = "expired"
    """The page's message has gone."""
    FAILED = "failed"


class Metrics:
    """Counters, which change together when a message is done, and times of steps."""

    def __init__(self, registry: CollectorRegistry, dependencies: Iterable[Dependency]) -> None:
        self.registry = registry
        ProcessCollector(registry=registry)
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        build = gauge("dehusk_build_info", "1, with the version of dehusk.", ["version"])
        build.labels(version("dehusk")).set(1)
        self.model: ModelVersion | None = None
        """Model that labeled the last document."""
        self.serving: Mapping[ModelVersion, ModelVersion] = {}
        """Version that serves, by the canary beside it; empty without one."""
        self._messages = counter("dehusk_messages", "Messages done with.")
        self._bytes = counter("dehusk_bytes", "Bytes of the messages done with.")
        self._pages = counter("dehusk_pages", "Pages in, whatever became of them.")
        self._documents = counter("dehusk_documents", "Documents that Kafka acknowledged.")
        self._empty_documents = counter("dehusk_empty_documents", "Those of the documents that have no text.")
        self._characters = counter("dehusk_text_characters", "Characters of the texts of documents.")
        self._tombstones = counter("dehusk_tombstones", "Tombstones passed on.")
        self._skipped = counter("dehusk_skipped", "Messages that are no page.", ["reason"])
        self._dead_letters = counter("dehusk_dead_letters", "Dead letters.", ["reason"])
        self._degraded = counter(
            "dehusk_degraded", "Documents made without a dependency that was unavailable.", ["missing"]
        )
        self._corrected_blocks = counter(
            "dehusk_corrected_blocks",
            "Blocks that documents lack (dropped) or have (saved) because of what is known of their sites.",
            ["effect"],
        )
        self._steps = Histogram(
            "dehusk_step_seconds",
            "Seconds a batch takes for a step.",
            ["step"],
            buckets=STEP_BOUNDS,
            registry=registry,
        )
        self.removed = counter(
            "dehusk_messages_removed", "Messages that Kafka removed before they were read."
        )
        self.revisits = counter(
            "dehusk_revisits",
            "Pages that were to be cleaned again: published, expired (their message has gone), or failed.",
            ["outcome"],
        )
        self._by_version = counter(
            "dehusk_documents_by_version",
            "Documents by the model and version that labeled them.",
            ["model", "version"],
        )
        self._versions: set[ModelVersion] = set()
        self.rollbacks = counter(
            "dehusk_rollbacks",
            "Versions that this worker had all workers of its group do without.",
            ["reason"],
        )
        self.rollout_revision = gauge(
            "dehusk_rollout_revision", "Of the state of the roll-out that the worker follows; 0 without one."
        )
        self.refused_versions = gauge(
            "dehusk_refused_versions", "Versions that the roll-out names and that do not label here."
        )
        unavailable = gauge(
            "dehusk_dependency_unavailable", "1 while a dependency does not answer.", ["dependency"]
        )
        for dependency in dependencies:
            unavailable.labels(dependency.name).set_function(partial(_is_missing, dependency))
        self.silent_workers = gauge(
            "dehusk_silent_workers",
            "Workers of the group that have been silent for seconds; NaN without --monitoring-topic.",
        )
        self.silent_workers.set(math.nan)
        self._start_at_zero()

    def _start_at_zero(self) -> None:
        """Give counters all of their known labels, so that the first event of each is an increase."""
        known: tuple[tuple[Counter, Iterable[str]], ...] = (
            (self._skipped, SkipReason),
            (self._dead_letters, BrokenReason),
            (self._degraded, Missing),
            (self._corrected_blocks, _CORRECTIONS),
            (self.revisits, RevisitOutcome),
            (self.rollbacks, RollbackReason),
        )
        for counter, labels in known:
            for label in labels:
                counter.labels(str(label))

    def watch(self, in_flight: Callable[[], int], backlog: Callable[[], Backlog]) -> None:
        """Read at each scrape how many messages are in flight, and what is not done with."""
        name, description = "dehusk_messages_in_flight", "Messages being worked on, or waiting."
        Gauge(name, description, registry=self.registry).set_function(in_flight)
        self.registry.register(_BacklogMetrics(backlog))

    def step(self, name: str) -> AbstractContextManager[object]:
        """Measure the time that a batch takes for a step."""
        return self._steps.labels(name).time()

    def count(self, cleaned: CleanedMessage) -> None:
        """Count a message whose documents or dead letter are delivered."""
        self._messages.inc()
        self._bytes.inc(len(cleaned.message.value or b""))
        documents = cleaned.documents
        self._documents.inc(len(documents))
        self._tombstones.inc(len(cleaned.records) - len(documents))
        self._empty_documents.inc(sum(each.is_empty for each in documents))
        self._characters.inc(sum(each.characters for each in documents))
        self._corrected_blocks.labels("dropped").inc(sum(each.blocks_dropped for each in documents))
        self._corrected_blocks.labels("saved").inc(sum(each.blocks_saved for each in documents))
        self.model = cleaned.model or self.model
        for document in documents:
            if document.model is not None:
                self._count_version(document.model)
        for skipped in cleaned.skipped:
            self._skipped.labels(skipped.reason.value).inc()
        for missing in cleaned.degraded:
            self._degraded.labels(missing).inc(len(documents))
        if cleaned.failure is not None:
            self._dead_letters.labels(cleaned.failure.broken.reason.value).inc()
        self._pages.inc(cleaned.pages)

    def _count_version(self, model: ModelVersion) -> None:
        if len(self._versions) < _MAX_VERSIONS:
            self._versions.add(model)
        known = model if model in self._versions else _OTHER
        self._by_version.labels(known.name, known.version).inc()

    @property
    def totals(self) -> Totals:
        """The counts so far."""
        return Totals(
            messages=_total(self._messages),
            bytes=_total(self._bytes),
            pages=_total(self._pages),
            documents=_total(self._documents),
            empty_documents=_total(self._empty_documents),
            tombstones=_total(self._tombstones),
            skipped=_total(self._skipped),
            dead_letters=_total(self._dead_letters),
        )

    @property
    def characters(self) -> int:
        """Characters of the texts of documents so far."""
        return _total(self._characters)

    @property
    def degraded(self) -> dict[str, int]:
        """Documents that were made without a dependency, by what they lack."""
        samples = _total_samples(self._degraded)
        return {sample.labels["missing"]: int(sample.value) for sample in samples if sample.value}

    @property
    def step_counts(self) -> dict[str, list[int]]:
        """Batches that took at most as long as each of STEP_BOUNDS, by step."""
        counts: dict[str, list[int]] = {}
        for family in self._steps.collect():
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    counts.setdefault(sample.labels["step"], []).append(int(sample.value))
        return counts


class _BacklogMetrics(Collector):
    """Metrics of what is not done with, which is found out once for all of them."""

    def __init__(self, backlog: Callable[[], Backlog]) -> None:
        self._backlog = backlog

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics; a lag that is not known is NaN, or left out where it is that of a partition."""
        backlog = self._backlog()
        yield GaugeMetricFamily(
            "dehusk_lag",
            "Messages of the assigned partitions not done with; NaN while that is not known.",
            _nan_if_none(backlog.messages),
        )
        yield GaugeMetricFamily(
            "dehusk_lag_seconds",
            "Age of the oldest message not done with; NaN while that is not known.",
            _nan_if_none(backlog.seconds),
        )
        yield GaugeMetricFamily(
            "dehusk_arriving_messages",
            "Messages per second that come to the assigned partitions; NaN while that is not known.",
            _nan_if_none(backlog.arriving_per_second),
        )
        by_partition = GaugeMetricFamily(
            "dehusk_partition_lag",
            "Messages of an assigned partition not done with.",
            labels=["topic", "partition"],
        )
        for partition, lag in sorted((backlog.partitions or {}).items()):
            if lag is not None:
                by_partition.add_metric([partition.topic, str(partition.partition)], lag)
        yield by_partition


class StepTimes:
    """Step times of one batch, which are also added to the metrics and the batch's trace."""

    def __init__(self, metrics: Metrics, trace: BatchTrace) -> None:
        self._metrics = metrics
        self.trace = trace
        self.seconds: dict[str, float] = {}
        """Seconds of each finished step."""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure a step."""
        begun = time.perf_counter()
        with self._metrics.step(name), self.trace.step(name):
            yield
        self.seconds[name] = round(time.perf_counter() - begun, 6)


def _nan_if_none(number: float | None) -> float:
    return math.nan if number is None else number


def _is_missing(dependency: Dependency) -> bool:
    return dependency.missing_since is not None


def _total(counter: Counter) -> int:
    return int(sum(sample.value for sample in _total_samples(counter)))


def _total_samples(counter: Counter) -> list[Sample]:
    samples = (sample for family in counter.collect() for sample in family.samples)
    return [sample for sample in samples if sample.name.endswith("_total")]
