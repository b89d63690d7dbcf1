"""Web server of the labeling tool: its page, the pages that are labeled, and the labels that it saves."""

import json
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from dehusk.schemas.errors import DehuskError
from dehusk.schemas.page_labels import Label
from dehusk.streams.labeling.fine_tuning import FineTuner
from dehusk.streams.labeling.session import RefusedPageError, Session, StaleLabelsError
from dehusk.streams.settings import MIB
from dehusk.streams.web.local_pages import SinglePage, embed, own_names_only

_SCRIPTS = ("state", "saving", "fine_tuning", "labels", "blocks", "picture", "pages", "keys")
_TOOL = SinglePage(f"{__package__}.page", "labeler", "dehusk label", _SCRIPTS)
_MAX_BYTES = 4 * MIB
"""Bytes of a request; enough for the page with the most blocks."""
_PAGE = r"/pages/{number:\d{1,9}}"


class _EditRequest(msgspec.Struct, frozen=True):
    """Labels of a page, and the revision that they are based on."""

    labels: list[Label]
    revision: str = ""
    replaces: bool = False


def application(session: Session, host: str, tuner: FineTuner | None = None) -> web.Application:
    """Make the tool's web application, which answers requests by its own name, and of its own page.

    It fine-tunes where there is a tuner.
    """

    async def tool(_: web.Request) -> web.Response:
        overview = {**session.overview, "tunes": tuner is not None}
        return web.Response(text=_html(overview), content_type="text/html")

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=await session.page(_number(request)), content_type="application/json")

    async def suggest(request: web.Request) -> web.Response:
        number, edit = _number(request), await _read_edit(request)
        return web.json_response({"suggestions": await session.suggest(number, edit.labels)})

    async def save(request: web.Request) -> web.Response:
        number, edit = _number(request), await _read_edit(request)
        saved = await session.save(number, edit.labels, edit.revision, replaces=edit.replaces)
        return web.json_response(saved)

    def _number(request: web.Request) -> int:
        number = int(request.match_info["number"])
        if number >= len(session):
            raise web.HTTPNotFound
        return number

    pages = web.Application(
        middlewares=[own_names_only(host, "the labeling tool"), _errors_by_status], client_max_size=_MAX_BYTES
    )
    pages.on_response_prepare.append(_TOOL.restrict)
    pages.add_routes([web.get("/", tool), web.get(_PAGE, page)])
    pages.add_routes([web.post(f"{_PAGE}/suggestions", suggest), web.post(f"{_PAGE}/labels", save)])
    if tuner is not None:
        pages.add_routes(_tuning_routes(tuner))
    return pages


def _tuning_routes(tuner: FineTuner) -> list[web.RouteDef]:
    """Return what tells of the fine-tuning, starts it and ends it."""

    async def tell(_: web.Request) -> web.Response:
        return web.json_response(tuner.overview)

    async def start(request: web.Request) -> web.Response:
        _require_own_page(request)
        tuner.start()
        return await tell(request)

    async def end(request: web.Request) -> web.Response:
        _require_own_page(request)
        await tuner.aclose()
        return await tell(request)

    return [
        web.get("/fine-tuning", tell),
        web.post("/fine-tuning", start),
        web.post("/fine-tuning/end", end),
    ]


async def _read_edit(request: web.Request) -> _EditRequest:
    """Read a request of the tool's own page.

    Raises:
        web.HTTPForbidden: it comes from another page.
        ValueError: it is not what the tool's page sends.
    """
    _require_own_page(request)
    try:
        return msgspec.json.decode(await request.read(), type=_EditRequest)
    except RecursionError as error:
        raise ValueError("the request is nested too deeply") from error


def _require_own_page(request: web.Request) -> None:
    """Check that a request comes from the tool's own page.

    Raises:
        web.HTTPForbidden: it does not.
    """
    own = f"{request.scheme}://{request.host}"
    if request.content_type != "application/json" or request.headers.get("Origin", own) != own:
        raise web.HTTPForbidden(text="requests are taken from the tool's own page alone\n")


@web.middleware
async def _errors_by_status(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer errors by their status: 409 where other labels were saved, 503 where none can be saved now."""
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


def _html(overview: dict[str, Any]) -> str:
    return _TOOL.html(is_served=True, overview=embed(json.dumps(overview)))
