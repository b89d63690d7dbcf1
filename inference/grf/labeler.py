"""The labelers by Gaussian random fields: seeds, spread to all blocks of a page."""

import asyncio
from collections.abc import Sequence

from dehusk.inference.grf.by_features import features_of
from dehusk.inference.grf.seeds import seeds
from dehusk.inference.grf.spreading import BY_FEATURES, BY_WORDS, Similarity, spread
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction


class FieldLabeler:
    """Labels blocks by how near they are, in a graph of similar blocks, to those that rules label."""

    def __init__(self, name: str, similarity: Similarity) -> None:
        self._name = name
        self._model = ModelVersion(name, "1")
        self._similarity = similarity

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        """One answer per page, in order, from a thread of its own: a page of 2,000 blocks takes 25 ms.

        Raises:
            ConfigurationError: only texts and paths of a page are known.
        """
        return await asyncio.to_thread(lambda: [self.label_here(page) for page in pages])

    def label_here(self, page: EncodedPage) -> Prediction:
        """The answer to one page, in the calling thread.

        Raises:
            ConfigurationError: only texts and paths of the page are known.
        """
        labels = seeds(page, features_of(page))
        return Prediction(spread(page, labels, similarity=self._similarity), self._model, self._name)

    async def close(self) -> None:
        """Nothing is held."""


def by_features() -> FieldLabeler:
    """`--labeler grf`: blocks are alike whose features are."""
    return FieldLabeler("grf", BY_FEATURES)


def by_words() -> FieldLabeler:
    """`--labeler grf-words`: blocks are alike whose words are, as in the paper."""
    return FieldLabeler("grf-words", BY_WORDS)
