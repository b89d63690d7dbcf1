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
from dehusk.streams.inspection.original import ShownPage
from dehusk.streams.inspection.server import application
from dehusk.streams.inspection.style_sheets import Fetch, fetch_style_sheets
from dehusk.streams.web.local_pages import serving
from dehusk.streams.worker_settings import WorkerSettings

RULES = WorkerSettings(labeler="rules")


@asynccontextmanager
async def inspecting(
    html: bytes,
    *,
    unchanged: bool = False,
    fetch: Fetch = fetch_style_sheets,
    settings: WorkerSettings = RULES,
) -> AsyncIterator[str]:
    """The address of the inspector of a page.

    Args:
        html: the page.
        unchanged: whether it is shown as it is, and not made harmless.
        fetch: the loader of its style sheets.
        settings: those of the labeler at first.
    """
    labelers = Labelers(list_choices(settings))
    page = RawPage("https://example.org/a", html)
    async with (
        open_inspector_pool(WorkerSettings()) as pool,
        aclosing(labelers),
    ):
        opened, shown = await open_page(page, pool)
        inspection = Inspection(
            page, opened, ShownPage(html.decode()) if unchanged else shown, pool, labelers
        )
        pages = application(inspection, "127.0.0.1", fetch)
        async with serving(pages, "127.0.0.1", 0) as address:
            yield address
