"""The dependencies that a worker talks to, as its settings name them."""

from collections.abc import Iterator
from dataclasses import dataclass

from dehusk.inference.labeler import Labeler
from dehusk.inference.labelers import open_local_labeler
from dehusk.inference.rules import RulesLabeler
from dehusk.streams.settings import WhenTritonIsUnavailable
from dehusk.streams.worker.availability import Dependency
from dehusk.streams.worker.labeling import DegradingLabeling, Labeling, WaitingLabeling
from dehusk.streams.worker.settings import WorkerSettings
from dehusk.streams.worker.witnesses import WitnessedLabeler


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Whether each dependency is there, of those that the worker has."""

    kafka: Dependency
    redis: Dependency
    labeler: Dependency
    schema_registry: Dependency
    has_registry: bool = True
    """Whether there is a schema registry to ask."""

    def __iter__(self) -> Iterator[Dependency]:
        yield from (self.kafka, self.redis, self.labeler)
        if self.has_registry:
            yield self.schema_registry

    @property
    def unavailable(self) -> list[Dependency]:
        """Those that do not answer."""
        return [dependency for dependency in self if dependency.unavailable]

    @property
    def waited_for(self) -> bool:
        """Whether one is unavailable that pages wait for; without Redis they go on."""
        return self.kafka.unavailable or self.labeler.unavailable or self.schema_registry.unavailable


def name_dependencies(settings: WorkerSettings) -> Dependencies:
    """The dependencies, all supposed to be there."""
    waits = settings.when_triton_is_unavailable is WhenTritonIsUnavailable.WAIT
    return Dependencies(
        kafka=Dependency("kafka", "documents wait for it"),
        redis=Dependency("redis", "pages are cleaned without the statistics of their site"),
        labeler=Dependency(settings.labeler, "pages wait for it" if waits else "pages are labeled by rules"),
        schema_registry=Dependency("schema-registry", "its messages wait for it"),
        has_registry=settings.source_settings.schema_registry is not None,
    )


def open_labeler(settings: WorkerSettings) -> Labeler:
    """The labeler that the settings name.

    Raises:
        ConfigurationError: the model repository holds no such model.
    """
    triton = settings.triton
    if settings.labeler == "triton":
        from dehusk.inference.triton import TritonLabeler  # noqa: PLC0415 its client is loaded only where it is used

        return TritonLabeler(triton.address, triton.model, triton.version, triton.timeout)
    if settings.labeler == "onnx":
        from dehusk.inference.onnx import OnnxLabeler  # noqa: PLC0415 its runtime is loaded only where it is used

        return OnnxLabeler(triton.model, triton.version, settings.model_repository)
    return open_local_labeler(settings.labeler)


def open_labeling(settings: WorkerSettings, labeler: WitnessedLabeler, dependency: Dependency) -> Labeling:
    """What labels batches with the labeler, and what it does while that is unavailable."""
    if settings.when_triton_is_unavailable is WhenTritonIsUnavailable.RULES:
        return DegradingLabeling(labeler, RulesLabeler(), dependency)
    return WaitingLabeling(labeler, dependency)
