"""A page in Chromium, and all that it did."""

from contextlib import suppress
from dataclasses import dataclass, field

from playwright.async_api import BrowserContext, CDPSession, Dialog, Error, Frame, Page

ANIMATION_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass
class Visit:
    """A page, which reaches nothing but servers of this machine."""

    page: Page
    address: str
    """Address of the server; it ends with a slash."""
    elsewhere: list[str]
    """Requests to other machines, in vain."""
    messages: list[str] = field(default_factory=list)
    """Messages of the console: warnings and errors."""
    dialogs: list[str] = field(default_factory=list)
    navigations: list[str] = field(default_factory=list)
    """URLs that the page itself was led to."""
    requests: list[str] = field(default_factory=list)

    async def watch(self) -> None:
        """Note what the page does from now on."""
        page = self.page
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("framenavigated", self._follow)
        page.context.on("page", lambda opened: self.navigations.append(opened.url))

    async def open(self, path: str = "") -> None:
        """Go to a page of the server."""
        await self.page.goto(self.address + path)

    async def leave(self) -> None:
        """Close the page before its server ends, which fails the requests that a page has open."""
        await self.page.close()

    async def drawn(self) -> None:
        """Wait until the page has been drawn as it is now."""
        await self.page.evaluate(ANIMATION_FRAMES)

    async def devtools(self) -> CDPSession:
        """Chromium's own tools for the page."""
        return await self.page.context.new_cdp_session(self.page)

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("warning", "error"):
            self.messages.append(text)

    async def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        with suppress(Error):  # it closes by itself where its page goes
            await dialog.dismiss()

    def _follow(self, frame: Frame) -> None:
        if frame == self.page.main_frame:
            self.navigations.append(frame.url)


async def visit(context: BrowserContext, address: str, elsewhere: list[str]) -> Visit:
    """A visit of a server that has not begun."""
    visited = Visit(await context.new_page(), address, elsewhere)
    await visited.watch()
    return visited
