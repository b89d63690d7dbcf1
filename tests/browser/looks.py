"""Looks and reach of a page, as its own browser says it."""

from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

_SCRIPT = Path(__file__).with_name("looks.js").read_text("utf-8")


async def faint_texts(page: Page) -> list[str]:
    """Visible texts whose contrast is less than WCAG asks for at level AA, with their ratio."""
    seen = await _ask(page, "faint")
    assert seen["measured"] > 10
    return list(seen["found"])


async def tabbed_through(page: Page) -> tuple[int, int, bool]:
    """Count the elements to focus and those that Tab reaches, and tell if each shows it."""
    await page.evaluate("() => document.activeElement?.blur()")
    there = await _ask(page, "focusable")
    reached, visible = set(), True
    for _ in range(there + 2):
        await page.keyboard.press("Tab")
        focus = await _ask(page, "focus")
        if focus is not None:
            reached.add(focus["number"])
            visible = visible and focus["outline"]
    return there, len(reached), visible


async def too_wide(page: Page) -> list[str]:
    """Find what stands out of the window on the right; empty without horizontal scrolling.

    A page that is resized draws its charts anew a moment later.
    """
    wide = ["unknown"]
    for _ in range(100):
        width = await page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        wide = list(await _ask(page, "wide")) + ([f"the page by {width} pixels"] if width > 0 else [])
        if not wide:
            break
        await page.wait_for_timeout(50)
    return wide


async def has_focus(element: Locator) -> bool:
    """Tell if an element is the one that keys go to."""
    return bool(await element.evaluate("element => element === document.activeElement"))


async def _ask(page: Page, function: str) -> Any:
    return await page.evaluate(f"() => {{ {_SCRIPT} return {function}(); }}")
