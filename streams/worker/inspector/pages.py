"""The pages of the inspector: the latest documents and drops, and what is inspected of them."""

import logging
from pathlib import Path

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from dehusk.schemas.documents import Origin
from dehusk.streams.inspection.requests import DOCUMENTS, PASTES, POSITIONS
from dehusk.streams.worker.drops import Drop, DropLog, DropsByReason, Made
from dehusk.streams.worker.inspector.access import require_same_origin, why_off
from dehusk.streams.worker.inspector.inspector import Inspector
from dehusk.streams.worker.settings import WorkerSettings

_FILES = Path(__file__).with_name("static")
_PAGE = (_FILES / "index.html").read_text(encoding="utf-8")
_HARMLESS = frozenset(("/inspect/", "/inspect/static/inspect.js", "/inspect/static/inspect.css"))
"""What does no work and tells nothing of pages: links may lead there from anywhere."""
_log = logging.getLogger(__name__)


def inspector_pages(
    settings: WorkerSettings, drops: DropLog, inspector: Inspector | None = None
) -> web.Application:
    """What is to be mounted at `/inspect`; where the inspector is off, it says why."""
    reason = why_off(settings.monitoring)
    if reason is not None:
        if settings.monitoring.inspector:
            _log.info("the page inspector is off: %s", reason)
        return _off(reason)
    return _on(settings, drops, inspector or Inspector(settings))


def _off(reason: str) -> web.Application:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(text=f"the page inspector is off: {reason}\n", status=403)

    pages = web.Application()
    pages.router.add_route("*", "/{path:.*}", refuse)
    return pages


def _on(settings: WorkerSettings, drops: DropLog, inspector: Inspector) -> web.Application:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in _HARMLESS:
            require_same_origin(request)
        return await handler(request)

    pages = web.Application(middlewares=[guard])
    pages.cleanup_ctx.append(inspector.running)
    pages.on_shutdown.append(inspector.close)
    pages.add_routes(_listing(settings, drops))
    pages.add_routes(_inspecting(drops, inspector))
    pages.router.add_static("/static/", _FILES)
    return pages


def _listing(settings: WorkerSettings, drops: DropLog) -> list[web.RouteDef]:
    async def page(_: web.Request) -> web.Response:
        return web.Response(text=_PAGE, content_type="text/html")

    async def recent(_: web.Request) -> web.Response:
        listed = {
            "documents": drops.documents,
            "skipped": drops.skipped,
            "dead_letters": drops.dead_letters,
            "topics": {"input": settings.topics.input, "output": settings.topics.output},
            "max_bytes": settings.page.max_bytes,
        }
        return web.Response(body=orjson.dumps(listed), content_type="application/json")

    return [web.get("/", page), web.get("/recent", recent)]


def _inspecting(drops: DropLog, inspector: Inspector) -> list[web.RouteDef]:
    async def pass_on(request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/inspect")
        return await inspector.answer(request, path, request.query)

    async def document(request: web.Request) -> web.StreamResponse:
        url = request.query.get("url", "")
        position = latest_position(drops, url)
        if position is None:
            return await pass_on(request)
        query = {
            "topic": position.topic,
            "partition": str(position.partition),
            "offset": str(position.offset),
        }
        return await inspector.answer(request, POSITIONS, {**query, "url": url})

    return [
        web.post(POSITIONS, pass_on),
        web.post(DOCUMENTS, document),
        web.post(PASTES, pass_on),
        web.get(r"/pages/{name:[\w-]+}/", pass_on),
        web.get(r"/pages/{name:[\w-]+}/views/{number:\d{1,4}}", pass_on),
    ]


def latest_position(drops: DropLog, url: str) -> Origin | None:
    """Where the latest message is that the worker remembers of a URL; None if it remembers none."""
    known: list[Made | Drop] = [*drops.documents, *_each(drops.skipped), *_each(drops.dead_letters)]
    of_url = [each for each in known if each.url == url]
    return max(of_url, key=lambda each: each.time).source if of_url else None


def _each(drops: DropsByReason) -> list[Drop]:
    return [drop for of_reason in drops.values() for drop in of_reason.latest]
