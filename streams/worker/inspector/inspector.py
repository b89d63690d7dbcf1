"""Requests to the process that inspects pages: one at a time, bounded in number, size and time."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from io import BytesIO

import aiohttp
from aiohttp import web

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.worker.inspector.process import InspectorProcess
from dehusk.streams.worker.inspector.turns import BusyError, Turns
from dehusk.streams.worker.settings import WorkerSettings

_SECONDS = 90.0
"""Which a page may take in all its steps."""
_SEND_SECONDS = 60.0
_IDLE_SECONDS = 300.0
_CHUNK_BYTES = 256 * 1024
_PASSED_ON = (
    "Content-Type",
    "Content-Security-Policy",
    "Cache-Control",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
)


class Inspector:
    """Passes requests on to the process, and ends it after some minutes without any."""

    def __init__(
        self, settings: WorkerSettings, seconds: float = _SECONDS, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self.process = InspectorProcess(settings)
        self._max_bytes = settings.page.max_bytes
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._turns = Turns()

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """End the process when it is idle, for as long as the application runs."""
        ending = asyncio.create_task(self._end_when_idle())
        yield
        ending.cancel()
        await asyncio.wait([ending])

    async def close(self, _: web.Application) -> None:
        """End the process for ever; what it works on is not answered."""
        await self.process.close()

    async def answer(
        self, request: web.Request, path: str, query: Mapping[str, str] | None = None
    ) -> web.StreamResponse:
        """What the process answers to a request, or why it does not."""
        if (request.content_length or 0) > self._max_bytes:
            return self._too_large()
        try:
            async with self._turns.turn():
                return await self._take_turn(request, path, query or {})
        except BusyError:
            text = "others wait for the inspector already: try again in a moment\n"
            return web.Response(text=text, status=503, headers={"Retry-After": "10"})

    async def _take_turn(
        self, request: web.Request, path: str, query: Mapping[str, str]
    ) -> web.StreamResponse:
        """The answer, whose work has a time, as has the way back."""
        answer: aiohttp.ClientResponse | None = None
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._body(request)
                if body is None:
                    return self._too_large()
                session = await self.process.session()
                answer = await session.request(request.method, path, params=query, data=BytesIO(body))
        except TimeoutError:
            await self.process.kill()
            return _failed(504, f"the inspection took longer than {self._seconds:g} s")
        except UnavailableError as error:
            return _failed(503, str(error))
        except aiohttp.ClientError:
            await self.process.kill()
            return _failed(502, "the process that inspects pages died; the next page has a new one")
        async with answer:
            return await _passed_on(request, answer)

    async def _body(self, request: web.Request) -> bytes | None:
        """What is sent; None where it is larger than a page may be."""
        body = bytearray()
        async for chunk in request.content.iter_chunked(_CHUNK_BYTES):
            body += chunk
            if len(body) > self._max_bytes:
                return None
        return bytes(body)

    def _too_large(self) -> web.Response:
        response = _failed(413, f"a page may have {self._max_bytes:,} bytes (--max-page-mib)")
        response.force_close()  # what is still sent need not be read
        return response

    async def _end_when_idle(self) -> None:
        while True:
            await asyncio.sleep(self._idle_seconds / 10)
            if self.process.pid is not None and self._turns.idle_seconds > self._idle_seconds:
                with suppress(BusyError):
                    async with self._turns.turn():
                        await self.process.end()


async def _passed_on(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    headers = {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers}
    response = web.StreamResponse(status=answer.status, headers=headers)
    with suppress(ConnectionError, TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(_SEND_SECONDS):
            await response.prepare(request)
            async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
                await response.write(chunk)
            await response.write_eof()
            return response
    response.force_close()
    return response


def _failed(status: int, text: str) -> web.Response:
    return web.Response(text=f"{text}\n", status=status)
