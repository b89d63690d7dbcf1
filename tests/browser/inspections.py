"""Inspections of pages, as they are served."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

from dehusk.schemas.pages import RawPage
from dehusk.streams.inspection.inspection import (
    Inspection,
    Labelers,
    list_choices,
    open_inspector_pool,
    open_page,
)
from dehusk.streams.inspection.server import application
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.registry import SourceSettings
from dehusk.streams.web.local_pages import serving
from dehusk.streams.worker_settings import WorkerSettings


@asynccontextmanager
async def inspecting(html: bytes, *, unchanged: bool = False) -> AsyncIterator[str]:
    """The address of the inspector of a page, by the rules at first.

    Args:
        html: the page.
        unchanged: whether it is shown as it is, and not made harmless.
    """
    labelers = Labelers(list_choices(WorkerSettings(labeler="rules")))
    page = RawPage("https://example.org/a", html)
    async with (
        open_inspector_pool("auto", SourceSettings(), PageLimits()) as pool,
        aclosing(labelers),
    ):
        opened, original = await open_page(page, pool)
        inspection = Inspection(opened, html.decode() if unchanged else original, pool, labelers)
        async with serving(application(inspection, "127.0.0.1"), "127.0.0.1", 0) as address:
            yield address
