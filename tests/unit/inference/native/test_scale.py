import numpy as np
import pytest

from dehusk.inference.native.scale import columns_of

LOWEST, STEPS = np.array([0.0, -2.0]), np.array([255.0, 255 / 4])


def test_values_are_mapped_onto_bytes_and_clipped() -> None:
    assert columns_of([0.5, 0.0], LOWEST, STEPS).tolist() == [128, 128]
    assert columns_of([True, -9.0], LOWEST, STEPS).tolist() == [255, 0]
    assert columns_of([7.0, 2.0], LOWEST, STEPS).tolist() == [255, 255]


def test_values_of_other_columns_are_an_error() -> None:
    with pytest.raises(ValueError, match="1 values for 2 columns"):
        columns_of([0.5], LOWEST, STEPS)
