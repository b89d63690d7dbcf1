"""Monitoring pages of a worker, on the loopback interface by default.

- `/`: the live page for browsers, kept up to date by `/events`; a line of text for others
- `/report`: the state as JSON
- `/healthz`, `/livez`: 200 while the worker makes progress or has a reason to wait
- `/readyz`: 200 while it has its partitions and all dependencies answer, in some seconds
- `/metrics`: for Prometheus
- `/inspect/`: the page inspector
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.log import server_logger
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from dehusk.streams.web.access import Certificate, guards
from dehusk.streams.web.local_pages import is_loopback, listening, restrict_browsers, serving
from dehusk.streams.worker.monitoring.live import Live
from dehusk.streams.worker.monitoring.monitor import Monitor
from dehusk.streams.worker_settings import MonitoringSettings

_FILES = Path(__file__).with_name("static")
_PAGE = (_FILES / "index.html").read_text(encoding="utf-8")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
_ADVICE = "choose another with --monitoring HOST:PORT, port 0 for any free one"
_log = logging.getLogger(__name__)


async def check_pages(settings: MonitoringSettings) -> None:
    """Check that the pages can be served, before there is anything to report.

    Raises:
        ConfigurationError: the port is taken, or the files of TLS cannot be used.
    """
    _certificate(settings)
    with listening(f"{settings.host}:{settings.port}", _ADVICE):
        server = await asyncio.get_running_loop().create_server(
            asyncio.Protocol, settings.host, settings.port, start_serving=False
        )
    server.close()


@asynccontextmanager
async def monitoring(
    settings: MonitoringSettings,
    live: Live,
    stall: Callable[[], str | None],
    *,
    inspector: web.Application | None = None,
) -> AsyncIterator[str]:
    """Serve the pages, and yield their address.

    Args:
        settings: where they are served, and to whom.
        live: the worker.
        stall: returns the description of a stall; None without one.
        inspector: application to mount at `/inspect`.

    Raises:
        ConfigurationError: as `check_pages`.
    """
    server_logger.addFilter(_is_no_malformed_request)
    _warn_if_open(settings)
    pages = _create_application(settings, live, stall)
    if inspector is not None:
        pages.router.add_get("/inspect", _redirect_to_inspector)
        pages.add_subapp("/inspect/", inspector)
    async with (
        _tls(settings) as context,
        serving(pages, settings.host, settings.port, tls=context, advice=_ADVICE) as address,
    ):
        yield address


@asynccontextmanager
async def _tls(settings: MonitoringSettings) -> AsyncIterator[ssl.SSLContext | None]:
    """Open the TLS context of the pages, if there is one; renewed files are loaded while it is open."""
    certificate = _certificate(settings)
    if certificate is None:
        yield None
        return
    following = asyncio.create_task(certificate.follow())
    try:
        yield certificate.context
    finally:
        following.cancel()


def _certificate(settings: MonitoringSettings) -> Certificate | None:
    if settings.certificate_file is None or settings.key_file is None:
        return None
    return Certificate(settings.certificate_file, settings.key_file)


def _is_no_malformed_request(record: logging.LogRecord) -> bool:
    """Return False for log records of malformed requests, which any stranger may send."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


def _warn_if_open(settings: MonitoringSettings) -> None:
    if settings.token is None and not is_loopback(settings.host):
        _log.warning(
            "the monitoring pages at %s:%s, which show URLs of pages, are open to everyone who reaches that "
            "address; --monitoring-token has them ask for a token",
            settings.host,
            settings.port,
        )


def _create_application(
    settings: MonitoringSettings, live: Live, stall: Callable[[], str | None]
) -> web.Application:
    pages = web.Application(middlewares=guards(settings.host, settings.token))
    pages.on_response_prepare.append(restrict_browsers(_POLICY, caching="no-cache"))
    pages.on_shutdown.append(partial(_disconnect, live))
    pages.add_routes(_routes(live.monitor, stall))
    pages.router.add_get("/events", live.feed.serve, allow_head=False)
    pages.router.add_static("/live/", _FILES)
    return pages


async def _redirect_to_inspector(_: web.Request) -> web.Response:
    raise web.HTTPFound("inspect/")


async def _disconnect(live: Live, _: web.Application) -> None:
    live.feed.close()


def _routes(monitor: Monitor, stall: Callable[[], str | None]) -> list[web.RouteDef]:
    async def overview(request: web.Request) -> web.Response:
        headers = {"Vary": "Accept"}
        if "text/html" in request.headers.get("Accept", ""):
            return web.Response(text=_PAGE, content_type="text/html", headers=headers)
        return web.Response(text=f"{monitor.describe()}\n", headers=headers)

    async def as_json(_: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(monitor.report()), content_type="application/json")

    async def health(_: web.Request) -> web.Response:
        reason = stall()
        text = reason or "; ".join(monitor.state().hindrances) or "ok"
        return web.Response(text=f"{text}\n", status=503 if reason else 200)

    async def readiness(_: web.Request) -> web.Response:
        is_ready = monitor.is_ready()
        text = "; ".join([*(["ok"] if is_ready else []), *monitor.state().hindrances, *monitor.notes()])
        return web.Response(text=f"{text}\n", status=200 if is_ready else 503)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=generate_latest(monitor.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    return [
        web.get("/", overview),
        web.get("/report", as_json),
        web.get("/healthz", health),
        web.get("/livez", health),
        web.get("/readyz", readiness),
        web.get("/metrics", metrics),
    ]
