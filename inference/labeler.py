"""What a labeler is: encoded pages in, the probability of content per block out."""

from collections.abc import Sequence
from typing import Protocol

from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction


class Labeler(Protocol):
    """Labels the blocks of pages; there is one on Triton, one on ONNX Runtime and one of rules."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """One answer per page, in order; a page without blocks gets empty labels.

        Raises:
            UnavailableError: the labeler did not answer; the same call may succeed later.
            ConfigurationError: the model is not there, or its tensors are not the ones encoded.
        """
        ...

    async def close(self) -> None:
        """Give back connections and sessions."""
        ...


class LocalLabeler(Labeler, Protocol):
    """A labeler that needs nobody else: it answers in the calling thread as well."""

    def label_here(self, page: EncodedPage) -> Prediction | Broken:
        """The answer to one page; safe to call from several threads at once."""
        ...
