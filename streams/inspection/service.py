"""The process in which a worker has pages inspected: an HTTP server at a socket file, which only it reads.

It is told its settings on standard input, says in a line on standard output whether it is ready, and ends
when its standard input does, as it does when the worker ends.
"""

import asyncio
import os
import pickle
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from dehusk.schemas.documents import Origin
from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.streams.inspection.desk import Desk
from dehusk.streams.inspection.inspection import Inspection
from dehusk.streams.inspection.requests import DOCUMENTS, PASTES, POSITIONS, READY
from dehusk.streams.inspection.server import restrict, routes
from dehusk.streams.printable import printable
from dehusk.streams.settings import MIB
from dehusk.streams.worker.settings import WorkerSettings

_PAGES = "/pages/{name:[A-Za-z0-9_-]+}/"
_CHOOSER = "../../"
_MOST_BYTES = 1024 * MIB
"""Memory of this process, beside that of its own one which takes pages apart."""
_NICE = 10
_OOM_SCORE = 1000
"""If the machine has no memory left, this process is the one to go."""
_CLOSING_SECONDS = 1.0


def application(desk: Desk, max_bytes: int) -> web.Application:
    """What answers the worker."""

    def find(request: web.Request) -> Inspection:
        inspection = desk.find(request.match_info["name"])
        if inspection is None:
            raise web.HTTPNotFound(text="the page is not open any more: inspect it once more\n")
        return inspection

    async def position(request: web.Request) -> web.Response:
        wanted = _position(request)
        return await _opened(desk.open_position(wanted, request.query.get("url")))

    async def document(request: web.Request) -> web.Response:
        return await _opened(desk.open_url(request.query.get("url", "")))

    async def paste(request: web.Request) -> web.Response:
        return await _opened(desk.open_pasted(await request.read()))

    pages = web.Application(client_max_size=max_bytes)
    pages.on_response_prepare.append(restrict)
    pages.add_routes(routes(find, _PAGES, _CHOOSER))
    handlers = {POSITIONS: position, DOCUMENTS: document, PASTES: paste}
    pages.add_routes([web.post(path, handler) for path, handler in handlers.items()])
    return pages


def _position(request: web.Request) -> Origin:
    """The position that a request names.

    Raises:
        web.HTTPBadRequest: it is none.
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
    _stand_back()
    try:
        asyncio.run(_serve(settings, Path(sys.argv[1])))
    except ConfigurationError as error:
        print(printable(str(error)), flush=True)  # noqa: T201 the worker reads it
        return 1
    return 0


def _stand_back() -> None:
    """Leave processors and memory to the worker, where both want them."""
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(str(_OOM_SCORE))


async def _serve(settings: WorkerSettings, socket: Path) -> None:
    async with Desk(settings) as desk, _listening(application(desk, settings.page.max_bytes), socket):
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
