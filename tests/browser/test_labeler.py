"""The labeling tool, in a browser: clicks, strokes, keys, hostile pages, labels that cannot be saved."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.cli import label
from dehusk.streams.labeling.fine_tuning import Training
from dehusk.streams.labeling.labels_file import read_labels_file
from tests.browser.conftest import Visiting
from tests.browser.hostile_pages import HOSTILE, WORDS, hostile_page
from tests.browser.labelings import SAVED, UnchangedSession, labeling, opened, pages_of, saved, stroke
from tests.browser.looks import faint_texts, has_focus, tabbed_through, too_wide
from tests.browser.visits import Visit

pytestmark = pytest.mark.asyncio(loop_scope="session")
BODY = f"""<nav><a href=/>Home</a> <a href=/b>Another</a></nav><h1>Title</h1><p>{WORDS}</p><p>Second</p>
<p>Third</p><div hidden>Unseen</div><footer>Imprint</footer>"""
BLOCKS = ["Home Another", "Title", WORDS.strip(), "Second", "Third", "Unseen", "Imprint"]
OF_PLAYWRIGHT = "Blocked script execution in 'about:srcdoc'"
"""Message of Chromium about the listeners that Playwright itself puts into the frame."""
COVER = "position:fixed;inset:0;z-index:2147483647"
STYLES = {
    "resets": "*,*::before{outline:none!important;background:none!important;cursor:none!important;all:unset}",
    "ignores the mouse": "*{pointer-events:none!important}",
    "has no selection": "*{user-select:none!important;-webkit-user-drag:element!important}",
    "moves": "span{position:relative!important;left:90px!important;transform:rotate(2deg)!important}",
    "animates": "@keyframes a{to{outline-color:red;background:red}} span{animation:a 1s infinite}",
    "covers": f"body::after{{content:'';{COVER};background:rgba(0,0,0,.1)}}",
}
TINY = "position:absolute;width:1px;height:1px;overflow:hidden"
UNSEEN = {
    "no box": "<p style='display:none'>Text",
    "no height": "<div style='height:0;overflow:hidden'><p>Text</div>",
    "for screen readers": f"<p style='{TINY}'>Text",
    "for screen readers, clipped": f"<p style='{TINY};clip:rect(0,0,0,0)'>Text",
    "cut by a path": "<p style='position:absolute;clip-path:inset(50%)'>Text",
    "left of the page": "<p style='position:absolute;left:-9999px'>Text",
    "above the page": "<p style='position:absolute;top:-500px'>Text",
    "moved away": "<p style='transform:translateX(-200vw)'>Text",
    "indented away": "<h2 style='text-indent:-9999px;overflow:hidden'>Text</h2>",
    "invisible": "<p style='visibility:hidden'>Text",
    "transparent": "<div style='opacity:0'><p>Text</div>",
    "cut within what scrolls": "<div class=scrolls><div style='height:0;overflow:hidden'><p>Text</div></div>",
}
SEEN = {
    "far below": "<p style='margin-top:90000px'>Text",
    "far right": "<p style='position:absolute;left:5000px'>Text",
    "to be scrolled to": "<div class=scrolls><p class=below>Text</div>",
    "a box within it": "<div class=scrolls><div class=below style='overflow:hidden'><p>Text</div></div>",
    "a form": "<form class=scrolls><input name=parentElement><p class=below>Text</form>",
    "cut in part": "<div style='height:9px;overflow:hidden'><p style='margin:0'>Text</div>",
    "leftward": "<style>html{direction:rtl}</style><p style='position:absolute;left:-3000px'>Text",
}
SCROLLING = "<style>.scrolls{height:50px;overflow:auto} .below{margin-top:500px}</style>"


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


@pytest_asyncio.fixture(loop_scope="session")
async def tool(visiting: Visiting, labels: Path) -> AsyncIterator[Visit]:
    """The tool with three pages, of which the third cannot be labeled."""
    refused = Broken(BrokenReason.TOO_MANY_BLOCKS, "100,001 blocks", "https://example.org/3")
    async with labeling([*pages_of(BODY, BODY.replace("Third", "Last")), refused], labels) as address:
        visit = await visiting(address)
        await opened(visit)
        yield visit
        await visit.leave()
    assert visit.elsewhere == []
    assert [text for text in visit.messages if not text.startswith(OF_PLAYWRIGHT)] == []


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The tool with all hostile pages."""
    pages = [RawPage(f"https://evil.test/{name}", hostile_page(name), name) for name in HOSTILE]
    async with labeling(pages, tmp_path_factory.mktemp("hostile") / "labels.jsonl") as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def unchanged(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The tool with all hostile pages, shown as they are."""
    pages = [RawPage(f"https://evil.test/{name}", hostile_page(name), name) for name in HOSTILE]
    path = tmp_path_factory.mktemp("unchanged") / "labels.jsonl"
    async with labeling(pages, path, UnchangedSession) as address:
        yield address


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def styled(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, Path]]:
    """The tool with pages of all styles, and its file."""
    path = tmp_path_factory.mktemp("styled") / "labels.jsonl"
    cover = f"<div style='{COVER};pointer-events:none'></div>"
    async with labeling(
        pages_of(*(f"<style>{each}</style>{cover}{BODY}" for each in STYLES.values())), path
    ) as address:
        yield address, path


async def test_a_page_without_text_is_done_with_one_key_and_holds_up_no_other(
    visiting: Visiting, labels: Path
) -> None:
    async with labeling(pages_of("", BODY), labels) as address:
        visit = await visiting(address)
        await opened(visit)
        await expect(visit.page.locator("#blocks")).to_contain_text("nothing to label")
        for key in ("c", "b", "u"):
            await visit.page.keyboard.press(key)
        await expect(visit.page.locator("#notice")).to_be_hidden()
        await visit.page.keyboard.press("a")
        await expect(visit.page.locator("#done")).to_contain_text("1 of 2 pages labeled")
        await visit.page.keyboard.press("t")
        await expect(visit.page.locator("#title")).to_have_text("Page 2")
        await visit.page.keyboard.press("a")
        await expect(visit.page.locator("#done")).to_contain_text("2 of 2 pages labeled")
    assert [len(each.labels) for each in read_labels_file(labels).values()] == [0, len(BLOCKS)]


async def click_all_over(page: Page) -> None:
    """Click on the page wherever something may be, with either button."""
    box = await page.locator("#picture iframe").bounding_box()
    assert box is not None
    for row, column in product(range(10, int(box["height"]), 150), range(10, int(box["width"]), 350)):
        await page.mouse.click(box["x"] + column, box["y"] + row)
    await page.mouse.click(box["x"] + 20, box["y"] + 20, button="right")
    await page.mouse.click(box["x"] + 20, box["y"] + 20, button="middle")


@pytest.mark.parametrize("name", HOSTILE)
async def test_nothing_of_a_page_runs_loads_or_leads_away(
    visiting: Visiting, hostile: str, name: str
) -> None:
    visit = await visiting(hostile)
    frame = await opened(visit, 1 + list(HOSTILE).index(name))
    await expect(frame.locator("h1")).to_have_text("Title")
    await click_all_over(visit.page)
    await visit.page.locator("#block-0").click()
    await expect(visit.page.locator("#saved")).to_have_text(SAVED)
    await nothing_happened(visit)
    own = {url.removeprefix(visit.address) for url in visit.requests if url.startswith(visit.address)}
    assert {path.partition("/")[0].partition("#")[0] for path in own} == {"", "pages"}
    assert [said for said in visit.messages if "Content Security Policy" not in said] == []


@pytest.mark.parametrize("name", HOSTILE)
async def test_the_frame_of_a_page_would_hold_it_alone(visiting: Visiting, unchanged: str, name: str) -> None:
    visit = await visiting(unchanged)
    await opened(visit, 1 + list(HOSTILE).index(name))
    await click_all_over(visit.page)
    await visit.page.locator("#block-0").click()
    await expect(visit.page.locator("#saved")).to_have_text(SAVED)
    await nothing_happened(visit)


async def nothing_happened(visit: Visit) -> None:
    """See that only the tool's own page ran, and that it was not left."""
    await visit.drawn()
    assert visit.elsewhere == []
    assert visit.dialogs == []
    assert all(each.startswith(visit.address) for each in visit.navigations)
    assert await visit.page.evaluate("() => window.HIT ?? 0") == 0
    assert await visit.page.locator("#picture iframe").get_attribute("sandbox") == "allow-same-origin"
    assert await visit.page.context.cookies() == []


@pytest.mark.parametrize("style", STYLES)
async def test_a_click_reaches_its_block_whatever_styles_do(
    visiting: Visiting, styled: tuple[str, Path], style: str
) -> None:
    number = 1 + list(STYLES).index(style)
    visit = await visiting(styled[0])
    span = (await opened(visit, number)).get_by_text("Third")
    box = await span.bounding_box()
    assert box is not None
    await visit.page.mouse.click(box["x"] + 3, box["y"] + box["height"] / 2)
    given = await saved(visit.page, styled[1], str(number))
    assert given is not None
    assert [block for block, label in enumerate(given) if label is not None] == [BLOCKS.index("Third")]
    assert await span.evaluate("span => getComputedStyle(span).outlineStyle") == "solid"


async def test_clicks_mark_a_block_and_are_saved(tool: Visit, labels: Path) -> None:
    page, frame = tool.page, tool.page.frame_locator("#picture iframe")
    assert await page.locator("#blocks .text").all_text_contents() == BLOCKS
    await expect(page.locator("#counts")).to_contain_text("1 to be seen only in this list")
    await frame.get_by_text("Second").click()
    assert await saved(page, labels) == [None, None, None, 1, None, None, None]
    await expect(page.locator("#block-3 .says")).to_have_text("content")
    await frame.get_by_text("Imprint").click(button="right")
    await page.locator("#block-5").click()
    await page.locator("[data-brush='0']").click()
    await frame.get_by_text("Home").click()
    await page.locator("#block-1").click(modifiers=["Shift"])
    await expect(page.locator("#counts")).to_contain_text("7 blocks · 2 content · 3 boilerplate · 2 without")
    assert await saved(page, labels) == [0, 0, None, 1, None, 1, 0]
    await page.reload()
    await expect(page.locator("#counts")).to_contain_text("2 content · 3 boilerplate")


@pytest.mark.parametrize(("cases", "unseen"), [(UNSEEN, 2), (SEEN, 1)])
async def test_blocks_that_a_reader_does_not_see_are_counted(
    visiting: Visiting, labels: Path, cases: dict[str, str], unseen: int
) -> None:
    bodies = [f"{SCROLLING}<p>Seen</p><div hidden>Unseen</div>{each}" for each in cases.values()]
    found = {}
    async with labeling(pages_of(*bodies), labels) as address:
        visit = await visiting(address)
        await opened(visit)
        for number, name in enumerate(cases, 1):
            await expect(visit.page.locator("#about")).to_contain_text(f"Page {number} of")
            counts = visit.page.locator("#counts")
            await expect(counts).to_contain_text("only in this list")
            found[name] = (await counts.inner_text()).rpartition(" · ")[2]
            await visit.page.keyboard.press("n")
    assert found == dict.fromkeys(cases, f"{unseen} to be seen only in this list")


async def test_the_number_in_the_address_leads_to_its_page(tool: Visit) -> None:
    for number in (2, 1):
        await tool.open(f"#{number}")
        await expect(tool.page.locator("#about")).to_contain_text(f"Page {number} of 3")
    await tool.open("#4")
    await tool.drawn()
    await expect(tool.page.locator("#about")).to_contain_text("Page 1 of 3")


async def test_long_texts_end_in_an_ellipsis_and_are_shown_whole(visiting: Visiting, labels: Path) -> None:
    long = "A long paragraph of many words. " * 60
    async with labeling(pages_of(f"<p>{long}<p>Short"), labels) as address:
        visit = await visiting(address)
        await opened(visit)
        text, short = (visit.page.locator(f"#block-{number} .text") for number in (0, 1))
        await expect(text).to_have_css("-webkit-line-clamp", "4")
        assert await text.evaluate("text => text.scrollHeight > text.clientHeight + 20")
        await expect(text).to_have_attribute("title", long.strip())
        await expect(short).not_to_have_attribute("title", "Short")
        await visit.page.keyboard.press("x")
        assert await text.evaluate("text => text.scrollHeight <= text.clientHeight")
        await visit.page.keyboard.press("x")
        assert await text.evaluate("text => text.scrollHeight > text.clientHeight + 20")


async def test_it_is_told_how_many_blocks_are_in_doubt(tool: Visit) -> None:
    page, counts = tool.page, tool.page.locator("#counts")
    doubts = [0.5, 0.05, 0.95, 0.2, 0.95, 0.8, 0.05]
    await page.evaluate("doubts => { work.suggestions = doubts; paint(); }", doubts)
    for place, block in ((2, 3), (3, 5), (1, 0)):
        await page.keyboard.press("d")
        await expect(counts).to_contain_text(f" · {place} of 3 in doubt")
        await expect(page.locator(f"#block-{block}")).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("j")
    await expect(counts).to_contain_text(" · 3 in doubt")
    await page.keyboard.press("a")
    await expect(counts).not_to_contain_text("in doubt")


async def test_pages_are_listed_by_title_and_id_and_by_how_far_they_are(tool: Visit, labels: Path) -> None:
    page = tool.page
    names = ["○ 1. Page 1 · 1", "○ 2. Page 2 · 2", "✗ 3. https://example.org/3"]
    await expect(page.locator("#pages option")).to_have_text(names)
    await page.locator("#block-0").click()
    await saved(page, labels)
    await expect(page.locator("#pages option").first).to_have_text("◐ 1. Page 1 · 1")
    await expect(page.locator("#title")).to_have_text("Page 1")
    await expect(page.locator("#done")).to_have_text("0 of 3 pages labeled, 1 half-labeled, 1 cannot be")


async def test_strokes_mark_what_they_touch(tool: Visit, labels: Path) -> None:
    page, frame = tool.page, tool.page.frame_locator("#picture iframe")
    second, third = (
        await frame.get_by_text("Second").bounding_box(),
        await frame.get_by_text("Third").bounding_box(),
    )
    assert second is not None
    assert third is not None
    middle = (second["x"] + 20, second["y"] + 14)
    await stroke(page, (second["x"] + 2, second["y"] + 2), middle, (third["x"] + 30, third["y"] + 8))
    assert await saved(page, labels) == [None, None, None, 1, 1, None, None]
    await page.keyboard.press("2")
    rows = [await page.locator(f"#block-{number}").bounding_box() for number in (4, 5, 6)]
    await stroke(page, *[(row["x"] + 9, row["y"] + 9) for row in rows if row])
    await expect(page.locator("#counts")).to_contain_text("1 content · 3 boilerplate")
    assert await saved(page, labels) == [None, None, None, 1, 0, 0, 0]


async def test_keys_move_and_mark(tool: Visit, labels: Path) -> None:
    page = tool.page
    await page.locator("#blocks").focus()
    for key in ("c", "j", "ArrowDown", "b", "Shift+ArrowDown", "Shift+J", "u", "k", "c", "End", "b"):
        await page.keyboard.press(key)
    await expect(page.locator("#block-6")).to_have_attribute("aria-selected", "true")
    assert await saved(page, labels) == [1, None, None, 1, None, None, 0]
    for key in ("z", "Control+z", "y"):
        await page.keyboard.press(key)
    await expect(page.locator("#block-3 .says")).to_have_text("content")
    await expect(page.locator("#block-6 .says")).to_contain_text("?")
    await page.keyboard.press("a")
    await expect(page.locator("#done")).to_have_text("1 of 3 pages labeled, 1 cannot be")
    given = await saved(page, labels)
    assert given is not None
    assert None not in given
    assert await page.locator("#blocks .suggested").count() == 0


async def test_keys_change_pages(tool: Visit) -> None:
    page, about = tool.page, tool.page.locator("#about")
    for key, number in (("n", 2), ("p", 1), ("ArrowRight", 2), ("t", 1)):
        await page.keyboard.press(key)
        await expect(about).to_contain_text(f"Page {number} of 3")
    await page.locator("#filter").select_option("trouble")
    await page.locator("#next").click()
    await expect(page.locator("#notice")).to_have_text(
        "This page cannot be labeled: too-many-blocks: 100,001 blocks. N goes on to the next."
    )
    await expect(page.locator("#picture")).to_have_text(
        "The page cannot be shown as a reader sees it: too-many-blocks: 100,001 blocks."
    )
    await expect(page.locator("#blocks")).to_be_empty()
    await page.locator("#todo").click()
    await expect(about).to_contain_text("Page 1 of 3")
    await page.keyboard.press("?")
    await expect(page.locator("#keys")).to_contain_text("accept all suggestions")
    await page.keyboard.press("Escape")
    await expect(page.locator("#keys")).to_be_hidden()


async def test_keys_are_heard_after_a_click_in_the_page(tool: Visit) -> None:
    page = tool.page
    await page.frame_locator("#picture iframe").get_by_text("Second").click()
    assert await has_focus(page.locator("#blocks"))
    await page.keyboard.press("b")
    await expect(page.locator("#block-3 .says")).to_have_text("boilerplate")


async def test_a_label_spreads(visiting: Visiting, labels: Path) -> None:
    cards = "".join(f"<li class=card><a href=/{number}>Card {number}</a></li>" for number in range(6))
    async with labeling(pages_of(f"<ul>{cards}</ul><h1>Title</h1><p>{WORDS}</p>"), labels) as address:
        visit = await visiting(address)
        await opened(visit)
        await expect(visit.page.locator("#block-1 .says")).to_have_text("boilerplate?")
        await visit.page.locator("#block-0").click()
        await expect(visit.page.locator("#block-1 .says")).to_have_text("content?")


async def test_labels_of_a_changed_page_stay_until_it_is_labeled_anew(
    visiting: Visiting, labels: Path
) -> None:
    (page,) = pages_of(BODY)
    changed = replace(page, html=page.html + b"<p>More")
    async with labeling([page], labels) as address:
        visit = await visiting(address)
        await opened(visit)
        await visit.page.locator("#block-0").click()
        await saved(visit.page, labels)
    async with labeling([changed], labels) as address:
        visit = await visiting(address)
        await opened(visit)
        await expect(visit.page.locator("#misfit-text")).to_contain_text(
            "labels of other HTML of this page than this: 1 of 7"
        )
        await expect(visit.page.locator("#misfit-text")).to_contain_text("then 1 carry over")
        await visit.page.locator("#block-7").click()
        await expect(visit.page.locator("#notice")).to_contain_text("Label it anew")
        await visit.page.locator("#anew").click()
        await expect(visit.page.locator("#block-0 .says")).to_have_text("content")
        await visit.page.locator("#block-7").click()
        assert await saved(visit.page, labels) == [1, *[None] * 6, 1]


async def test_undo_survives_a_reload(tool: Visit, labels: Path) -> None:
    page = tool.page
    for number in (0, 1, 2):
        await page.locator(f"#block-{number}").click()
    await page.keyboard.press("z")
    await expect(page.locator("#block-2 .says")).to_contain_text("?")
    assert await saved(page, labels) == [1, 1, *[None] * 5]
    await page.reload()
    await expect(page.locator("#counts")).to_contain_text("2 content")
    for key in ("z", "z", "y", "y", "y"):
        await page.keyboard.press(key)
    await expect(page.locator("#redo")).to_be_disabled()
    assert await saved(page, labels) == [1, 1, 1, *[None] * 4]


async def test_steps_of_other_labels_are_not_undone(tool: Visit, labels: Path) -> None:
    page = tool.page
    await page.locator("#block-0").click()
    assert await saved(page, labels) == [1, *[None] * 6]
    other = await page.context.new_page()
    await other.goto(f"{tool.address}#1")
    await other.locator("#block-6").click()
    assert await saved(other, labels) == [1, *[None] * 5, 1]
    await page.reload()
    await expect(page.locator("#counts")).to_contain_text("2 content")
    await expect(page.locator("#undo")).to_be_disabled()


async def test_what_is_not_saved_is_told_and_saved_later(tool: Visit, labels: Path) -> None:
    page, aside = tool.page, labels.with_name("aside")
    labels.rename(aside)  # noqa: ASYNC240
    await page.locator("#block-0").click()
    await expect(page.locator("#saved")).to_contain_text("NOT SAVED (page 1): ")
    await page.locator("#block-1").click()
    await expect(page.locator("#saved")).to_contain_text("is gone")
    aside.rename(labels)
    await page.locator("#again").click()
    assert await saved(page, labels) == [1, 1, None, None, None, None, None]
    tool.messages.clear()  # Chromium tells of answers with the status 503


async def test_a_tool_that_has_ended_is_told_with_the_option_by_which_its_tab_finds_it_again(
    visiting: Visiting, labels: Path
) -> None:
    async with labeling(pages_of(BODY), labels) as address:
        visit = await visiting(address)
        await opened(visit)
    await visit.page.locator("#block-0").click()
    option, listens = "--listen", urlsplit(address).netloc
    await expect(visit.page.locator("#saved")).to_contain_text(f"Start it again with {option} {listens}")
    assert option in {name for each in label.command.params for name in each.opts}


async def test_that_nothing_answers_is_said_until_something_does(tool: Visit, labels: Path) -> None:
    page = tool.page
    await page.route("**/pages/**", lambda route: route.abort())
    await page.click("#next")
    await expect(page.locator("#notice")).to_contain_text("Page 2 cannot be opened: dehusk label does not")
    await page.unroute("**/pages/**")
    await page.locator("#block-0").click()
    assert await saved(page, labels) == [1, *[None] * 6]
    await expect(page.locator("#notice")).to_be_hidden()
    tool.messages.clear()  # Chromium tells of requests that fail


async def test_an_answer_about_another_page_does_not_hide_why_one_is_not_opened(
    tool: Visit, labels: Path
) -> None:
    page = tool.page
    await page.route("**/pages/1", lambda route: route.fulfill(status=500, body="out of memory"))
    await page.click("#next")
    await expect(page.locator("#notice")).to_have_text("Page 2 cannot be opened: out of memory")
    await page.locator("#block-0").click()
    assert await saved(page, labels) == [1, *[None] * 6]
    await expect(page.locator("#notice")).to_have_text("Page 2 cannot be opened: out of memory")
    tool.messages.clear()  # Chromium tells of answers with the status 500


@pytest.mark.parametrize("choice", ["mine", "theirs"])
async def test_another_window_is_not_overwritten_unasked(
    browser: Browser, tool: Visit, labels: Path, choice: str
) -> None:
    other = await tool.page.context.new_page()
    await other.goto(f"{tool.address}#1")
    await other.locator("#block-6").click()
    await saved(other, labels)
    await tool.page.locator("#block-0").click()
    await expect(tool.page.locator("#saved")).to_contain_text("NOT SAVED (page 1): other labels of this page")
    assert await saved(other, labels) == [*[None] * 6, 1]
    await tool.page.locator(f"#{choice}").click()
    await expect(tool.page.locator("#counts")).to_contain_text("1 content")
    await expect(tool.page.locator("#saved")).not_to_contain_text("NOT")
    kept = 0 if choice == "mine" else 6
    assert await saved(tool.page, labels) == [1 if number == kept else None for number in range(7)]
    tool.messages.clear()  # Chromium tells of an answer with the status 409


async def test_a_conflict_stands_until_it_is_settled_whatever_is_marked_meanwhile(
    browser: Browser, tool: Visit, labels: Path
) -> None:
    page, other = tool.page, await tool.page.context.new_page()
    await other.goto(f"{tool.address}#1")
    await other.locator("#block-6").click()
    await saved(other, labels)
    await page.locator("#block-0").click()
    await expect(page.locator("#saved")).to_contain_text("NOT SAVED (page 1)")
    await page.locator("#block-1").click()
    await page.locator("#next").click()
    await page.locator("#block-2").click()
    while len(read_labels_file(labels)) < 2:  # noqa: ASYNC110 -- a file sets no event
        await asyncio.sleep(0.05)
    await expect(page.locator("#saved")).to_contain_text("NOT SAVED (page 1)")
    await page.locator("#mine").click()
    await expect(page.locator("#saved")).to_have_text(SAVED)
    kept = {name: each.labels for name, each in read_labels_file(labels).items()}
    assert kept == {"1": (1, 1, *[None] * 5), "2": (None, None, 1, *[None] * 4)}
    tool.messages.clear()  # Chromium tells of an answer with the status 409


async def test_conflicts_of_two_pages_are_settled_one_after_the_other(
    browser: Browser, visiting: Visiting, labels: Path
) -> None:
    async with labeling(pages_of(BODY, BODY, BODY), labels) as address:
        visit = await visiting(address)
        await opened(visit)
        page = visit.page
        for number in (1, 2):
            other = await page.context.new_page()
            await page.keyboard.press("n" if number == 2 else "Escape")
            await expect(page.locator("#title")).to_have_text(f"Page {number}")
            await other.goto(f"{address}#{number}")
            await expect(other.locator("#title")).to_have_text(f"Page {number}")
            await other.locator("#block-6").click()
            await saved(other, labels, str(number))
            await page.locator("#block-0").click()
            await expect(page.locator("#saved")).to_contain_text("NOT SAVED (page 1)")
        await page.keyboard.press("n")
        await page.locator("#block-2").click()
        while len(read_labels_file(labels)) < 3:  # noqa: ASYNC110 -- a file sets no event
            await asyncio.sleep(0.05)
        await page.locator("#mine").click()
        await expect(page.locator("#saved")).to_contain_text("NOT SAVED (page 2)")
        await page.locator("#theirs").click()
        await expect(page.locator("#saved")).not_to_contain_text("NOT")
        kept = {name: each.labels for name, each in read_labels_file(labels).items()}
        assert kept == {
            "1": (1, *[None] * 6),
            "2": (*[None] * 6, 1),
            "3": (None, None, 1, *[None] * 4),
        }


async def test_a_finger_is_followed_after_a_stroke_of_the_mouse(tool: Visit, labels: Path) -> None:
    page = tool.page
    first, second = (
        await page.locator("#block-0").bounding_box(),
        await page.locator("#block-1").bounding_box(),
    )
    assert first is not None
    assert second is not None
    await page.mouse.move(first["x"] + 20, first["y"] + 5)
    await page.mouse.down()
    await page.mouse.move(second["x"] + 20, second["y"] + 5, steps=5)
    await page.mouse.up()
    assert await saved(page, labels) == [1, 1, *[None] * 5]
    await page.locator("#block-3").evaluate(
        """block => {
            const touched = { bubbles: true, pointerType: "touch", button: 0 };
            block.dispatchEvent(new PointerEvent("pointerdown", touched));
            block.dispatchEvent(new PointerEvent("pointerup", touched));
            block.click();
        }"""
    )
    assert await saved(page, labels) == [1, 1, None, 1, *[None] * 3]


async def test_pages_of_ten_thousand_blocks_and_of_deep_nesting_are_labeled(
    visiting: Visiting, labels: Path
) -> None:
    many = "".join(f"<p>Paragraph {number}</p>" for number in range(10_000))
    async with labeling(pages_of(many, "<div>" * 3_000 + "<p>Deep", "<img>"), labels) as address:
        visit = await visiting(address)
        frame = await opened(visit)
        await expect(visit.page.locator("#counts")).to_contain_text("10,000 without a label")
        await frame.locator(".dehusk-block-9000").click()
        await expect(visit.page.locator("#counts")).to_contain_text("· 9,999 without a label (")
        given = await saved(visit.page, labels)
        assert given is not None
        assert given.index(1) == 9000
        await visit.page.keyboard.press("a")
        await expect(visit.page.locator("#done")).to_have_text("1 of 3 pages labeled")
        await visit.page.keyboard.press("n")
        await frame.get_by_text("Deep").click()
        assert await saved(visit.page, labels, "2") == [1]
        await visit.page.keyboard.press("n")
        await expect(visit.page.locator("#blocks")).to_have_text(
            "The page has no text: there is nothing to label. A says so."
        )


async def test_all_is_reached_by_the_keyboard(tool: Visit) -> None:
    await tool.page.locator("#block-0").click()
    there, reached, visible = await tabbed_through(tool.page)
    assert there > 8
    assert reached == there
    assert visible


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_can_be_read(tool: Visit, scheme: str) -> None:
    await tool.page.emulate_media(color_scheme=scheme)
    await tool.page.locator("#block-0").click()
    await tool.page.locator("#block-1").click(button="right")
    await tool.page.locator("#help").click()
    await tool.drawn()
    assert await faint_texts(tool.page) == []


async def test_a_phone_shows_it_without_scrolling_sideways(tool: Visit) -> None:
    await tool.page.set_viewport_size({"width": 390, "height": 844})
    await tool.page.locator("#block-0").click()
    await tool.drawn()
    assert await too_wide(tool.page) == []


@asynccontextmanager
async def fine_tuning(visiting: Visiting, labels: Path, folder: Path, script: str) -> AsyncIterator[Visit]:
    """A visit to the tool, whose training environment is a script."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    training = Training(python, DEFAULT_REPOSITORY, "dehusk", "", folder / "tuned")
    async with labeling(pages_of(BODY), labels, training=training) as address:
        visit = await visiting(address)
        await opened(visit)
        yield visit
        await visit.leave()


@pytest.mark.parametrize("ends", ["written", "not-better"])
async def test_fine_tuning_shows_its_progress_and_the_scores(
    visiting: Visiting, labels: Path, tmp_path: Path, ends: str
) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    status = {"written": 0, "not-better": 3}[ends]
    script = f"echo 'part 1 of 5' >&2; read line < {go}; echo 'F1 0.5 before, 0.9 after'; exit {status}"
    async with fine_tuning(visiting, labels, tmp_path, script) as visit:
        page = visit.page
        await expect(page.locator("#tune")).to_have_text("Fine-tune")
        await page.click("#tune")
        await page.keyboard.press("a")  # a key of the page under it, which does nothing
        await page.click("#tuning-start")
        await expect(page.locator("#tuning-progress")).to_contain_text("part 1 of 5")
        await expect(page.locator("#tuning-start")).to_be_disabled()
        await page.reload()
        await expect(page.locator("#tune")).to_have_text("Fine-tuning …")
        await asyncio.to_thread(go.write_text, "\n")
        await expect(page.locator("#tune")).to_have_text(
            {"written": "Fine-tuned", "not-better": "Fine-tune: not better"}[ends]
        )
        await page.click("#tune")
        await expect(page.locator("#tuning-result")).to_have_text("F1 0.5 before, 0.9 after")
        following = {"written": "dehusk model verify", "not-better": "--force"}[ends]
        await expect(page.locator("#tuning-next")).to_contain_text(following)
        await expect(page.locator("#tuning-start")).to_be_enabled()
        assert await faint_texts(page) == []
        await page.set_viewport_size({"width": 390, "height": 844})
        assert await too_wide(page) == []
        assert await saved_nothing(labels)


async def test_fine_tuning_is_ended_by_keys_and_starts_again(
    visiting: Visiting, labels: Path, tmp_path: Path
) -> None:
    script = "echo 'part 1 of 5' >&2; sleep 600"
    async with fine_tuning(visiting, labels, tmp_path, script) as visit:
        page = visit.page
        await page.click("#tune")
        for _ in range(2):
            await page.keyboard.press("Enter")
            await expect(page.locator("#tuning-progress")).to_contain_text("part 1 of 5")
            await expect(page.locator("#tuning-end")).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(page.locator("#tuning-message")).to_have_text("Nothing is written, as it was ended.")
            await expect(page.locator("#tuning-end")).to_be_hidden()
            await expect(page.locator("#tuning-start")).to_be_focused()
        await expect(page.locator("#tune")).to_have_text("Fine-tune")


async def test_why_a_fine_tuning_failed_is_shown_once(
    visiting: Visiting, labels: Path, tmp_path: Path
) -> None:
    script = "echo 'Error: too few' >&2; exit 1"
    async with fine_tuning(visiting, labels, tmp_path, script) as visit:
        await visit.page.click("#tune")
        await visit.page.click("#tuning-start")
        await expect(visit.page.locator("#tune")).to_have_text("Fine-tuning failed")
        assert (await visit.page.inner_text("#tuning")).count("too few") == 1


async def test_a_fine_tuning_of_which_nothing_is_heard_for_a_while_goes_on(
    visiting: Visiting, labels: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    script = f"echo 'part 1 of 5' >&2; read line < {go}; exit 3"
    async with fine_tuning(visiting, labels, tmp_path, script) as visit:
        page = visit.page
        await page.click("#tune")
        await page.click("#tuning-start")
        await expect(page.locator("#tuning-progress")).to_contain_text("part 1 of 5")
        await page.route("**/fine-tuning", lambda route: route.abort())
        await expect(page.locator("#tuning-message")).to_contain_text("does not answer")
        await expect(page.locator("#tune")).to_have_text("Fine-tuning …")
        await page.unroute("**/fine-tuning")
        await asyncio.to_thread(go.write_text, "\n")
        await expect(page.locator("#tune")).to_have_text("Fine-tune: not better")


async def saved_nothing(labels: Path) -> bool:
    """True if the file of labels is empty."""
    return await asyncio.to_thread(labels.read_bytes) == b""
