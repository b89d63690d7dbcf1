"""The record of a worker."""

import asyncio
from typing import Any

import orjson
import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.worker.assembly import CleanedMessage, Document
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.state import Watched


async def test_it_records_for_as_long_as_it_runs(
    live: Live, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.worker.live.live._RECORD_SECONDS", 0.01)
    running = asyncio.create_task(live.run())
    watched.metrics.count(CleanedMessage(Message(None, b"page"), [Document(b"k", b"d", characters=2)]))
    while True:
        await asyncio.sleep(0.01)
        if state(live)["point"]["kept"] and state(live)["point"]["memory"]:
            break
    running.cancel()
    assert state(live)["state"]["counts"]["totals"]["pages"] == 1
    assert state(live)["point"]["kept"] == 0.5


def state(live: Live) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = orjson.loads(live._state_as_json(""))
    return found
