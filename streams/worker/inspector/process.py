"""The process that inspects pages, seen from the worker; `streams.inspection.service` is its own end."""

import asyncio
import logging
import os
import pickle
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from multiprocessing.util import get_temp_dir
from pathlib import Path

import aiohttp

from dehusk.schemas.errors import UnavailableError
from dehusk.streams.inspection.requests import READY
from dehusk.streams.preparation.leftovers import claim_folder
from dehusk.streams.printable import printable
from dehusk.streams.worker.settings import WorkerSettings

_SERVICE = "dehusk.streams.inspection.service"
_START_SECONDS = 60.0
_END_SECONDS = 3.0
_log = logging.getLogger(__name__)


class InspectorProcess:
    """A process that starts when it is first asked, and again after it has ended.

    It is to be asked for one thing at a time.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._folder: Path | None = None
        self._saying: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Its process identifier while it runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    async def session(self) -> aiohttp.ClientSession:
        """What asks the process, which runs then.

        Raises:
            UnavailableError: it does not start; the message says why.
        """
        if self._closed:
            raise UnavailableError("the worker stops")
        if self.pid is None or self._session is None:
            await self.kill()
            self._session = await self._start()
        return self._session

    async def end(self) -> None:
        """Have the process end by itself, or kill it."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End the process at once, with those that it has started."""
        if self._session is not None:
            await self._session.close()
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        if self._saying is not None:
            await self._saying
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._process = self._session = self._folder = self._saying = None

    async def close(self) -> None:
        """End the process for ever."""
        self._closed = True
        await self.kill()

    async def _start(self) -> aiohttp.ClientSession:
        claim_folder()  # so that what a killed worker leaves of it is removed by another one
        self._folder = Path(tempfile.mkdtemp(prefix="inspector-", dir=get_temp_dir()))
        socket = self._folder / "socket"
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", _SERVICE, str(socket)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # so that a terminal's Ctrl-C is for the worker alone
        )
        self._saying = asyncio.create_task(_log_lines(self._process.stderr))
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
        said = b""
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(_START_SECONDS):
                process.stdin.write(pickle.dumps(self._settings))
                await process.stdin.drain()
                said = await process.stdout.readline()
        if said != READY:
            await self.kill()
            reason = printable(said.decode("utf-8", "replace").strip()) or "its log has the reason"
            raise UnavailableError(f"the inspector does not start: {reason}")


async def _log_lines(stream: asyncio.StreamReader | None) -> None:
    """Log what a process says, as far as lines have some sensible length."""
    while stream is not None and not stream.at_eof():
        try:
            line = await stream.readline()
        except ValueError:  # it is too long
            continue
        if line.strip():
            _log.warning("the inspector says: %s", printable(line.decode("utf-8", "replace").rstrip()[:1000]))
