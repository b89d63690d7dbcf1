from datetime import UTC, datetime

import pytest

from streams.sources.times import parse_time

MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-04T05:06:07Z",
        "2026-03-04T06:06:07+01:00",
        "2026-03-04T05:06:07",
        "Wed, 04 Mar 2026 05:06:07 GMT",
        "Wed Mar 04 05:06:07 UTC 2026",
        "Wed Mar 04 06:06:07 CET 2026",
        1772600767,
        1772600767.0,
        1772600767000,
        "1772600767",
        "1772600767000",
    ],
)
def test_times_are_read_in_the_forms_that_crawlers_write(value):
    assert parse_time(value) == MOMENT


@pytest.mark.parametrize(
    "value", [None, "", "soon", True, [], {}, 1e300, float("nan"), "Wed Mar 99 05:06:07 UTC 2026"]
)
def test_what_is_no_time_gives_none(value):
    assert parse_time(value) is None


def test_a_time_always_has_a_zone():
    assert parse_time("Wed Mar 04 05:06:07 XYZ 2026").tzinfo is UTC
