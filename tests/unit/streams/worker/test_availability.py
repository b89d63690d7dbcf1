"""What a worker knows of its parts."""

import asyncio
import logging

import pytest

from schemas.errors import ConfigurationError, UnavailableError
from streams.worker.availability import Part, watch


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


@pytest.mark.parametrize("error", [UnavailableError("refused"), ConfigurationError("wrong password")])
async def test_a_part_is_asked_again_and_again_whether_pages_come_or_not(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.worker.availability._ASK_SECONDS", 0.0)
    part, errors = Part("redis", "pages wait"), [error]

    async def check() -> None:
        if errors:
            raise errors[0]

    watching = asyncio.create_task(watch(part, check))
    await asyncio.sleep(0.05)
    assert part.away
    errors.clear()
    await asyncio.sleep(0.05)
    assert not part.away
    watching.cancel()


async def test_a_bug_met_while_asking_comes_to_light() -> None:
    async def check() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await watch(Part("redis", "pages wait"), check)
