"""How many blocks of pages a model labels as their gold texts do."""

from collections.abc import Iterable

import numpy as np

from dehusk.training.blocks import CONTENT_PROBABILITY
from dehusk.training.boilernet.block_scores import BlockScores, score_labels
from dehusk.training.dehusk.pages import DehuskPage
from dehusk.training.predictor import Answer


def score_pages(pages: Iterable[DehuskPage], answer: Answer) -> BlockScores:
    """The scores of boilerplate and of content over the blocks of all pages with reliable labels."""
    scored = [page for page in pages if page.reliable and len(page.content)]
    truth = np.concatenate([page.content for page in scored])
    found = [np.atleast_2d(answer(page.encoded))[0] >= CONTENT_PROBABILITY for page in scored]
    return score_labels(truth, np.concatenate(found))
