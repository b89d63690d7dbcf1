"""What a worker knows of its parts."""

import logging

import pytest

from streams.worker.availability import Part


def test_a_part_is_there_until_it_is_missed() -> None:
    part = Part("redis", "pages wait")
    assert not part.away
    part.missed(OSError("refused"))
    assert part.away
    part.answered()
    assert not part.away


def test_going_and_coming_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    part = Part("redis", "pages wait")
    part.answered()
    for _ in range(3):
        part.missed(OSError("refused"))
    part.answered()
    part.answered()
    assert [record.message.partition(" after")[0] for record in caplog.records] == [
        "redis is away, pages wait: refused",
        "redis is back",
    ]


def test_a_part_that_was_missed_is_due_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("streams.worker.availability.time.monotonic", lambda: now[0])
    part = Part("redis", "pages wait")
    assert part.due
    part.missed(OSError("refused"), retry_after=5)
    assert not part.due
    now[0] += 5
    assert part.due
