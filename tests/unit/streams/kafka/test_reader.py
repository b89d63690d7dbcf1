"""Times of records, as readers of topics tell them."""

from datetime import UTC, datetime

import pytest

from dehusk.streams.kafka.reader import record_time


@pytest.mark.parametrize(
    ("milliseconds", "time"),
    [
        (1_764_000_000_000, datetime(2025, 11, 24, 16, tzinfo=UTC)),
        (-1, datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        (1_764_000_000_000_000_000, datetime.max.replace(tzinfo=UTC)),
        ((1 << 63) - 1, datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_a_record_has_a_time_whatever_its_producer_counts(milliseconds: int, time: datetime) -> None:
    assert record_time(milliseconds) == time
