"""Fixtures that the tests of the worker's steps share."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dehusk.schemas.pages import Message
from dehusk.streams import availability
from dehusk.streams.worker.results import CleanedMessage, Headers


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials follow each other at once."""
    monkeypatch.setattr(availability, "MAX_BACK_OFF", 0.0)


class NotedTrace:
    """The trace of a batch and of its messages, which notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str | int] = []
        """Steps, the offsets of messages, and the end."""
        self.batch = self

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self.told.append(f"begin {name}")
        yield
        self.told.append(name)

    def message(self, message: Message) -> "NotedTrace":
        return self

    def headers(self, message: Message) -> Headers:
        return ()

    def end(self, cleaned: CleanedMessage | None = None) -> None:
        self.told.append("end" if cleaned is None else cleaned.message.offset)


@pytest.fixture
def trace() -> NotedTrace:
    """The trace of one batch."""
    return NotedTrace()
