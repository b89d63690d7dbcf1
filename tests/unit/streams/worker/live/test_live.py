"""The record of a worker."""

import asyncio
import time
from typing import Any

import orjson
import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.group.figures import SharedState
from dehusk.streams.group.group import Group
from dehusk.streams.group.messages import state_record
from dehusk.streams.worker.assembly import CleanedMessage, Document
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.live.recorder import Recorder
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


def state(live: Live, of: str = "") -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(live._state_as_json(of))
    return found


def history(live: Live, of: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(live._history_as_json(of))
    return found


@pytest.fixture
def group() -> Group:
    return Group("g", "me")


@pytest.fixture
def member(watched: Watched, group: Group) -> Live:
    """A worker that knows its group."""
    return Live(Recorder(watched.metrics, lambda: 0, lambda: None), watched, group)


def tell(group: Group, worker: str, live: Live, page: str | None = None) -> None:
    shared = SharedState("host", page, live.state)
    record = state_record("g", worker, shared)
    group.handle(Message(record.key, record.value), int(1000 * time.time()))


def test_without_a_group_the_worker_alone_is_shown(live: Live) -> None:
    for of in ("", "group", "somebody"):
        assert (state(live, of)["of"], state(live, of)["group"]) == ("worker", None)
        assert history(live, of)["of"] == "worker"


def test_the_group_is_shown_once_something_is_known_of_it(member: Live, group: Group) -> None:
    assert state(member, "group")["of"] == "me"
    for worker in ("me", "other"):
        tell(group, worker, member)
    shown = state(member, "group")
    assert (shown["of"], shown["own"], shown["group"]["name"]) == ("group", "me", "g")
    assert [row["worker"] for row in shown["group"]["workers"]] == ["me", "other"]
    assert history(member, "group")["of"] == "group"


@pytest.mark.parametrize("wanted", ["me", "other"])
def test_a_worker_of_the_group_can_be_chosen(member: Live, group: Group, wanted: str) -> None:
    for worker in ("me", "other"):
        tell(group, worker, member)
    assert state(member, wanted)["of"] == history(member, wanted)["of"] == wanted
    assert bool(history(member, wanted)["points"]) == (wanted == "me")


def test_a_worker_that_nobody_knows_is_none(member: Live, group: Group) -> None:
    tell(group, "me", member)
    for of in ("nobody", "", "<script>"):
        assert state(member, of)["of"] == "group"


def test_a_worker_that_hears_nothing_shows_itself(
    member: Live, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(group, "me", member)
    monkeypatch.setattr("dehusk.streams.group.group._MISSED_SECONDS", -1.0)
    shown = state(member, "group")
    assert shown["of"] == "me"
    assert shown["group"]["silent_since"] <= time.time()
