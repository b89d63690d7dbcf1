"""The inspector on the loopback interface: its page, and the views that it asks for."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.inspection.html import html, policy
from dehusk.streams.inspection.inspection import Inspection
from dehusk.streams.loopback import is_own_name

_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Find = Callable[[web.Request], Inspection]
"""The inspection that a request is for.

Raises:
    web.HTTPNotFound: there is none.
"""


@asynccontextmanager
async def serving(inspection: Inspection, host: str, port: int) -> AsyncIterator[str]:
    """The URL of the inspector while it is served; port 0 is any free one.

    Raises:
        ConfigurationError: the port is taken, or there is no such interface.
    """
    runner = web.AppRunner(application(inspection, host), access_log=None)
    await runner.setup()
    try:
        await _listen(web.TCPSite(runner, host, port), f"{host}:{port}")
        bound, chosen = runner.addresses[0][:2]
        yield f"http://{f'[{bound}]' if ':' in bound else bound}:{chosen}/"
    finally:
        await runner.cleanup()


async def _listen(site: web.TCPSite, address: str) -> None:
    try:
        await site.start()
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {address}: {error}; choose another with --listen HOST:PORT, "
            "port 0 for any free one"
        ) from error


def application(inspection: Inspection, host: str) -> web.Application:
    """What answers browsers: nothing to pages of other names, which may have been made to lead here."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not is_own_name(request.headers.get("Host", ""), host):
            raise web.HTTPMisdirectedRequest(
                text="the inspector is served under no such name; ask for localhost\n"
            )
        return await handler(request)

    pages = web.Application(middlewares=[guard])
    pages.on_response_prepare.append(restrict)
    pages.add_routes(routes(lambda _: inspection))
    return pages


def routes(find: Find, folder: str = "/", chooser: str | None = None) -> list[web.RouteDef]:
    """The page of an inspection in a folder, and its views; the chooser is where another page is chosen."""

    async def inspector(request: web.Request) -> web.Response:
        inspection = find(request)
        written = html(inspection.page, [await inspection.first_view()], is_served=True, chooser=chooser)
        return web.Response(text=written, content_type="text/html")

    async def view(request: web.Request) -> web.Response:
        inspection, number = find(request), int(request.match_info["number"])
        if number >= len(inspection):
            raise web.HTTPNotFound
        return web.Response(text=await inspection.view(number), content_type="application/json")

    return [web.get(folder, inspector), web.get(rf"{folder}views/{{number:\d{{1,4}}}}", view)]


async def restrict(_: web.Request, response: web.StreamResponse) -> None:
    """Have browsers run the inspector's own script alone, and keep nothing."""
    response.headers.update(_HEADERS)
    response.headers["Content-Security-Policy"] = f"{policy(is_served=True)}; frame-ancestors 'none'"
