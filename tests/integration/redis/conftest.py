"""Redis servers of a test alone, with options of its own, that may be killed, frozen, moved and filled."""

import asyncio
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from redis import Redis
from redis.exceptions import RedisError

from dehusk.schemas.sites import SiteObservation
from dehusk.streams.local.folder import LOOPBACK
from dehusk.streams.local.redis import find_redis
from dehusk.streams.settings import RedisSettings
from dehusk.streams.sites.redis_store import RedisSiteStatistics
from tests.integration.conftest import ANSWER_SECONDS
from tests.integration.redis_cluster import node_ports

PATIENCE = 30.0


class Server:
    """A Redis server on a port of its own, which a restart keeps, like its folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.port = node_ports(1)[0]
        folder.mkdir()
        basic = ("--port", str(self.port), "--bind", LOOPBACK, "--dir", str(folder), "--save", "")
        self._command = [str(find_redis()), *basic, *options]

    @property
    def url(self) -> str:
        return f"redis://{LOOPBACK}:{self.port}/0"

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        with self.client() as client:
            wait_until(client.ping)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def client(self) -> Redis:
        return Redis(host=LOOPBACK, port=self.port)


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for a condition; an error of Redis is none yet."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(RedisError):
            if condition():
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def until() -> Callable[..., None]:
    """Waits for a condition."""
    return wait_until


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server with options of redis-server; all are killed after the test."""
    started: list[Server] = []

    def start_one(*options: str) -> Server:
        started.append(Server(tmp_path / f"redis-{len(started)}", *options))
        started[-1].start()
        return started[-1]

    yield start_one
    for server in started:
        server.thaw()
        server.kill()


@pytest.fixture
def opened() -> Callable[..., object]:
    """Opens a store on a server, or of settings, in an `async with`."""

    @asynccontextmanager
    async def open_store(
        where: Server | RedisSettings, *bounds: object
    ) -> AsyncIterator[RedisSiteStatistics]:
        if isinstance(where, Server):
            where = RedisSettings(where.url, timeout=ANSWER_SECONDS)
        store = RedisSiteStatistics(where, *bounds)
        try:
            yield store
        finally:
            await store.close()

    return open_store


@pytest.fixture
def page() -> Callable[..., SiteObservation]:
    """Makes a page of blocks with these texts and one of its own, all in one structure."""

    def make(site: str, name: object, *shared: int) -> SiteObservation:
        texts = [*shared, crc32(f"/{name}".encode())]
        structures = np.zeros(len(texts), np.uint64)
        likely = np.full(len(texts), 0.5, np.float32)
        return SiteObservation(
            site, f"/{name}", np.array(texts, np.uint64), structures, likely, chosen=likely > 0.5
        )

    return make


class Relay:
    """A port in front of a server, which may lead to another one from some moment on."""

    def __init__(self, target: Server) -> None:
        self.target = target
        self._connections: set[asyncio.Task[None]] = set()

    async def serve(self, **options: object) -> None:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0, **options)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(asyncio.current_task())
        there, back = await asyncio.open_connection(LOOPBACK, self.target.port)
        try:
            await asyncio.gather(self._pass_on(reader, back), self._pass_on(there, writer))
        finally:
            back.close()
            writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()


@pytest.fixture
async def relay() -> AsyncIterator[Callable[..., object]]:
    """Makes a relay in front of a server; options are those of `asyncio.start_server`, such as `ssl`."""
    made: list[Relay] = []

    async def make(target: Server, **options: object) -> Relay:
        made.append(Relay(target))
        await made[-1].serve(**options)
        return made[-1]

    yield make
    for each in made:
        await each.close()
