"""Web pages of the inspector: an inspected page, and the views of it by each labeler."""

from collections.abc import Callable, Sequence

from aiohttp import web

from dehusk.streams.inspection.inspection import Inspection
from dehusk.streams.inspection.style_sheets import Fetch, fetch_style_sheets
from dehusk.streams.web.local_pages import SinglePage, embed, own_names_only

_PAGE = SinglePage(__package__, "inspector", "dehusk inspect")
restrict = _PAGE.restrict
_STYLES_BUTTON = '<button type="button" id="styles" disabled>Load its style sheets</button>'
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
    styles = _STYLES_BUTTON if is_served else ""
    return _PAGE.html(is_served=is_served, chooser=link, styles=styles, page=embed(page), views=all_views)


Find = Callable[[web.Request], Inspection]
"""Finder of the inspection of a request.

Raises:
    web.HTTPNotFound: there is none.
"""


def application(inspection: Inspection, host: str, fetch: Fetch = fetch_style_sheets) -> web.Application:
    """Make the inspector's web application, which answers requests by its own name."""
    pages = web.Application(middlewares=[own_names_only(host, "the inspector")])
    pages.on_response_prepare.append(restrict)
    pages.add_routes(routes(lambda _: inspection, fetch=fetch))
    return pages


def routes(
    find: Find, folder: str = "/", chooser: str | None = None, fetch: Fetch = fetch_style_sheets
) -> list[web.RouteDef]:
    """Return the routes of the page of an inspection in a folder, of its views, and of its style sheets."""

    async def inspector(request: web.Request) -> web.Response:
        inspection = find(request)
        written = html(inspection.page, [await inspection.first_view()], is_served=True, chooser=chooser)
        return web.Response(text=written, content_type="text/html")

    async def view(request: web.Request) -> web.Response:
        inspection, number = find(request), int(request.match_info["number"])
        if number >= len(inspection):
            raise web.HTTPNotFound
        return web.Response(text=await inspection.view(number), content_type="application/json")

    async def styles(request: web.Request) -> web.Response:
        if request.content_type != "application/json":  # another site's page may not send that unasked
            raise web.HTTPForbidden(text="style sheets are loaded for the inspector's own page alone\n")
        loaded = await find(request).style_sheets(fetch)
        return web.Response(text=loaded, content_type="application/json")

    return [
        web.get(folder, inspector),
        web.get(rf"{folder}views/{{number:\d{{1,4}}}}", view),
        web.post(f"{folder}styles", styles),
    ]
