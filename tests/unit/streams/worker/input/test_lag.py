"""The lag of a partition."""

from types import SimpleNamespace

import pytest

from dehusk.streams.worker.input.lag import Bounds, lag_of


@pytest.mark.parametrize(
    ("position", "fetched", "bounds", "committed", "is_outstanding", "lag"),
    [
        (7, 10, None, 7, False, 3),
        (10, 10, None, 8, False, 0),  # the rest is markers of transactions
        (10, 10, None, 8, True, 2),
        (10, 10, Bounds(0, 15), 8, True, 7),
        (10, None, Bounds(0, 15), 8, False, 5),
        (10, 20, Bounds(0, 15), 8, True, 12),
        (10, 10, Bounds(4, 15), None, True, 11),
        (10, 10, None, None, True, 0),
        (None, 10, None, 8, False, 2),
        (None, None, None, None, False, 0),
    ],
)
def test_the_lag_is_what_is_not_done_with(  # noqa: PLR0917 columns of the table
    position, fetched, bounds, committed, is_outstanding, lag
) -> None:
    state = SimpleNamespace(position=position, lso=fetched, has_valid_position=position is not None)
    assert lag_of(state, bounds, committed, is_outstanding=is_outstanding) == lag
