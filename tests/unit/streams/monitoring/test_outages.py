"""Outages of a worker."""

from dehusk.streams.monitoring.outages import MAX_OUTAGES, OutageLog
from dehusk.streams.monitoring.state import Outage

from .conftest import NOW


def test_an_outage_lasts_until_its_dependency_answers() -> None:
    log = OutageLog()
    log.note([Outage("redis", NOW - 3, None, "refused")], NOW)
    log.note([Outage("redis", NOW - 1, None, "r" * 500)], NOW + 1)  # first silent, then unavailable
    assert log.of_the_hour(NOW + 1) == (Outage("redis", NOW - 3, None, "r" * 100),)
    log.note([], NOW + 2)
    assert log.of_the_hour(NOW + 2) == (Outage("redis", NOW - 3, NOW + 2, "r" * 100),)
    assert log.of_the_hour(NOW + 3603) == ()


def test_no_outage_ends_before_it_begins() -> None:
    log = OutageLog()
    log.note([Outage("redis", NOW + 1, None, "refused")], NOW)  # times of dependencies are rounded
    log.note([], NOW + 0.5)
    assert log.of_the_hour(NOW) == (Outage("redis", NOW + 1, NOW + 1, "refused"),)


def test_of_many_outages_the_latest_are_kept() -> None:
    log = OutageLog()
    for number in range(2 * MAX_OUTAGES):
        log.note([Outage("redis", NOW + number, None, "")], NOW + number)
        log.note([], NOW + number + 0.5)
    assert [each.since for each in log.of_the_hour(NOW)] == [
        NOW + number for number in range(MAX_OUTAGES, 2 * MAX_OUTAGES)
    ]
