"""A model, whatever runs it, as what it answers to a page."""

import asyncio
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dehusk.inference.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction

Floats = npt.NDArray[np.float32]
Predict = Callable[[EncodedPage], Floats]
"""The probabilities of a page's blocks, shape [T]."""


Answer = Callable[[EncodedPage], Floats]
"""Probabilities of a page's blocks: of content, or of content and of user comments in two rows."""


def labeler_answer(labeler: OnnxLabeler) -> Answer:
    """A version of the model repository, on ONNX Runtime: all that it answers, shape [A, T]."""

    def answer(page: EncodedPage) -> Floats:
        (labels,) = asyncio.run(labeler.label([page]))
        if isinstance(labels, Broken):
            raise ConfigurationError(labels.detail)
        return answers_of(labels)

    return answer


def answers_of(labels: Prediction) -> Floats:
    """All that a labeler answered, shape [A, T]."""
    return np.stack([each for each in (labels.probabilities, labels.comments) if each is not None])


def labeler_predict(labeler: OnnxLabeler) -> Predict:
    """A version of the model repository, on ONNX Runtime."""
    answer = labeler_answer(labeler)

    def predict(page: EncodedPage) -> Floats:
        content: Floats = answer(page)[0]
        return content

    return predict
