"""Faust's recovery, by which the partitions of a rebalance are read."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from unittest.mock import AsyncMock

import pytest
from faust.types import TP

from dehusk.streams.settings import TopicSettings
from dehusk.streams.worker.input.app import FaustApp
from dehusk.streams.worker_settings import WorkerSettings
from tests.unit.streams.worker.input.apps import idle_app

PARTITION = TP("raw", 0)


@pytest.fixture
async def app(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaustApp]:
    """An app that has a partition, and whose requests to Kafka have no time."""
    made = idle_app(WorkerSettings(topics=TopicSettings(input="raw")), partitions=1)
    monkeypatch.setattr(type(made.conf), "broker_request_timeout", 0.01)
    monkeypatch.setattr(made.consumer, "assignment", lambda: {PARTITION})
    monkeypatch.setattr(made._fetcher, "maybe_start", AsyncMock())
    yield made
    made.consumer._thread.thread_loop.close()


async def test_partitions_are_read_however_long_their_offsets_are_waited_for(
    app: FaustApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, is_back = asyncio.Event(), asyncio.Event()

    async def seek_back() -> Mapping[TP, int]:
        begun.set()
        await is_back.wait()
        return {PARTITION: 5}

    monkeypatch.setattr(app.consumer._thread, "seek_back", seek_back)
    app.consumer.stop_flow()
    recovery = app.tables.recovery
    await recovery.start()
    await recovery.on_rebalance({PARTITION}, set(), {PARTITION}, app.consumer_generation_id)
    async with asyncio.timeout(30):
        await begun.wait()
        await asyncio.sleep(0.1)
        is_back.set()
        await app.consumer.can_resume_flow.wait()
    await recovery.stop()
