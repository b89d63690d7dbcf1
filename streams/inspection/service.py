"""Process in which a worker has pages inspected: an HTTP server at a socket file of the worker.

It reads its settings from standard input, and writes a line to standard output once it is ready. It ends when
its standard input does, as that ends with the worker.
"""

import asyncio
import os
import pickle
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import cast

from aiohttp import web

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import ConfigurationError, DehuskError, ExtractionError, UnavailableError
from dehusk.schemas.pages import Message
from dehusk.streams.heap import limit_data
from dehusk.streams.inspection.inspection import (
    Inspection,
    Labelers,
    inspect,
    list_choices,
    open_inspector_pool,
)
from dehusk.streams.inspection.lookup import Lookup, describe_message, open_lookup, page_in
from dehusk.streams.inspection.server import DOCUMENTS, PASTES, POSITIONS, READY, restrict, routes
from dehusk.streams.inspection.steps import Pasting
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.settings import MIB
from dehusk.streams.sources.source import Decoded
from dehusk.streams.wording import printable
from dehusk.streams.worker_settings import WorkerSettings

_MAX_OPEN = 4
"""A huge page takes some 100 MB."""
_NAME_BYTES = 16


class InspectionStore:
    """The last few inspections, each under a name that cannot be guessed.

    All methods but `find` raise what `inspect`, `Lookup` and `page_in` raise.
    """

    def __init__(
        self, settings: WorkerSettings, pool: PreparationPool, labelers: Labelers, resources: AsyncExitStack
    ) -> None:
        self._settings = settings
        self._pool = pool
        self._labelers = labelers
        self._resources = resources
        self._inspections: dict[str, Inspection] = {}
        self._lookup: Lookup | None = None

    def find(self, name: str) -> Inspection | None:
        """Return the inspection of this name, if it is still open."""
        return self._inspections.get(name)

    async def open_position(self, position: Origin, url: str | None = None) -> str:
        """Inspect the page at a position in a topic of the worker; return the inspection's name."""
        return await self._open_message(await (await self._opened_lookup()).message_at(position), url)

    async def open_url(self, url: str) -> str:
        """Inspect the page whose document has this URL; return the inspection's name."""
        return await self._open_message(await (await self._opened_lookup()).message_of(url), url)

    async def open_pasted(self, html: bytes) -> str:
        """Inspect HTML in UTF-8; return the inspection's name."""
        page = await self._pool.answer_alone(Pasting(html, self._settings.page.max_bytes))
        return await self._open(cast("Decoded", page))

    async def _open_message(self, message: Message, url: str | None) -> str:
        try:
            return await self._open(await page_in(message, url, self._pool))
        except ExtractionError as error:
            raise ExtractionError(error.reason, f"{error.message}; {describe_message(message)}") from error

    async def _open(self, page: Decoded) -> str:
        inspection = await inspect(page, self._pool, self._labelers)
        name = secrets.token_urlsafe(_NAME_BYTES)
        self._inspections[name] = inspection
        if len(self._inspections) > _MAX_OPEN:
            del self._inspections[next(iter(self._inspections))]
        return name

    async def _opened_lookup(self) -> Lookup:
        if self._lookup is None:
            self._lookup = await self._resources.enter_async_context(open_lookup(self._settings))
        return self._lookup


_PAGES = "/pages/{name:[A-Za-z0-9_-]+}/"
_CHOOSER = "../../"
_MAX_BYTES = 1024 * MIB
"""Memory of this process; the one that it starts to prepare pages has its own limit."""
_NICE = 10
_OOM_SCORE = 1000
"""Linux kills this process first if the machine has no memory left."""
_CLOSING_SECONDS = 1.0


def application(store: InspectionStore, max_bytes: int) -> web.Application:
    """Make the web application that answers the worker."""

    def find(request: web.Request) -> Inspection:
        inspection = store.find(request.match_info["name"])
        if inspection is None:
            raise web.HTTPNotFound(text="the page is not open any more: inspect it once more\n")
        return inspection

    async def position(request: web.Request) -> web.Response:
        position = _position(request)
        return await _opened(store.open_position(position, request.query.get("url")))

    async def document(request: web.Request) -> web.Response:
        return await _opened(store.open_url(request.query.get("url", "")))

    async def paste(request: web.Request) -> web.Response:
        return await _opened(store.open_pasted(await request.read()))

    pages = web.Application(client_max_size=max_bytes)
    pages.on_response_prepare.append(restrict)
    pages.add_routes(routes(find, _PAGES, _CHOOSER))
    handlers = {POSITIONS: position, DOCUMENTS: document, PASTES: paste}
    pages.add_routes([web.post(path, handler) for path, handler in handlers.items()])
    return pages


def _position(request: web.Request) -> Origin:
    """Read the position that a request names.

    Raises:
        web.HTTPBadRequest: it names none.
    """
    query = request.query
    numbers = [query.get(name, "") for name in ("partition", "offset")]
    if not query.get("topic") or not all(each.isascii() and each.isdigit() for each in numbers):
        raise web.HTTPBadRequest(text="a position is a topic and the numbers of a partition and an offset\n")
    return Origin(query["topic"], *(min(int(each), sys.maxsize) for each in numbers))


async def _opened(opening: Awaitable[str]) -> web.Response:
    try:
        name = await opening
    except DehuskError as error:
        status = 503 if isinstance(error, UnavailableError) else 422
        return web.Response(text=f"{printable(str(error))}\n", status=status)
    return web.json_response({"page": f"pages/{name}/"}, status=201)


def main() -> int:
    """Serve inspections until standard input ends."""
    settings: WorkerSettings = pickle.load(sys.stdin.buffer)  # noqa: S301 the worker wrote it
    _yield_resources()
    try:
        asyncio.run(_serve(settings, Path(sys.argv[1])))
    except ConfigurationError as error:
        print(printable(str(error)), flush=True)  # noqa: T201 the worker reads it
        return 1
    return 0


def _yield_resources() -> None:
    """Let the worker come first where both want processors or memory."""
    os.nice(_NICE)
    limit_data(_MAX_BYTES)
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(str(_OOM_SCORE))


async def _serve(settings: WorkerSettings, socket: Path) -> None:
    async with (
        aclosing(Labelers(list_choices(settings))) as labelers,
        open_inspector_pool(settings) as pool,
        AsyncExitStack() as resources,
        _listening(
            application(InspectionStore(settings, pool, labelers, resources), settings.page.max_bytes),
            socket,
        ),
    ):
        sys.stdout.buffer.write(READY)
        sys.stdout.buffer.flush()
        await _end_of_input()


@asynccontextmanager
async def _listening(pages: web.Application, socket: Path) -> AsyncIterator[None]:
    runner = web.AppRunner(pages, access_log=None, shutdown_timeout=_CLOSING_SECONDS)
    await runner.setup()
    try:
        await web.UnixSite(runner, socket).start()
        yield
    finally:
        await runner.cleanup()


async def _end_of_input() -> None:
    reader = asyncio.StreamReader()
    protocol: Callable[[], asyncio.Protocol] = lambda: asyncio.StreamReaderProtocol(reader)  # noqa: E731
    await asyncio.get_running_loop().connect_read_pipe(protocol, sys.stdin)
    await reader.read()


if __name__ == "__main__":
    sys.exit(main())
