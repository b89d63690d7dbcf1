"""Counts in words."""

import pytest

from dehusk.streams.wording import duration, pluralize


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 dead letters"), (1, "1 dead letter"), (2000, "2,000 dead letters")]
)
def test_one_is_singular(count: int, said: str) -> None:
    assert pluralize(count, "dead letter") == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (7530, "2 h 5 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_time_has_one_or_two_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said
