"""What a labeler is: encoded pages in, the probability of content per block out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction


class Labeler(Protocol):
    """Labels the blocks of pages: by a model on Triton or on ONNX Runtime, or without one."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """One answer per page, in order; a page without blocks gets empty labels.

        Raises:
            UnavailableError: the labeler did not answer; the same call may succeed later.
            NotEncodedError: it reads an encoding that a page lacks, and `encodings` has from now on.
            ConfigurationError: the model is not there, or its tensors are not the ones encoded.
        """
        ...

    async def close(self) -> None:
        """Give back connections and sessions."""
        ...


@dataclass(frozen=True, slots=True)
class Activity:
    """What a server has done for a model since it started, whoever asked for it."""

    requests: int
    batches: int
    """Requests that were answered together, or one."""
    queue_seconds: float
    """How long all requests have waited."""
    errors: int


@runtime_checkable
class ServedLabeler(Labeler, Protocol):
    """A labeler whose model is on a server."""

    async def activity(self) -> Activity:
        """What the server has done for the model.

        Raises:
            UnavailableError: the server does not answer.
            ConfigurationError: it has no such model.
        """
        ...


@runtime_checkable
class EncodingLabeler(Labeler, Protocol):
    """A labeler that reads more than each page has; what, may change with its model while it labels."""

    @property
    def encodings(self) -> frozenset[Encoding]:
        """What it reads of a page beside what each page has, as far as it is known."""
        ...


def encodings_read(labeler: Labeler) -> frozenset[Encoding]:
    """What a labeler reads now beside what each page has."""
    return labeler.encodings if isinstance(labeler, EncodingLabeler) else frozenset()


class LocalLabeler(Labeler, Protocol):
    """A labeler that needs nobody else: it answers in the calling thread as well."""

    def label_here(self, page: EncodedPage) -> Prediction | Broken:
        """The answer to one page; safe to call from several threads at once."""
        ...
