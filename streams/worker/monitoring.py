"""The pages by which a worker is watched, on the loopback interface unless told otherwise.

`/` is the live page for browsers, kept up to date by `/events`, and a report in text for others; `/report` is
the same as JSON; `/healthz`, or `/livez`, says whether the worker makes progress or has a reason to wait,
`/readyz` whether it has its partitions and all dependencies are there, and `/metrics` is for Prometheus. At
`/inspect/`, pages can be inspected.
"""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.log import server_logger
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.loopback import is_loopback
from dehusk.streams.worker.live.access import guards, restrict
from dehusk.streams.worker.live.certificate import Certificate
from dehusk.streams.worker.live.live import Live
from dehusk.streams.worker.progress import Report
from dehusk.streams.worker.settings import MonitoringSettings

_FILES = Path(__file__).with_name("live") / "static"
_PAGE = (_FILES / "index.html").read_text(encoding="utf-8")
_log = logging.getLogger(__name__)


async def check_pages(settings: MonitoringSettings) -> None:
    """See whether the pages can be served, before there is anything to report.

    Raises:
        ConfigurationError: the port is taken, or the files of TLS cannot be used.
    """
    _certificate(settings)
    with _port_named(settings):
        server = await asyncio.get_running_loop().create_server(
            asyncio.Protocol, settings.host, settings.port, start_serving=False
        )
    server.close()


@asynccontextmanager
async def monitoring(
    settings: MonitoringSettings,
    registry: CollectorRegistry,
    report: Callable[[], Report],
    stall: Callable[[], str | None],
    live: Live,
    *,
    inspector: web.Application | None = None,
) -> AsyncIterator[str]:
    """The pages' address, while they are served; `stall` says what stands still, if anything does.

    The inspector is mounted at `/inspect`.

    Raises:
        ConfigurationError: as `check_pages`.
    """
    server_logger.addFilter(_is_no_malformed_request)
    _warn_if_open(settings)
    pages = _application(settings, registry, report, stall, live)
    if inspector is not None:
        pages.router.add_get("/inspect", _to_inspector)
        pages.add_subapp("/inspect/", inspector)
    runner = web.AppRunner(pages, access_log=None)
    await runner.setup()
    try:
        async with _tls(settings) as context:
            site = web.TCPSite(runner, settings.host, settings.port, ssl_context=context)
            with _port_named(settings):
                await site.start()
            host, port = runner.addresses[0][:2]
            yield f"{'https' if context else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _tls(settings: MonitoringSettings) -> AsyncIterator[ssl.SSLContext | None]:
    """What encrypts the pages, if anything does; renewed files are taken up meanwhile."""
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


@contextmanager
def _port_named(settings: MonitoringSettings) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {settings.host}:{settings.port}: {error}; "
            "choose another with --monitoring HOST:PORT, port 0 for any free one"
        ) from error


def _is_no_malformed_request(record: logging.LogRecord) -> bool:
    """Whether the record is not about a request that is no HTTP/1.1: any stranger may send one."""
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


def _application(
    settings: MonitoringSettings,
    registry: CollectorRegistry,
    report: Callable[[], Report],
    stall: Callable[[], str | None],
    live: Live,
) -> web.Application:
    pages = web.Application(middlewares=guards(settings.host, settings.token))
    pages.on_response_prepare.append(restrict)
    pages.on_shutdown.append(partial(_disconnect, live))
    pages.add_routes(_pages(registry, report, stall))
    pages.router.add_get("/events", live.feed.serve)
    pages.router.add_static("/live/", _FILES)
    return pages


async def _to_inspector(_: web.Request) -> web.Response:
    raise web.HTTPFound("inspect/")


async def _disconnect(live: Live, _: web.Application) -> None:
    live.feed.close()


def _pages(
    registry: CollectorRegistry, report: Callable[[], Report], stall: Callable[[], str | None]
) -> list[web.RouteDef]:
    async def overview(request: web.Request) -> web.Response:
        about_accept = {"Vary": "Accept"}
        if "text/html" in request.headers.get("Accept", ""):
            return web.Response(text=_PAGE, content_type="text/html", headers=about_accept)
        return web.Response(text=f"{report()}\n", headers=about_accept)

    async def as_json(_: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(report()), content_type="application/json")

    async def health(_: web.Request) -> web.Response:
        reason = stall()
        return web.Response(text=f"{reason or 'ok'}\n", status=503 if reason else 200)

    async def readiness(_: web.Request) -> web.Response:
        now = report()
        said = "; ".join([*(now.hindrances or ["ok"]), *now.notes])
        return web.Response(text=f"{said}\n", status=503 if now.hindrances else 200)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    return [
        web.get("/", overview),
        web.get("/report", as_json),
        web.get("/healthz", health),
        web.get("/livez", health),
        web.get("/readyz", readiness),
        web.get("/metrics", metrics),
    ]
