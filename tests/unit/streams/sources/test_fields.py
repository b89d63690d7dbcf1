from datetime import UTC, datetime

import pytest

from dehusk.streams.sources.fields import parse_time

MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-04T05:06:07Z",
        "2026-03-04T06:06:07+01:00",
        "2026-03-04T05:06:07",
        "Wed, 04 Mar 2026 05:06:07 GMT",
        "Wed, 04 Mar 2026 06:06:07 CET",
        "Wed, 04 Mar 2026 06:06:07 +0100 (CET)",
        "2026-03-04 05:06:07 UTC",
        "2026-03-04 05:06:07.000 UTC",
        "Wed Mar 04 05:06:07 UTC 2026",
        "Wed Mar 04 06:06:07 CET 2026",
        "Wed Mar 04 10:36:07 GMT+05:30 2026",
        "20260304050607",
        "20260304050607000",
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
    "value",
    [
        None,
        "",
        "soon",
        True,
        [],
        {},
        1e300,
        float("nan"),
        "Wed Mar 99 05:06:07 UTC 2026",
        "9" * 5000,
        "0001-01-01T00:00:00+14:00",
        "²",
        0,
        "0",
        -1,
        "2026",
        "202603040506",
        "Mar 4, 2026 05:06:07 PM",
        "Wed, 04 Mar 2026 05:06:07 IST",
        "2026-03-04 05:06:07 BST",
    ],
)
def test_what_is_no_time_gives_none(value):
    assert parse_time(value) is None


@pytest.mark.parametrize("zone", ["IST", "BST", "XYZ", "+"])
def test_a_zone_of_several_meanings_tells_no_time(zone):
    assert parse_time(f"Wed Mar 04 05:06:07 {zone} 2026") is None


@pytest.mark.parametrize(
    "value", ["2026-03-04T05:06:07", "Wed, 04 Mar 2026 05:06:07 -0000", "20260304050607"]
)
def test_a_time_is_always_in_utc(value):
    assert parse_time(value).tzinfo is UTC


def test_a_date_without_a_time_is_its_first_moment():
    assert parse_time("20260304") == parse_time("2026-03-04") == datetime(2026, 3, 4, tzinfo=UTC)
