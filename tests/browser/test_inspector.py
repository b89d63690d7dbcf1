"""The inspector, in a browser: hostile pages, keys, looks."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from dehusk.streams.inspection.style_sheets import StyleSheet
from dehusk.streams.settings import TritonSettings
from dehusk.streams.worker.inspector import routes
from dehusk.streams.worker.monitoring import web as monitoring_pages
from dehusk.streams.worker_settings import WorkerSettings
from tests.browser.conftest import Visiting
from tests.browser.hostile_pages import HOSTILE, WORDS, hostile_page
from tests.browser.inspections import inspecting
from tests.browser.looks import faint_texts, has_focus, tabbed_through, too_wide
from tests.browser.visits import Visit
from tests.unit.streams.models import graphs

pytestmark = pytest.mark.asyncio(loop_scope="session")
Scheme = Literal["light", "dark"]
OF_PLAYWRIGHT = "Blocked script execution in 'about:srcdoc'"
"""Message of Chromium about the listeners that Playwright itself puts into the frame."""
COMPARED = re.compile(r"differs? from \S+\.$")
PAGE = f"""<title>A page</title><nav><a href=/>Home</a> <a href=/b>Another</a></nav><h1>A page</h1>
<p>{WORDS}</p><ul><li>one</li><li>two</li></ul><table><tr><th>a</th><td>b</td></tr></table>
<div class=comments><p>A comment: {WORDS}</p></div><p hidden>{WORDS}</p><footer>Imprint</footer>""".encode()


@pytest_asyncio.fixture(loop_scope="session")
async def shown(visiting: Visiting) -> AsyncIterator[Visit]:
    """The inspector of a page."""
    async with inspecting(PAGE) as address:
        visit = await visiting(address)
        await visit.open()
        await expect(visit.page.locator("#status")).to_contain_text("content from")
        yield visit
        await visit.leave()
    assert visit.elsewhere == []
    assert [said for said in visit.messages if not is_expected(said)] == []


@pytest.mark.parametrize("name", HOSTILE)
async def test_nothing_of_a_page_runs_loads_or_leads_away(visiting: Visiting, name: str) -> None:
    async with inspecting(hostile_page(name)) as address:
        visit = await visiting(address)
        await visit.open()
        await expect(visit.page.locator("#status")).to_contain_text("content")
        await use(visit.page)
        await visit.drawn()
        assert await hits(visit.page) == 0
        await visit.leave()
    assert visit.elsewhere == []
    assert visit.dialogs == []
    assert visit.navigations == [address]
    own = [url for url in visit.requests if url.startswith(address)]
    assert own == [address, f"{address}views/1"]
    assert [said for said in visit.messages if not is_expected(said)] == []
    assert await visit.page.context.cookies() == []


@pytest.mark.parametrize("name", HOSTILE)
async def test_the_frame_of_a_page_would_hold_it_alone(visiting: Visiting, name: str) -> None:
    async with inspecting(hostile_page(name), unchanged=True) as address:
        visit = await visiting(address)
        await visit.open()
        await expect(visit.page.locator("#status")).to_contain_text("content from")
        await click_all_over(visit.page)
        await visit.drawn()
        assert await visit.page.evaluate("() => window.HIT ?? 0") == 0
        await visit.leave()
    assert visit.elsewhere == []
    assert visit.dialogs == []
    assert visit.navigations == [address]
    assert await visit.page.context.cookies() == []


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_browser_does_what_such_a_page_tries(visiting: Visiting, name: str) -> None:
    address = "http://page.test/"
    visit = await visiting(address)
    await visit.page.route(
        address, lambda route: route.fulfill(content_type="text/html", body=hostile_page(name))
    )
    await visit.open()
    if name == "addresses":
        await visit.page.locator("a").first.click()
    async with asyncio.timeout(60):
        while not (visit.elsewhere or visit.dialogs):
            await visit.page.wait_for_timeout(50)


def is_expected(said: str) -> bool:
    """Tell if the browser says that it refused what a page's styles or pictures, or Playwright, asked for."""
    return "violates the following Content Security Policy directive" in said or said.startswith(
        OF_PLAYWRIGHT
    )


async def use(page: Page) -> None:
    """Look at all that there is, and click on all of the page."""
    for tab in ("text", "markdown", "comments", "original"):
        await page.locator(f"#tab-{tab}").click()
    frame = page.frame_locator("#original iframe")
    await expect(frame.locator("h1")).to_have_text("Title")
    await page.evaluate(
        "() => { for (const each of document.querySelectorAll('[data-block]')) each.click(); }"
    )
    await page.locator("#tab-original").click()
    await click_all_over(page)
    await page.locator("#other").select_option("1")
    await expect(page.locator("#status")).to_have_text(COMPARED)


async def click_all_over(page: Page) -> None:
    """Click on the page as it looked wherever something may be."""
    box = await page.locator("#original iframe").bounding_box()
    assert box is not None
    for row, column in product(range(10, int(box["height"]), 25), range(10, int(box["width"]), 90)):
        await page.mouse.click(box["x"] + column, box["y"] + row)


async def hits(page: Page) -> int:
    """Count the documents that a script of the page has reached."""
    return sum([int(await frame.evaluate("() => window.HIT ?? 0")) for frame in page.frames])


async def test_the_page_as_readers_see_it_says_what_became_of_each_block(shown: Visit) -> None:
    page, details = shown.page, shown.page.locator("#details")
    frame = page.frame_locator("#original iframe")
    await expect(page.locator("#original")).to_be_visible()
    await frame.get_by_text("Home").hover()
    await expect(details.locator("strong")).to_have_text("Block 1 of 10: boilerplate")
    await expect(details).to_contain_text(re.compile(r"content \d+\.\d %"))
    await expect(details).to_contain_text("Left out: it does not reach")
    title = frame.locator("h1 span")
    await title.click()
    await expect(details).to_contain_text("Block 2 of 10: content")
    await expect(title).to_have_css("outline", "rgb(122, 61, 240) solid 3px")
    await expect(page.locator("#text .current")).to_have_text("A page")
    await page.locator("header h1").hover()
    await page.keyboard.press("ArrowDown")
    await expect(details).to_contain_text("Block 3 of 10")
    await expect(title).to_have_css("outline-width", "1px")
    await page.locator("#text .piece").first.click()
    await expect(title).to_have_css("outline-width", "3px")


async def test_a_block_that_readers_do_not_see_is_found_in_the_list(shown: Visit) -> None:
    page = shown.page
    await page.locator("#tab-blocks").click()
    await page.locator("#blocks .secret").click()
    await page.locator("#tab-original").click()
    await page.evaluate("() => select(shown.current, 'page')")
    await expect(page.locator("#blocks .secret.current")).to_be_in_viewport()


async def test_style_sheets_are_loaded_on_request_and_not_by_the_browser(visiting: Visiting) -> None:
    asked: list[str] = []

    async def fetch(urls: Sequence[str]) -> list[StyleSheet]:
        asked.extend(urls)
        evil = "@import url(//evil.test/x.css);</style><script>top.HIT=1</script>"
        return [
            StyleSheet(urls[0], f"{evil}h1{{background:url(//evil.test/i)}}h1{{color:rgb(1,2,3)}}"),
            StyleSheet(urls[1], error="its server answers with the status 404"),
        ]

    html = b"<link rel=stylesheet href=/a.css><link rel=stylesheet href=//cdn.test/b>" + PAGE
    async with inspecting(html, fetch=fetch) as address:
        visit = await visiting(address)
        await visit.open()
        title = visit.page.frame_locator("#original iframe").locator("h1")
        await expect(title).to_have_css("color", "rgb(0, 0, 0)")
        await expect(visit.page.locator("#status")).to_contain_text("content from")
        await visit.page.locator("#styles").click()
        await expect(title).to_have_css("color", "rgb(1, 2, 3)")
        await expect(visit.page.locator("#status")).to_have_text(
            "1 of 2 style sheets loaded. https://cdn.test/b: its server answers with the status 404"
        )
        await visit.drawn()
        assert await hits(visit.page) == 0
        await visit.leave()
    assert asked == ["https://example.org/a.css", "https://cdn.test/b"]
    assert visit.elsewhere == []
    own = [url.removeprefix(address) for url in visit.requests if url.startswith(address)]
    assert own == ["", "styles"]


async def test_the_kind_of_a_page_stands_beside_its_content(visiting: Visiting, tmp_path: Path) -> None:
    for name, content in (("kinds", graphs.with_kinds()), ("other", graphs.without_kinds())):
        graphs.write_version(tmp_path / name / "1", content)
    triton = TritonSettings(model="kinds")
    settings = WorkerSettings(labeler="onnx", triton=triton, model_repository=tmp_path)
    async with inspecting(b"<p>one<p>two<p>three<p>four", settings=settings) as address:
        visit = await visiting(address)
        await visit.open()
        status = visit.page.locator("#status")
        await expect(status).to_contain_text(re.compile(r"^kinds/1 .* on; listing, 76\.0 %$"))
        await visit.page.locator("#labeler").select_option("other/1 (onnx)")
        await expect(status).to_contain_text(re.compile(r"^other/1 .* content from [0-9.]+ on$"))
        await visit.leave()


async def test_blocks_are_walked_by_keys(shown: Visit) -> None:
    page = shown.page
    await page.locator("#tab-blocks").click()
    first = page.locator("#blocks [data-block='0']")
    await first.focus()
    await page.keyboard.press("ArrowDown")
    assert await has_focus(page.locator("#blocks [data-block='1']"))
    await expect(page.locator("#details strong")).to_contain_text("Block 2 of")
    await page.keyboard.press("ArrowUp")
    assert await has_focus(first)


async def test_enter_leads_to_the_text_of_a_block(shown: Visit) -> None:
    await shown.page.locator("#tab-blocks").click()
    block = shown.page.locator("#blocks .block.content").first
    await block.focus()
    await shown.page.keyboard.press("Enter")
    number = await block.get_attribute("data-block")
    await expect(shown.page.locator(f"#text [data-block='{number}']")).to_contain_class("piece current")


async def test_tabs_are_changed_by_keys(shown: Visit) -> None:
    page = shown.page
    await page.locator("#tab-original").focus()
    await page.keyboard.press("ArrowRight")
    assert await has_focus(page.locator("#tab-blocks"))
    await expect(page.locator("#blocks")).to_be_visible()
    await page.keyboard.press("ArrowRight")
    await expect(page.locator("#original")).to_be_visible()


async def test_n_goes_to_the_next_difference(shown: Visit) -> None:
    page = shown.page
    await page.locator("#other").select_option("1")
    await expect(page.locator("#next")).to_be_enabled()
    await page.locator("#tab-blocks").click()
    await page.keyboard.press("n")
    await expect(page.locator("#blocks .block.flipped.current")).to_be_focused()


async def test_all_is_reached_by_the_keyboard(shown: Visit) -> None:
    there, reached, visible = await tabbed_through(shown.page)
    assert there > 5
    assert reached == there
    assert visible


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_can_be_read(shown: Visit, scheme: Scheme) -> None:
    await shown.page.emulate_media(color_scheme=scheme)
    await shown.page.locator("#tab-blocks").click()
    await shown.page.locator("#blocks .content").first.click()
    await shown.page.locator("#other").select_option("1")
    await expect(shown.page.locator("#status")).to_have_text(COMPARED)
    for tab in ("text", "markdown", "comments"):
        await shown.page.locator(f"#tab-{tab}").click()
        await shown.drawn()
        assert await faint_texts(shown.page) == []


async def test_a_phone_shows_it_without_scrolling_sideways(shown: Visit) -> None:
    await shown.page.set_viewport_size({"width": 390, "height": 844})
    await shown.page.locator("#tab-blocks").click()
    await shown.page.locator("#blocks .content").first.click()
    await shown.drawn()
    assert await too_wide(shown.page) == []


@pytest.mark.parametrize("width", [390, 800, 1280])
async def test_words_of_the_latest_pages_of_a_worker_are_not_broken(browser: Browser, width: int) -> None:
    files = [Path(module.__file__).with_name("static") for module in (monitoring_pages, routes)]
    styles = [
        (files[0] / "live.css").read_text("utf-8"),
        (files[1] / "inspect.css").read_text("utf-8"),
    ]
    cells = ["document<div class=detail>dehusk/13</div>", "raw-pages/6/105", "05:59:20", "<button>Inspect"]
    row = "".join(f"<td>{cell}</td>" for cell in cells)
    url = "https://example.org/" + "a-rather-long-name-" * 12
    page = await browser.new_page(viewport={"width": width, "height": 800})
    await page.set_content(
        f"<style>{''.join(styles)}</style><main><div class=scroll><table class=words>"
        f"<tbody id=recent><tr><th scope=row>{url}</th>{row}</tr></table></div></main>"
    )
    lines = await page.evaluate("""() => [...document.querySelectorAll("td")].flatMap((cell) => {
        const range = document.createRange();
        const texts = [...cell.childNodes].map((node) => node.firstChild || node);
        return texts.map((text) => { range.selectNodeContents(text); return range.getClientRects().length; });
    })""")
    assert lines == [1] * 5
    assert await too_wide(page) == []
    await page.close()
