"""Counts in words."""

import pytest

from dehusk.streams.wording import pluralize


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 dead letters"), (1, "1 dead letter"), (2000, "2,000 dead letters")]
)
def test_one_is_singular(count: int, said: str) -> None:
    assert pluralize(count, "dead letter") == said
