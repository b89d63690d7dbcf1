"""What a worker counts, in one Prometheus registry that is passed in."""

from __future__ import annotations  # Faust's type is in them alone: who reads metrics does not load it

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from dehusk.schemas.pages import ModelVersion
from dehusk.streams.rollout.verdict import RollbackReason
from dehusk.streams.worker.assembly import CleanedMessage
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.counts import STEP_BOUNDS, Totals
from dehusk.streams.worker.tracing.traces import BatchTrace

if TYPE_CHECKING:
    from faust.types import TP

_MOST_VERSIONS = 20
_OTHER = ModelVersion("other", "other")
"""Stands for those beyond that many, so that the metric does not grow for ever."""


class Metrics:
    """Counters, which change together when a message is done with, and the times of the steps."""

    def __init__(self, registry: CollectorRegistry, dependencies: Iterable[Dependency]) -> None:
        self.registry = registry
        ProcessCollector(registry=registry)
        build = Gauge("dehusk_build_info", "1, with the version of dehusk.", ["version"], registry=registry)
        build.labels(version("dehusk")).set(1)
        self._messages = Counter("dehusk_messages", "Messages done with.", registry=registry)
        self.model: ModelVersion | None = None
        """What labeled the last document."""
        self._bytes = Counter("dehusk_bytes", "Bytes of the messages done with.", registry=registry)
        self._pages = Counter("dehusk_pages", "Pages in, whatever became of them.", registry=registry)
        self._documents = Counter("dehusk_documents", "Documents that Kafka acknowledged.", registry=registry)
        self._empty_documents = Counter(
            "dehusk_empty_documents", "Those of the documents that have no text.", registry=registry
        )
        self._characters = Counter(
            "dehusk_text_characters", "Characters of the texts of documents.", registry=registry
        )
        self._tombstones = Counter("dehusk_tombstones", "Tombstones passed on.", registry=registry)
        self._skipped = Counter("dehusk_skipped", "Messages that are no page.", ["reason"], registry=registry)
        self._dead_letters = Counter("dehusk_dead_letters", "Dead letters.", ["reason"], registry=registry)
        self._degraded = Counter(
            "dehusk_degraded",
            "Documents made without a dependency that was unavailable.",
            ["missing"],
            registry=registry,
        )
        self._corrected_blocks = Counter(
            "dehusk_corrected_blocks",
            "Blocks that documents lack (dropped) or have (saved) because of what is known of their sites.",
            ["effect"],
            registry=registry,
        )
        self._steps = Histogram(
            "dehusk_step_seconds",
            "Seconds a batch takes for a step.",
            ["step"],
            buckets=STEP_BOUNDS,
            registry=registry,
        )
        self.removed = Counter(
            "dehusk_messages_removed", "Messages that Kafka removed before they were read.", registry=registry
        )
        self.revisits = Counter(
            "dehusk_revisits",
            "Pages that were to be cleaned again: published, expired (their message has gone), or failed.",
            ["outcome"],
            registry=registry,
        )
        self._by_version = Counter(
            "dehusk_documents_by_version",
            "Documents by the model and version that labeled them.",
            ["model", "version"],
            registry=registry,
        )
        self._versions: set[ModelVersion] = set()
        self.rollbacks = Counter(
            "dehusk_rollbacks",
            "Versions that this worker had all workers of its group do without.",
            ["reason"],
            registry=registry,
        )
        for reason in RollbackReason:  # from 0 on, so that the first one is an increase
            self.rollbacks.labels(reason.value)
        self.rollout_revision = Gauge(
            "dehusk_rollout_revision",
            "Of the state of the roll-out that the worker follows; 0 without one.",
            registry=registry,
        )
        self.refused_versions = Gauge(
            "dehusk_refused_versions",
            "Versions that the roll-out names and that do not label here.",
            registry=registry,
        )
        self.in_flight = Gauge(
            "dehusk_messages_in_flight", "Messages being worked on, or waiting.", registry=registry
        )
        unavailable = Gauge(
            "dehusk_dependency_unavailable",
            "1 while a dependency does not answer.",
            ["dependency"],
            registry=registry,
        )
        for dependency in dependencies:
            unavailable.labels(dependency.name).set_function(partial(_unavailable, dependency))
        self.lag = Gauge(
            "dehusk_lag",
            "Messages of the assigned partitions yet to be read; NaN while there are none.",
            registry=registry,
        )

    def watch_partitions(self, lag: Callable[[], Mapping[TP, int] | None]) -> None:
        """Show how far each partition is behind, asked when the metrics are."""
        self.registry.register(_PartitionLag(lag))

    def step(self, name: str) -> AbstractContextManager[object]:
        """Measures how long a batch takes for a step."""
        return self._steps.labels(name).time()

    def count(self, cleaned: CleanedMessage) -> None:
        """Count a message whose documents or dead letter are delivered."""
        self._messages.inc()
        self._bytes.inc(len(cleaned.message.value or b""))
        self._documents.inc(cleaned.documents)
        self._empty_documents.inc(cleaned.empty_documents)
        self._characters.inc(cleaned.characters)
        self.model = cleaned.model or self.model
        for model, documents in cleaned.documents_by_model.items():
            self._count_version(model, documents)
        self._tombstones.inc(len(cleaned.records) - cleaned.documents)
        self._corrected_blocks.labels("dropped").inc(cleaned.blocks_dropped)
        self._corrected_blocks.labels("saved").inc(cleaned.blocks_saved)
        for skipped in cleaned.skipped:
            self._skipped.labels(skipped.reason.value).inc()
        for missing in cleaned.degraded:
            self._degraded.labels(missing).inc(cleaned.documents)
        if cleaned.failure is not None:
            self._dead_letters.labels(cleaned.failure.broken.reason.value).inc()
        self._pages.inc(cleaned.pages)

    def _count_version(self, model: ModelVersion, documents: int) -> None:
        if len(self._versions) < _MOST_VERSIONS:
            self._versions.add(model)
        known = model if model in self._versions else _OTHER
        self._by_version.labels(known.name, known.version).inc(documents)

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
        """How many characters the texts of documents have had so far."""
        return _total(self._characters)

    @property
    def degraded(self) -> dict[str, int]:
        """How many documents were made without a dependency, by what they lack."""
        samples = (sample for family in self._degraded.collect() for sample in family.samples)
        return {
            sample.labels["missing"]: int(sample.value)
            for sample in samples
            if sample.name.endswith("_total")
        }

    @property
    def step_counts(self) -> dict[str, list[int]]:
        """How many batches took for each step as long as the bounds STEP_BOUNDS say, at most."""
        counts: dict[str, list[int]] = {}
        for family in self._steps.collect():
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    counts.setdefault(sample.labels["step"], []).append(int(sample.value))
        return counts


class _PartitionLag(Collector):
    """How far each partition is behind; nothing while there are none."""

    def __init__(self, lag: Callable[[], Mapping[TP, int] | None]) -> None:
        self._lag = lag

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The family, without asking for its values."""
        return [self._family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The family as it is now."""
        family = self._family()
        for partition, behind in sorted((self._lag() or {}).items()):
            family.add_metric([partition.topic, str(partition.partition)], behind)
        return [family]

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "dehusk_partition_lag",
            "Messages of an assigned partition yet to be read.",
            labels=["topic", "partition"],
        )


class StepTimes:
    """How long one batch takes for its steps, which the metrics and its trace are told, too."""

    def __init__(self, metrics: Metrics, trace: BatchTrace) -> None:
        self._metrics = metrics
        self.trace = trace
        self.seconds: dict[str, float] = {}
        """Of each step that is done."""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measures a step."""
        begun = time.perf_counter()
        with self._metrics.step(name), self.trace.step(name):
            yield
        self.seconds[name] = round(time.perf_counter() - begun, 6)


def _unavailable(dependency: Dependency) -> float:
    return float(dependency.unavailable)


def _total(counter: Counter) -> int:
    samples = (sample for family in counter.collect() for sample in family.samples)
    return int(sum(sample.value for sample in samples if sample.name.endswith("_total")))
