"""Web pages of the inspector within a worker: its latest documents and drops, and their inspections."""

import logging
from pathlib import Path
from urllib.parse import urlsplit

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from dehusk.schemas.documents import Origin
from dehusk.streams.inspection.server import DOCUMENTS, PASTES, POSITIONS
from dehusk.streams.monitoring.drops import Drop
from dehusk.streams.web.local_pages import is_loopback
from dehusk.streams.worker.inspector.inspector import Inspector
from dehusk.streams.worker.monitoring.drops import DropLog, Published
from dehusk.streams.worker_settings import MonitoringSettings, WorkerSettings

_FILES = Path(__file__).with_name("static")
_PAGE = (_FILES / "index.html").read_text(encoding="utf-8")
_HARMLESS = frozenset(("/inspect/", "/inspect/static/inspect.js", "/inspect/static/inspect.css"))
"""Paths without work or data, which links of other sites may lead to."""
_OWN = frozenset(("same-origin", "none"))
"""Values of `Sec-Fetch-Site` for requests of these pages, or of their user."""
_log = logging.getLogger(__name__)


def reason_disabled(settings: MonitoringSettings) -> str | None:
    """Return why the inspector is off; None if it is on."""
    if not settings.inspector:
        return "--no-inspector is set"
    if settings.token is None and not is_loopback(settings.host):
        return f"everyone who reaches {settings.host} could use it; --monitoring-token has it ask for a token"
    return None


def require_same_origin(request: web.Request) -> None:
    """Refuse requests from pages of other sites.

    Raises:
        web.HTTPForbidden: the headers name another site.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    is_own = site is None or (site in _OWN and (request.method != "POST" or site == "same-origin"))
    if origin is not None and site is None:  # as in requests of browsers over plain HTTP to other hosts
        is_own = urlsplit(origin).netloc == request.headers.get("Host")
    if not is_own:
        raise web.HTTPForbidden(text="another site may not have pages inspected\n")


def inspector_pages(
    settings: WorkerSettings, drops: DropLog, inspector: Inspector | None = None
) -> web.Application:
    """Return the application to mount at `/inspect`; if the inspector is off, it responds with the reason."""
    reason = reason_disabled(settings.monitoring)
    if reason is not None:
        if settings.monitoring.inspector:
            _log.info("the page inspector is off: %s", reason)
        return _disabled_pages(reason)
    return _enabled_pages(settings, drops, inspector or Inspector(settings))


def _disabled_pages(reason: str) -> web.Application:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(text=f"the page inspector is off: {reason}\n", status=403)

    pages = web.Application()
    pages.router.add_route("*", "/{path:.*}", refuse)
    return pages


def _enabled_pages(settings: WorkerSettings, drops: DropLog, inspector: Inspector) -> web.Application:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in _HARMLESS:
            require_same_origin(request)
        return await handler(request)

    pages = web.Application(middlewares=[guard])
    pages.cleanup_ctx.append(inspector.running)
    pages.on_shutdown.append(inspector.close)
    pages.add_routes(_listing_routes(settings, drops))
    pages.add_routes(_inspection_routes(drops, inspector))
    pages.router.add_static("/static/", _FILES)
    return pages


def _listing_routes(settings: WorkerSettings, drops: DropLog) -> list[web.RouteDef]:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text=_PAGE, content_type="text/html")

    async def recent(_: web.Request) -> web.Response:
        fields = {
            "documents": drops.documents,
            "skipped": drops.skipped,
            "dead_letters": drops.dead_letters,
            "topics": {"input": settings.topics.input, "output": settings.topics.output},
            "max_bytes": settings.page.max_bytes,
        }
        return web.Response(body=orjson.dumps(fields), content_type="application/json")

    return [web.get("/", page), web.get("/recent", recent)]


def _inspection_routes(drops: DropLog, inspector: Inspector) -> list[web.RouteDef]:
    async def forward(request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/inspect")
        return await inspector.answer(request, path, request.query)

    async def document(request: web.Request) -> web.StreamResponse:
        url = request.query.get("url", "")
        position = latest_position(drops, url)
        if position is None:
            return await forward(request)
        query = {
            "topic": position.topic,
            "partition": str(position.partition),
            "offset": str(position.offset),
        }
        return await inspector.answer(request, POSITIONS, {**query, "url": url})

    return [
        web.post(POSITIONS, forward),
        web.post(DOCUMENTS, document),
        web.post(PASTES, forward),
        web.get(r"/pages/{name:[\w-]+}/", forward),
        web.get(r"/pages/{name:[\w-]+}/views/{number:\d{1,4}}", forward),
        web.post(r"/pages/{name:[\w-]+}/styles", forward),
    ]


def latest_position(drops: DropLog, url: str) -> Origin | None:
    """Return the position of the latest message with a URL among the latest pages."""
    reasons = [*drops.skipped.values(), *drops.dead_letters.values()]
    latest: list[Published | Drop] = [*drops.documents, *(drop for each in reasons for drop in each.latest)]
    matches = [page for page in latest if page.url == url]
    return max(matches, key=lambda page: page.time).source if matches else None
