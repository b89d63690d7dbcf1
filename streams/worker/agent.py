"""The Faust agent: it hands the stream's messages over, and acknowledges none by itself."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, cast

from faust.types import AppT, EventT, StreamT

from dehusk.schemas.pages import Message
from dehusk.streams.worker.exit import fail
from dehusk.streams.worker.intake import Arrival

Stream = StreamT[bytes]
Event = EventT[bytes]
Headers = list[tuple[str, bytes | None]]
Put = Callable[[Arrival], Awaitable[None]]


def agent(app: AppT, put: Put) -> Callable[[Stream], Coroutine[Any, Any, None]]:
    """The body of an agent that reads until the worker stops."""

    async def clean(stream: Stream) -> None:
        stream.enable_acks = False
        try:
            async for event in stream.events():
                await put(_arrival(app, stream, event))
        except Exception as error:  # noqa: BLE001 Faust would go on behind the message and acknowledge it
            fail(error)

    return clean


def _arrival(app: AppT, stream: Stream, event: Event) -> Arrival:
    read = event.message
    headers = tuple(cast("Headers", read.headers or ()))
    message = Message(read.key, read.value, headers, read.topic, read.partition, read.offset)
    read.value = event.value = None  # the event lives until it is acknowledged, the value may go before
    return Arrival(message, partial(stream.ack, event), partial(app.consumer.unacked.discard, read))
