"""What the tests of the worker's steps share."""

import pytest


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials follow each other at once."""
    monkeypatch.setattr("dehusk.streams.worker.backoff._LONGEST", 0.0)
