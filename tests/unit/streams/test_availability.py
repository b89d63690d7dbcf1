"""Availability of a worker's dependencies, as the worker knows it."""

import asyncio
import logging

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.availability import Dependency, watch
from tests.settling import settle


def test_a_dependency_is_there_until_it_is_missed() -> None:
    dependency = Dependency("redis", "pages wait")
    assert not dependency.unavailable
    dependency.missed(OSError("refused"))
    assert dependency.unavailable
    dependency.answered()
    assert not dependency.unavailable


def test_going_and_coming_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    dependency = Dependency("redis", "pages wait")
    dependency.answered()
    for _ in range(3):
        dependency.missed(OSError("refused"))
    dependency.answered()
    dependency.answered()
    assert [record.message.partition(" after")[0] for record in caplog.records] == [
        "redis is unavailable, pages wait: refused",
        "redis is available again",
    ]


def test_what_somebody_has_to_do_is_logged_when_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    dependency = Dependency("kafka", "documents wait")
    for error in (UnavailableError("silent"), UnavailableError("still silent")):
        dependency.missed(error)
    for _ in range(3):
        dependency.missed(ConfigurationError("create\nthe topic"))
    assert dependency.reason == "create the topic"
    assert caplog.messages == [
        "kafka is unavailable, documents wait: silent",
        "kafka is unavailable, documents wait: create the topic",
    ]


@pytest.mark.parametrize("error", [UnavailableError("refused"), ConfigurationError("wrong password")])
async def test_a_dependency_is_asked_again_and_again_whether_pages_come_or_not(
    error: Exception,
) -> None:
    dependency, errors = Dependency("redis", "pages wait"), [error]

    async def check() -> None:
        if errors:
            raise errors[0]

    watching = asyncio.create_task(watch(dependency, check, seconds=0.0))
    await settle()
    assert dependency.unavailable
    errors.clear()
    await settle()
    assert not dependency.unavailable
    watching.cancel()


async def test_a_bug_met_while_asking_comes_to_light() -> None:
    async def check() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await watch(Dependency("redis", "pages wait"), check)
