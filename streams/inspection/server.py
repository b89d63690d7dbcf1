"""The inspector on the loopback interface: its page, and the views that it asks for."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from dehusk.streams import local_pages
from dehusk.streams.inspection.html import html, policy
from dehusk.streams.inspection.inspection import Inspection
from dehusk.streams.local_pages import HEADERS, own_names_only

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
    async with local_pages.serving(application(inspection, host), host, port) as address:
        yield address


def application(inspection: Inspection, host: str) -> web.Application:
    """What answers browsers, as long as they ask for the inspector by its own name."""
    pages = web.Application(middlewares=[own_names_only(host, "the inspector")])
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
    response.headers.update(HEADERS)
    response.headers["Content-Security-Policy"] = f"{policy(is_served=True)}; frame-ancestors 'none'"
