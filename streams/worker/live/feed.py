"""Server-sent events: each client gets the last hour, then the newest state every second."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from aiohttp import web

MOST_CLIENTS = 16
_STUCK_SECONDS = 30.0
"""How long a client may take to read on until it is disconnected."""


class Feed:
    """Sends to a few clients at once; one that reads slowly misses states, and costs no memory.

    Clients say with `?of=` whom they want to see; history and state are those of what they say.
    """

    def __init__(self, history: Callable[[str], bytes], state: Callable[[str], bytes]) -> None:
        self._history = history
        self._state = state
        self._newest: dict[str, bytes] = {}
        self._changed = asyncio.Event()
        self._clients: set[asyncio.Task[object]] = set()

    def __len__(self) -> int:
        """How many clients there are."""
        return len(self._clients)

    def publish(self) -> None:
        """Have the state sent to all clients, as it is now or later, when they are ready for it."""
        self._newest.clear()
        self._changed.set()
        self._changed = asyncio.Event()

    def close(self) -> None:
        """Disconnect all clients."""
        for client in self._clients:
            client.cancel()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Send events for as long as the client is there."""
        task = asyncio.current_task()
        if task is None or len(self) >= MOST_CLIENTS:
            text = f"{MOST_CLIENTS} clients are connected already\n"
            return web.Response(text=text, status=503, headers={"Retry-After": "10"})
        self._clients.add(task)
        try:
            return await self._serve(request)
        finally:
            self._clients.discard(task)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        # a proxy that gathers an answer would hold the events back
        headers = {"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
        response = web.StreamResponse(headers=headers)
        of = request.query.get("of", "")
        with suppress(ConnectionError, TimeoutError):
            await response.prepare(request)
            await _send(response, b"history", self._history(of))
            while True:
                changed = self._changed
                await _send(response, b"state", self._now(of))
                await changed.wait()
        return response

    def _now(self, of: str) -> bytes:
        if of not in self._newest:
            self._newest[of] = self._state(of)
        return self._newest[of]


async def _send(response: web.StreamResponse, name: bytes, data: bytes) -> None:
    """Send an event, whose data have no line breaks, and wait until the client has nearly all of it.

    Raises:
        ConnectionError: the client is gone.
        TimeoutError: it does not read.
    """
    async with asyncio.timeout(_STUCK_SECONDS):
        await response.write(b"event: %b\ndata: %b\n\n" % (name, data))
