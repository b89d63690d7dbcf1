"""Agent that gathers the stream's events."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

from dehusk.schemas.pages import Message
from dehusk.streams.worker.input.app import agent
from dehusk.streams.worker.input.intake import Arrival


class Stream:
    """A stream of given events, which notes what is acknowledged."""

    def __init__(self, *events: object) -> None:
        self._events = events
        self.acknowledged: list[object] = []

    async def events(self) -> AsyncIterator[object]:
        for event in self._events:
            yield event

    async def ack(self, event: object) -> None:
        self.acknowledged.append(event)


async def test_an_event_leaves_its_value_to_the_message() -> None:
    read = SimpleNamespace(
        key=b"key", value=b"value", headers=[("a", b"b")], topic="raw", partition=3, offset=7
    )
    event = SimpleNamespace(message=read, value=b"value")
    app: Any = SimpleNamespace(consumer=SimpleNamespace(unacked={7}))
    stream, arrivals = Stream(event), list[Arrival]()

    async def put(arrival: Arrival) -> None:
        arrivals.append(arrival)

    await agent(app, put)(cast("Any", stream))
    (arrival,) = arrivals
    assert arrival.message == Message(b"key", b"value", (("a", b"b"),), "raw", 3, 7)
    assert read.value is event.value is None
    await arrival.acknowledge()
    assert stream.acknowledged == [event]
