from collections.abc import Callable

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.encoding.features import BLOCK_FEATURES, PAGE_FEATURES
from dehusk.inference.segmentation.segmentation import segment

BlockColumns = Callable[[str], dict[str, list[float]]]
PageColumns = Callable[[str], dict[str, float]]


def _values(columns, features):
    lowest, highest = np.array([feature.range for feature in features]).T
    return columns / 255 * (highest - lowest) + lowest


@pytest.fixture
def block_columns() -> BlockColumns:
    """The columns of a page's blocks by name, as far as bytes can say them."""

    def of(html: str) -> dict[str, list[float]]:
        structure = encode(segment(html.encode())).structure
        assert structure is not None
        values = _values(structure.features, BLOCK_FEATURES)
        return {each.name: values[:, place].tolist() for place, each in enumerate(BLOCK_FEATURES)}

    return of


@pytest.fixture
def page_columns() -> PageColumns:
    """The columns of a page by name, as far as bytes can say them."""

    def of(html: str) -> dict[str, float]:
        structure = encode(segment(html.encode())).structure
        assert structure is not None
        values = _values(structure.page_features, PAGE_FEATURES)
        return {each.name: value for each, value in zip(PAGE_FEATURES, values.tolist(), strict=True)}

    return of
