"""A model, whatever runs it, as what it answers to a page."""

import asyncio
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from inference.onnx import OnnxLabeler
from schemas.errors import ConfigurationError
from schemas.outcomes import Broken
from schemas.pages import EncodedPage

Predict = Callable[[EncodedPage], npt.NDArray[np.float32]]
"""The probabilities of a page's blocks."""


def labeler_predict(labeler: OnnxLabeler) -> Predict:
    """A version of the model repository, on ONNX Runtime."""

    def predict(page: EncodedPage) -> npt.NDArray[np.float32]:
        (labels,) = asyncio.run(labeler.label([page]))
        if isinstance(labels, Broken):
            raise ConfigurationError(labels.detail)
        return labels.probabilities

    return predict
