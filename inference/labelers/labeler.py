"""The interface of labelers (encoded pages in, the probability of content per block out), and their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Protocol, Self, cast, runtime_checkable

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction


class Labeler(Protocol):
    """A labeler of the blocks of pages, by a model on Triton or in this process, or without one."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """Return one answer per page, in order; a page without blocks gets empty labels.

        Raises:
            UnavailableError: the labeler did not answer; the same call may succeed later.
            NotEncodedError: it reads an encoding that a page lacks, and `encodings` has from now on.
            ConfigurationError: the model is not there, or its tensors are not the ones encoded.
        """

    async def close(self) -> None:
        """Close connections and sessions."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Totals of a server's work for a model since it started, for all clients."""

    requests: int
    batches: int
    """Number of model executions, each for one or several requests."""
    queue_seconds: float
    """Sum of the waiting times of all requests."""
    errors: int


@runtime_checkable
class ServedLabeler(Labeler, Protocol):
    """A labeler whose model is on a server."""

    async def activity(self) -> Activity:
        """Return the server's totals for the model.

        Raises:
            UnavailableError: the server does not answer.
            ConfigurationError: it has no such model.
        """


@runtime_checkable
class EncodingLabeler(Labeler, Protocol):
    """A labeler that needs optional encodings, which may change with its model while it labels."""

    @property
    def encodings(self) -> frozenset[Encoding]:
        """Optional encodings that the current model reads, as far as it is known."""


def encodings_read(labeler: Labeler) -> frozenset[Encoding]:
    """Return the optional encodings that a labeler reads now."""
    return labeler.encodings if isinstance(labeler, EncodingLabeler) else frozenset()


@runtime_checkable
class LocalLabeler(Labeler, Protocol):
    """A labeler without a server, which also answers in the calling thread."""

    def label_here(self, page: EncodedPage) -> Prediction | Broken:
        """Return the answer to one page; safe to call from several threads at once."""

    def twin(self) -> Self:
        """Return a labeler with the same model, for another event loop or beside this one."""


LOCAL_LABELERS = {
    "rules": "dehusk.inference.labelers.rules:RulesLabeler",
    "boilerpipe-words": "dehusk.inference.labelers.rules:boilerpipe_words",
    "boilerpipe-density": "dehusk.inference.labelers.rules:boilerpipe_density",
    "declutter": "dehusk.inference.labelers.rules:declutter",
    "grf": "dehusk.inference.labelers.grf.labeler:by_features",
    "grf-words": "dehusk.inference.labelers.grf.labeler:by_words",
}
"""Factories of the labelers without a server or a model; each is loaded only where it is used."""

LABELERS = ("triton", "onnx", *LOCAL_LABELERS)
"""All labelers by name."""


def open_local_labeler(name: str) -> LocalLabeler:
    """Return the labeler of a name in `LOCAL_LABELERS`."""
    return cast("LocalLabeler", resolve_name(LOCAL_LABELERS[name])())
