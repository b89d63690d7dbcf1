"""Sessions of labeling, as they are served, and a hand that labels."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from pathlib import Path

from playwright.async_api import FrameLocator, Page, expect

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.pages import RawPage
from dehusk.streams.inspection.inspection import open_inspector_pool
from dehusk.streams.labeling.fine_tuning import FineTuner, Training
from dehusk.streams.labeling.labels_file import open_labels_file
from dehusk.streams.labeling.server import application
from dehusk.streams.labeling.session import Session
from dehusk.streams.labeling.store import Outcome, open_store
from dehusk.streams.settings import PageLimits
from dehusk.streams.web.local_pages import serving
from dehusk.streams.worker_settings import WorkerSettings
from tests.browser.visits import Visit

SAVED = re.compile(r"^(saved \d\d:\d\d:\d\d|the saved labels were taken)$")
"""Texts of a page without unsaved labels; Playwright would trim "saved ", and find it in file names."""
Point = tuple[float, float]


class UnchangedSession(Session):
    """Shows pages as they are, and not made harmless."""

    async def page(self, number: int) -> str:
        """As `Session.page`."""
        page = self._store.page(number)
        assert page is not None
        return json.dumps({**json.loads(await super().page(number)), "original": page.html.decode()})


@asynccontextmanager
async def labeling(
    pages: Sequence[Outcome], labels: Path, kind: type[Session] = Session, training: Training | None = None
) -> AsyncIterator[str]:
    """The address of the tool, whose suggestions are those of the rules; it fine-tunes where it can."""
    settings = WorkerSettings(page=PageLimits(max_blocks=20_000))
    async with open_inspector_pool(settings) as pool:
        with open_store(pages) as store, open_labels_file(labels) as file:
            session = kind(store, file, pool, RulesLabeler())
            tuner = training and FineTuner(training, session, store, file)
            served = serving(application(session, "127.0.0.1", tuner), "127.0.0.1", 0)
            async with aclosing(tuner) if tuner else nullcontext(), served as address:
                yield address


def pages_of(*bodies: str) -> list[RawPage]:
    """Pages with these bodies, named by their numbers."""
    return [
        RawPage(
            f"https://example.org/{number}", f"<title>Page {number}</title><body>{body}".encode(), str(number)
        )
        for number, body in enumerate(bodies, 1)
    ]


async def opened(visit: Visit, number: int = 1) -> FrameLocator:
    """The frame of a page of the tool, once it is shown."""
    await visit.open(f"#{number}")
    await expect(visit.page.locator("#about")).to_contain_text(f"Page {number} of")
    await expect(visit.page.locator("#counts")).to_contain_text("block")
    return visit.page.frame_locator("#picture iframe")


async def saved(page: Page, labels: Path, name: str = "1") -> list[int | None] | None:
    """The labels of a page in the file, once the tool says that all are saved; None where it has none."""
    await expect(page.locator("#saved")).to_have_text(SAVED)
    found = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]  # noqa: ASYNC240
    return next((line["labels"] for line in reversed(found) if line["id"] == name), None)


async def stroke(page: Page, *points: Point) -> None:
    """Move the mouse with its button held down.

    Chromium's own tools tell it so: Playwright's wait, while a button is down, for scripts in every frame.
    """
    tools = await page.context.new_cdp_session(page)

    async def send(kind: str, point: Point, buttons: int) -> None:
        mouse = {"type": kind, "x": point[0], "y": point[1], "button": "left", "clickCount": 1}
        await tools.send("Input.dispatchMouseEvent", {**mouse, "buttons": buttons})

    await send("mousePressed", points[0], 1)
    for point in points[1:]:
        await send("mouseMoved", point, 1)
    await send("mouseReleased", points[-1], 0)
