"""Waiting until workers follow."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dehusk.schemas.errors import ConfigurationError, ConflictError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.schemas.rollout import Scope
from dehusk.schemas.trials import WorkerReport
from dehusk.streams.rollout import waiting
from dehusk.streams.rollout.control import ControlKey, state_record
from dehusk.streams.rollout.transitions import first_state, promote, roll_back
from dehusk.streams.rollout.waiting import wait_for_workers
from dehusk.streams.settings import ControlTopic, KafkaSettings

SCOPE = Scope("m", "group")
START = promote(first_state("7", "me"), "7", "me")
NEXT = promote(START, "8", "me")
NOW, LONG_AGO = 0.0, -60.0
Said = tuple[Message, float]
"""A message, and how many seconds ago it was written."""


def report(worker: str, revision: int, at: float = NOW, refused: dict[str, str] | None = None) -> Said:
    value = WorkerReport(worker, revision, "7", refused=refused or {}).encode()
    return Message(ControlKey(SCOPE, worker).encode(), value), at


def state(value) -> Said:
    record = state_record(SCOPE, value)
    return Message(record.key, record.value), NOW


class Topic:
    def __init__(self, held: list[Said], coming: list[Said]) -> None:
        self._held = held
        self._coming = coming

    async def existing(self) -> AsyncIterator[tuple[Message, int]]:
        for message, at in self._held:
            yield message, int(1000 * (time.time() + at))

    async def follow(self) -> AsyncIterator[tuple[Message, int]]:
        for message, at in self._coming:
            yield message, int(1000 * (time.time() + at))
        raise TimeoutError


async def waited(monkeypatch: pytest.MonkeyPatch, held: list[Said], coming: list[Said]) -> list[str]:
    @asynccontextmanager
    async def opened(_kafka, _topic):
        yield Topic(held, coming)

    monkeypatch.setattr(waiting, "open_topics", opened)
    reports = await wait_for_workers(ControlTopic(KafkaSettings(), "control"), SCOPE, NEXT, 60)
    return [each.worker for each in reports]


async def test_all_workers_that_are_there_have_to_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [state(START), report("a", 1), report("b", 1), report("gone", 1, LONG_AGO), state(NEXT)]
    assert await waited(monkeypatch, held, [report("a", 2), report("b", 2)]) == ["a", "b"]
    assert await waited(monkeypatch, [*held, report("a", 2), report("b", 2)], []) == ["a", "b"]


async def test_who_does_not_follow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnavailableError, match="do not follow it yet: b"):
        await waited(monkeypatch, [report("a", 1), report("b", 1), state(NEXT)], [report("a", 2)])
    with pytest.raises(UnavailableError, match="no worker reports at all"):
        await waited(monkeypatch, [state(NEXT)], [])


async def test_a_worker_that_refuses_the_version_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = report("a", 2, refused={"8": "no such version"})
    with pytest.raises(ConfigurationError, match=r"worker a .* 8: no such version"):
        await waited(monkeypatch, [report("a", 1), state(NEXT)], [refusing])


async def test_a_worker_that_has_followed_what_the_topic_has_lost_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigurationError, match=r"emptied .* until they are restarted: b$"):
        await waited(monkeypatch, [state(NEXT), report("a", 2), report("b", 25)], [])


async def test_a_version_that_is_taken_back_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    back = roll_back(NEXT, "worker a", "no-probabilities")
    with pytest.raises(ConflictError, match=r"worker a .* no-probabilities"):
        await waited(monkeypatch, [report("a", 1), state(NEXT)], [report("a", 1), state(back)])
