"""The parts that a worker talks to, as its settings name them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inference.labeler import Labeler
from inference.repository import DEFAULT_REPOSITORY
from inference.rules import RulesLabeler
from streams.settings import WhenTritonIsAway
from streams.worker.availability import Part
from streams.worker.labelling import DegradingLabelling, Labelling, WaitingLabelling
from streams.worker.settings import WorkerSettings


@dataclass(frozen=True, slots=True)
class Parts:
    """Whether each part is there."""

    kafka: Part
    redis: Part
    labeler: Part
    schema_registry: Part

    def __iter__(self) -> Iterator[Part]:
        yield from (self.kafka, self.redis, self.labeler, self.schema_registry)

    @property
    def away(self) -> list[Part]:
        """Those that do not answer."""
        return [part for part in self if part.away]

    @property
    def waited_for(self) -> bool:
        """Whether one is away that pages wait for; without Redis they go on."""
        return self.kafka.away or self.labeler.away or self.schema_registry.away


def name_parts(settings: WorkerSettings) -> Parts:
    """The parts, all supposed to be there."""
    waits = settings.when_triton_is_away is WhenTritonIsAway.WAIT
    return Parts(
        kafka=Part("kafka", "documents wait for it"),
        redis=Part("redis", "pages are cleaned without block frequencies"),
        labeler=Part(settings.labeler, "pages wait for it" if waits else "pages are labelled by rules"),
        schema_registry=Part("schema-registry", "its messages wait for it"),
    )


def open_labeler(settings: WorkerSettings, repository: Path = DEFAULT_REPOSITORY) -> Labeler:
    """The labeler that the settings name; one that runs its model here finds it in the repository.

    Raises:
        ConfigurationError: the model repository holds no such model.
    """
    triton = settings.triton
    if settings.labeler == "triton":
        from inference.triton import TritonLabeler  # noqa: PLC0415 its client is loaded only where it is used

        return TritonLabeler(triton.address, triton.model, triton.version, triton.timeout)
    if settings.labeler == "onnx":
        from inference.onnx import OnnxLabeler  # noqa: PLC0415 its runtime is loaded only where it is used

        return OnnxLabeler(triton.model, triton.version, repository)
    return RulesLabeler()


def open_labelling(settings: WorkerSettings, labeler: Labeler, part: Part) -> Labelling:
    """What labels batches with the labeler, and what it does while that is away."""
    if settings.when_triton_is_away is WhenTritonIsAway.RULES:
        return DegradingLabelling(labeler, RulesLabeler(), part)
    return WaitingLabelling(labeler, part)
