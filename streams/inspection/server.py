"""Web pages of the inspector: an inspected page, and the views of it by each labeler."""

from collections.abc import Callable, Sequence

from aiohttp import web

from dehusk.streams.inspection.inspection import Inspection
from dehusk.streams.web.local_pages import SinglePage, embed, own_names_only

_PAGE = SinglePage(__package__, "inspector")
restrict = _PAGE.restrict
READY = b"ready\n"
"""Line that the inspector's process writes once it answers."""
POSITIONS, DOCUMENTS, PASTES = "/positions", "/documents", "/pastes"
"""Paths to which inspections are posted; the answer is JSON, `{"page": "pages/NAME/"}`."""


def html(page: str, views: Sequence[str], *, is_served: bool, chooser: str | None = None) -> str:
    """Return the inspector as HTML; it asks the server for the views that it does not hold.

    Args:
        page: the inspected page as JSON.
        views: its first views, each as JSON.
        is_served: is True if a server has the other views.
        chooser: a link to where another page can be chosen.
    """
    link = "" if chooser is None else f'<a id="chooser" href="{chooser}">Inspect another page</a>'
    all_views = embed(f"[{','.join(views)}]")
    return _PAGE.html(is_served=is_served, chooser=link, page=embed(page), views=all_views)


Find = Callable[[web.Request], Inspection]
"""Finder of the inspection of a request.

Raises:
    web.HTTPNotFound: there is none.
"""


def application(inspection: Inspection, host: str) -> web.Application:
    """Make the inspector's web application, which answers requests by its own name."""
    pages = web.Application(middlewares=[own_names_only(host, "the inspector")])
    pages.on_response_prepare.append(restrict)
    pages.add_routes(routes(lambda _: inspection))
    return pages


def routes(find: Find, folder: str = "/", chooser: str | None = None) -> list[web.RouteDef]:
    """Return the routes of the page of an inspection in a folder, and of its views."""

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
