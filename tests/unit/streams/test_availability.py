"""Availability of a worker's dependencies, as the worker knows it."""

import asyncio
import logging

import pytest

from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.availability import Dependency, watch, watch_silence
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


async def test_a_server_that_answers_nothing_is_silent_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dehusk.streams.availability.SILENT_SECONDS", 0.0)
    monkeypatch.setattr("dehusk.streams.availability._LIVE_SECONDS", 0.0)
    dependency, thawed = Dependency("triton", "pages wait"), asyncio.Event()
    watching = asyncio.create_task(watch_silence(dependency, thawed.wait))
    await settle()
    assert not dependency.unavailable
    assert dependency.trouble == "it answers no status request"
    thawed.set()
    await settle()
    assert (dependency.missing_since, dependency.trouble) == (None, "")
    watching.cancel()


@pytest.mark.parametrize(
    ("error", "trouble"),
    [(UnavailableError("connection\nrefused"), "connection refused"), (ConfigurationError("no right"), "")],
)
async def test_a_server_that_refuses_is_no_silent_one(
    error: Exception, trouble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.availability._LIVE_SECONDS", 0.0)
    dependency = Dependency("triton", "pages wait")

    async def ask() -> None:
        raise error

    watching = asyncio.create_task(watch_silence(dependency, ask))
    await settle()
    assert not watching.done()
    assert dependency.trouble == trouble
    watching.cancel()


def test_what_it_fails_at_is_told_before_what_it_does_not_answer() -> None:
    dependency = Dependency("triton", "pages wait")
    dependency.fell_silent(1.0, "no answer")
    dependency.fell_silent(2.0, "still none")
    assert (dependency.missing_since, dependency.trouble) == (1.0, "no answer")
    dependency.missed(OSError("refused"))
    assert (dependency.missing_since, dependency.trouble) == (dependency.unavailable_since, "refused")


async def test_an_answer_that_was_asked_for_before_a_miss_does_not_end_it() -> None:
    dependency, seen = Dependency("kafka", "pages wait"), []

    async def check() -> None:
        seen.append(dependency.unavailable)
        if len(seen) == 1:
            dependency.missed(OSError("refused"))

    watching = asyncio.create_task(watch(dependency, check, seconds=0.0))
    await settle()
    watching.cancel()
    assert seen[:3] == [False, True, False]


async def test_a_bug_met_while_asking_comes_to_light() -> None:
    async def check() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await watch(Dependency("redis", "pages wait"), check)
