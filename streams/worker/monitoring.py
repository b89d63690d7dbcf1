"""The pages by which a worker is watched, on the loopback interface unless told otherwise.

`/` is a report in text, `/report` the same as JSON; `/healthz`, or `/livez`, says whether the worker makes
progress or has a reason to wait, `/readyz` whether it has its partitions and all dependencies are there, and
`/metrics` is for Prometheus.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import orjson
from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.log import server_logger
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.worker.progress import Report
from dehusk.streams.worker.settings import MonitoringSettings


async def check_port(settings: MonitoringSettings) -> None:
    """See whether the pages can be served, before there is anything to report.

    Raises:
        ConfigurationError: the port is taken.
    """
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
) -> AsyncIterator[str]:
    """The pages' address, while they are served; `stall` says what stands still, if anything does.

    Raises:
        ConfigurationError: the port is taken.
    """
    server_logger.addFilter(_is_no_malformed_request)
    runner = web.AppRunner(_pages(registry, report, stall), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.host, settings.port)
        with _port_named(settings):
            await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
    finally:
        await runner.cleanup()


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


def _pages(
    registry: CollectorRegistry, report: Callable[[], Report], stall: Callable[[], str | None]
) -> web.Application:
    async def overview(_: web.Request) -> web.Response:
        return web.Response(text=f"{report()}\n", headers={"Refresh": "2"})

    async def as_json(_: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(report()), content_type="application/json")

    async def health(_: web.Request) -> web.Response:
        reason = stall()
        return web.Response(text=f"{reason or 'ok'}\n", status=503 if reason else 200)

    async def readiness(_: web.Request) -> web.Response:
        hindrances = report().hindrances
        return web.Response(text=f"{'; '.join(hindrances) or 'ok'}\n", status=503 if hindrances else 200)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    pages = web.Application()
    pages.router.add_get("/", overview)
    pages.router.add_get("/report", as_json)
    pages.router.add_get("/healthz", health)
    pages.router.add_get("/livez", health)
    pages.router.add_get("/readyz", readiness)
    pages.router.add_get("/metrics", metrics)
    return pages
