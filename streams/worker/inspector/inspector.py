"""Process that inspects pages, and requests to it: one at a time, bounded in number, size and time.

`streams.inspection.service` is the program of the process.
"""

import asyncio
import logging
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from multiprocessing.util import get_temp_dir
from pathlib import Path

import aiohttp
from aiohttp import web

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.inspection.server import READY
from dehusk.streams.preparation.pool import claim_folder
from dehusk.streams.wording import printable
from dehusk.streams.worker_settings import WorkerSettings

_SERVICE = "dehusk.streams.inspection.service"
MAX_WAITING = 4
"""Requests that wait while another one is handled."""
_START_SECONDS = 60.0
_END_SECONDS = 3.0
_SECONDS = 90.0
"""Time limit of a page, for all its steps."""
_SEND_SECONDS = 60.0
_IDLE_SECONDS = 300.0
_CHUNK_BYTES = 256 * 1024
_FORWARDED = (
    "Content-Type",
    "Content-Security-Policy",
    "Cache-Control",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
)
"""Headers of the process's responses that are passed on."""
_log = logging.getLogger(__name__)


class InspectorProcess:
    """Process that handles one request at a time; it starts with the first one, and again after its end."""

    def __init__(self, settings: WorkerSettings, module: str = _SERVICE) -> None:
        self._settings = settings
        self._module = module
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._folder: Path | None = None
        self._logging: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Its process identifier while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def session(self) -> aiohttp.ClientSession:
        """Return the session for requests to the process, which is started if it does not run.

        Raises:
            UnavailableError: it does not start; the message says why.
        """
        if self._closed:
            raise UnavailableError("the worker stops")
        if self.pid is None or self._session is None:
            await self.kill()
            try:
                self._session = await self._start()
            except OSError as error:  # no room for its folder, or no process may be started
                raise UnavailableError(f"the inspector does not start: {error.strerror}") from error
        return self._session

    async def end(self) -> None:
        """Let the process end by itself, or kill it after some seconds."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """Kill the process and its children."""
        if self._session is not None:
            await self._session.close()
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        if self._logging is not None:
            await self._logging
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._process = self._session = self._folder = self._logging = None

    async def close(self) -> None:
        """Kill the process, and start no other one."""
        self._closed = True
        await self.kill()

    async def _start(self) -> aiohttp.ClientSession:
        claim_folder()  # so that the next worker removes it if this one is killed
        self._folder = Path(tempfile.mkdtemp(prefix="inspector-", dir=get_temp_dir()))
        socket = self._folder / "socket"
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", self._module, str(socket)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C in a terminal reaches the worker alone
        )
        self._logging = asyncio.create_task(_log_lines(self._process.stderr))
        await self._await_readiness(self._process)
        return aiohttp.ClientSession(
            "http://inspector",
            connector=aiohttp.UnixConnector(str(socket)),
            timeout=aiohttp.ClientTimeout(),
            auto_decompress=False,
        )

    async def _await_readiness(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None  # noqa: S101 it is a pipe
        assert process.stdout is not None  # noqa: S101 it is a pipe
        line, unsaid = b"", "its log has the reason"
        try:
            with suppress(ConnectionError):
                async with asyncio.timeout(_START_SECONDS):
                    process.stdin.write(pickle.dumps(self._settings))
                    await process.stdin.drain()
                    line = await process.stdout.readline()
        except TimeoutError:
            unsaid = f"it was not ready within {_START_SECONDS:g} s"
        if line != READY:
            await self.kill()
            reason = printable(line.decode("utf-8", "replace").strip()) or unsaid
            raise UnavailableError(f"the inspector does not start: {reason}")


async def _log_lines(stream: asyncio.StreamReader | None) -> None:
    """Log the lines of a stream, except overlong ones."""
    while stream is not None and not stream.at_eof():
        try:
            line = await stream.readline()
        except ValueError:  # it is too long
            continue
        if line.strip():
            _log.warning("the inspector says: %s", printable(line.decode("utf-8", "replace").rstrip()[:1000]))


class BusyError(Exception):
    """Too many requests wait already."""


class Turns:
    """Bounded queue of requests, which take turns in order."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        """Lock of the request whose turn it is."""
        self._pending = 0
        self._since = time.monotonic()

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request left; 0 while there is one."""
        return 0.0 if self._pending else time.monotonic() - self._since

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place in the queue, from the arrival of a request to its end.

        Raises:
            BusyError: too many wait.
        """
        if self._pending > MAX_WAITING:
            raise BusyError
        self._pending += 1
        try:
            yield
        finally:
            self._pending -= 1
            self._since = time.monotonic()


class Inspector:
    """Proxy of the process, which ends after five minutes without requests."""

    def __init__(
        self, settings: WorkerSettings, seconds: float = _SECONDS, idle_seconds: float = _IDLE_SECONDS
    ) -> None:
        self.process = InspectorProcess(settings)
        self._max_bytes = settings.page.max_bytes
        self._seconds = seconds
        self._idle_seconds = idle_seconds
        self._turns = Turns()

    async def running(self, _: web.Application) -> AsyncIterator[None]:
        """End the process whenever it is idle, while the application runs."""
        ending = asyncio.create_task(self._end_when_idle())
        yield
        ending.cancel()
        await asyncio.wait([ending])

    async def close(self, _: web.Application) -> None:
        """Kill the process; its request gets no answer."""
        await self.process.close()

    async def answer(
        self, request: web.Request, path: str, query: Mapping[str, str] | None = None
    ) -> web.StreamResponse:
        """Forward a request to the process; respond with the reason if that fails."""
        try:
            with self._turns.place():
                return await self._answer(request, path, query or {})
        except BusyError:
            text = "others wait for the inspector already: try again in a moment\n"
            return _unread(web.Response(text=text, status=503, headers={"Retry-After": "10"}))

    async def _answer(self, request: web.Request, path: str, query: Mapping[str, str]) -> web.StreamResponse:
        if (request.content_length or 0) > self._max_bytes:
            return self._too_large()
        try:
            async with asyncio.timeout(self._seconds):
                body = await self._read_body(request)
        except TimeoutError:
            return _error_response(408, f"the page did not come within {self._seconds:g} s")
        except ConnectionError:
            return _error_response(400, "the page did not come whole")  # which nobody gets
        if body is None:
            return self._too_large()
        async with self._turns.turn:
            return await self._forward(request, body, path, query)

    async def _forward(
        self, request: web.Request, body: bytes, path: str, query: Mapping[str, str]
    ) -> web.StreamResponse:
        """Forward a request within its timeout; sending the response has another one."""
        answer: aiohttp.ClientResponse | None = None
        try:
            async with asyncio.timeout(self._seconds):
                session = await self.process.session()
                headers = {"Content-Type": request.content_type}
                answer = await session.request(
                    request.method, path, params=query, data=BytesIO(body), headers=headers
                )
        except TimeoutError:
            await self.process.kill()
            return _error_response(504, f"the inspection took longer than {self._seconds:g} s")
        except UnavailableError as error:
            return _error_response(503, str(error))
        except aiohttp.ClientError:
            await self.process.kill()
            return _error_response(502, "the process that inspects pages died; the next page has a new one")
        async with answer:
            return await _relay(request, answer)

    async def _read_body(self, request: web.Request) -> bytes | None:
        """Read the body of a request; None if it is larger than a page may be."""
        body = bytearray()
        async for chunk in request.content.iter_chunked(_CHUNK_BYTES):
            body += chunk
            if len(body) > self._max_bytes:
                return None
        return bytes(body)

    def _too_large(self) -> web.Response:
        text = f"a page may have {self._max_bytes:,} bytes (--max-page-mib)"
        return _unread(_error_response(413, text))

    async def _end_when_idle(self) -> None:
        while True:
            await asyncio.sleep(self._idle_seconds / 10)
            if self.process.pid is not None and self._turns.idle_seconds > self._idle_seconds:
                with self._turns.place():
                    async with self._turns.turn:
                        await self.process.end()


async def _relay(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    headers = {name: answer.headers[name] for name in _FORWARDED if name in answer.headers}
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


def _error_response(status: int, text: str) -> web.Response:
    return web.Response(text=f"{text}\n", status=status)


def _unread(response: web.Response) -> web.Response:
    """Close the connection behind a response, so that the rest of the request need not be read."""
    response.force_close()
    return response
