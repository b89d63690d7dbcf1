"""The labeling tool on the loopback interface: its page, what that shows, and the labels that it saves."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from dehusk.schemas.errors import DehuskError
from dehusk.streams import local_pages
from dehusk.streams.labeling.session import RefusedPageError, Session, StaleLabelsError
from dehusk.streams.local_pages import HEADERS, embedded, filled, own_names_only, page_policy
from dehusk.streams.settings import MIB

_FILES = files(__package__)
_MOST_BYTES = 4 * MIB
"""Of a request: labels of a page with the most blocks."""
_PAGE = r"/pages/{number:\d{1,9}}"


@asynccontextmanager
async def serving(session: Session, host: str, port: int) -> AsyncIterator[str]:
    """The URL of the tool while it is served; port 0 is any free one.

    Raises:
        ConfigurationError: the port is taken, or there is no such interface.
    """
    async with local_pages.serving(application(session, host), host, port) as address:
        yield address


def application(session: Session, host: str) -> web.Application:
    """What answers browsers, as long as they ask for the tool by its own name, and from its own page."""

    async def tool(_: web.Request) -> web.Response:
        return web.Response(text=html(session.overview), content_type="text/html")

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=await session.page(_number(request)), content_type="application/json")

    async def suggest(request: web.Request) -> web.Response:
        number, asked = _number(request), await _asked(request)
        return web.json_response({"suggestions": await session.suggest(number, asked["labels"])})

    async def save(request: web.Request) -> web.Response:
        number, asked = _number(request), await _asked(request)
        replaces = asked.get("replaces") is True
        saved = await session.save(number, asked["labels"], asked["revision"], replaces=replaces)
        return web.json_response(saved)

    def _number(request: web.Request) -> int:
        number = int(request.match_info["number"])
        if number >= len(session):
            raise web.HTTPNotFound
        return number

    pages = web.Application(
        middlewares=[own_names_only(host, "the labeling tool"), _told_apart], client_max_size=_MOST_BYTES
    )
    pages.on_response_prepare.append(_restrict)
    pages.add_routes([web.get("/", tool), web.get(_PAGE, page)])
    pages.add_routes([web.post(f"{_PAGE}/suggestions", suggest), web.post(f"{_PAGE}/labels", save)])
    return pages


async def _asked(request: web.Request) -> dict[str, Any]:
    """What a request of the tool's own page asks.

    Raises:
        web.HTTPForbidden: it comes from another page.
        ValueError: it is not what the tool's page sends.
    """
    own = f"{request.scheme}://{request.host}"
    if request.content_type != "application/json" or request.headers.get("Origin", own) != own:
        raise web.HTTPForbidden(text="labels are taken from the tool's own page alone\n")
    asked = json.loads(await request.read())
    if not isinstance(asked, dict) or not isinstance(asked.get("labels"), list):
        raise ValueError("it is no object with labels")  # noqa: TRY004 as for labels that do not fit
    if not isinstance(asked.get("revision", ""), str):
        raise ValueError("the revision is no text")  # noqa: TRY004 likewise
    return {"revision": "", **asked}


@web.middleware
async def _told_apart(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Errors by their status: 409 where other labels were saved, 503 where none can be saved now."""
    try:
        return await handler(request)
    except ValueError as error:
        return web.Response(status=400, text=str(error))
    except StaleLabelsError as error:
        return web.Response(status=409, text=str(error))
    except RefusedPageError as error:
        return web.Response(status=422, text=str(error))
    except DehuskError as error:
        return web.Response(status=503, text=str(error))


def html(overview: dict[str, Any]) -> str:
    """The tool's own page: one file of HTML with its script, its style and the list of pages."""
    parts = {
        "policy": _policy(),
        "style": _read("labeler.css"),
        "overview": embedded(json.dumps(overview)),
        "script": _read("labeler.js"),
    }
    return filled(_read("labeler.html"), parts)


async def _restrict(_: web.Request, response: web.StreamResponse) -> None:
    """Have browsers run the tool's own script alone, and keep nothing."""
    response.headers.update(HEADERS)
    response.headers["Content-Security-Policy"] = f"{_policy()}; frame-ancestors 'none'"


def _policy() -> str:
    return page_policy(_read("labeler.js"), is_served=True)


def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text("utf-8")
