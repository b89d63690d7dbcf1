"""The live page of a worker, in a browser."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from faust.types import TP
from playwright.async_api import Page, expect

from dehusk.streams.rollout.view import ChangeView, RolloutView, TrialView, VersionView
from dehusk.streams.worker_settings import MonitoringSettings
from tests.authority import Authority
from tests.browser.conftest import Visiting
from tests.browser.looks import faint_texts, tabbed_through, too_wide
from tests.browser.visits import Visit
from tests.browser.workers import HOSTILE_URL, STEPS, Worker

pytestmark = pytest.mark.asyncio(loop_scope="session")
Scheme = Literal["light", "dark"]
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    """One that tells its state twenty times a second."""
    monkeypatch.setattr("dehusk.streams.worker.monitoring.live.RECORD_SECONDS", 0.05)
    return Worker()


@pytest_asyncio.fixture(loop_scope="session")
async def shown(worker: Worker, visiting: Visiting) -> AsyncIterator[Visit]:
    """The page of the worker; it must have asked for nothing elsewhere and said nothing."""
    worker.remember_an_hour()
    async with worker.serving() as address:
        visit = await visiting(address)
        await visit.open()
        await expect(visit.page.locator("#connection")).to_have_text("live")
        yield visit
        await visit.leave()
    assert visit.elsewhere == []
    assert visit.dialogs == []
    assert visit.messages == []


async def text(page: Page, element: str) -> str:
    return await page.locator(element).inner_text()


async def test_figures_are_those_of_the_worker(shown: Visit, worker: Worker) -> None:
    worker.clean(1_234)
    worker.drop()
    await expect(shown.page.locator("#total-pages")).to_have_text("1,236")
    totals = worker.metrics.totals
    for name in ("pages", "documents", "tombstones", "skipped"):
        assert await text(shown.page, f"#total-{name}") == f"{getattr(totals, name):,}"
    assert await text(shown.page, "#total-dead-letters") == str(totals.dead_letters) == "1"
    assert await text(shown.page, "#lag-now") == f"{worker.lag():,}"
    assert await text(shown.page, "#in-flight-now") == "37"
    await expect(shown.page.locator("#lag-age")).to_contain_text("oldest 2 h 5 min, ")
    assert "model dehusk version 7" in await text(shown.page, "#about")


async def test_figures_follow_the_worker(shown: Visit, worker: Worker) -> None:
    for pages in (10, 100, 1_000):
        worker.clean(pages)
        await expect(shown.page.locator("#total-pages")).to_have_text(f"{worker.metrics.totals.pages:,}")


async def test_partitions_and_steps_are_listed(shown: Visit, worker: Worker) -> None:
    worker.take_steps()
    await expect(shown.page.locator("#steps tr")).to_have_count(len(STEPS))
    rows = await shown.page.locator("#partitions tr").all()
    cells = [await row.locator("th, td").all_inner_texts() for row in rows]
    assert [(cell[0], int(cell[1]), cell[2]) for cell in cells] == [
        (*partition, f"{lag:,}") for partition, lag in sorted(worker.lags.items())
    ]


async def test_a_dependency_that_goes_and_comes_back_is_shown(shown: Visit, worker: Worker) -> None:
    worker.dependencies.redis.missed(OSError("refused"))
    redis = shown.page.locator("#dependencies tr", has_text="redis")
    await expect(redis).to_contain_text("refused")
    await expect(shown.page.locator("#hindrances li")).to_have_text(["redis is unavailable: refused"])
    worker.dependencies.redis.answered()
    await expect(redis).to_contain_text("available")
    await expect(shown.page.locator("#hindrances li")).to_have_count(0)


async def test_examples_that_are_open_stay_open_and_are_text(shown: Visit, worker: Worker) -> None:
    worker.drop(1)
    summary = shown.page.locator("#skipped summary")
    await summary.click()
    worker.drop(2)
    await expect(shown.page.locator("#skipped li")).to_have_count(2)
    assert await shown.page.locator("#skipped details").get_attribute("open") is not None
    await expect(shown.page.locator("#skipped li").first).to_contain_text("javascript:alert(1)")
    assert await shown.page.locator("img").count() == 0


async def test_it_comes_back_when_the_worker_does(worker: Worker, visiting: Visiting) -> None:
    async with worker.serving() as address:
        visit = await visiting(address)
        await visit.open()
        await expect(visit.page.locator("#connection")).to_have_text("live")
    await expect(visit.page.locator("#connection")).to_contain_text("no connection")
    again = Worker()
    again.clean(77)
    settings = MonitoringSettings(port=urlsplit(address).port or 0)
    async with again.serving(settings):
        await expect(visit.page.locator("#connection")).to_have_text("live")
        assert await text(visit.page, "#total-pages") == "77"


async def test_a_worker_that_hangs_is_told(
    shown: Visit, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker.live.feed, "publish", lambda: None)
    connection = shown.page.locator("#connection")
    await expect(connection).to_have_text("the worker says nothing; what is shown is old")
    await expect(shown.page.locator("main.old")).to_have_count(1)
    monkeypatch.undo()
    await expect(connection).to_have_text("live")


async def test_the_chart_of_partitions_has_the_width_of_its_card(shown: Visit) -> None:
    chart = shown.page.locator("#partition-chart .uplot")
    await expect(chart).to_be_visible()
    size = await chart.bounding_box()
    assert size is not None
    assert size["width"] > 250


async def test_a_chart_is_read_by_arrow_keys(shown: Visit) -> None:
    chart = shown.page.locator(".plot").first
    await chart.focus()
    await shown.page.keyboard.press("ArrowLeft")
    await expect(shown.page.locator("#spoken")).to_have_text(re.compile(r"\d\d:\d\d:\d\d: pages/s [\d,.]+"))


async def test_the_cursor_of_one_chart_is_that_of_all(shown: Visit) -> None:
    await shown.page.locator(".plot").first.focus()
    for _ in range(3):
        await shown.page.keyboard.press("ArrowLeft")
    cursors = "() => charts.map(({ plot }) => plot.cursor.idx)"
    await shown.page.wait_for_function(f"({cursors})().every((at, _, all) => at !== null && at === all[0])")


async def test_a_range_is_zoomed_into_and_stays_in_the_address(shown: Visit) -> None:
    page = shown.page
    await page.evaluate("setZoom([points.at(-60).time, points.at(-30).time])")
    await expect(page.locator("#zoom")).to_be_visible()
    shown_range = "charts.every(({ plot }) => plot.scales.x.max - plot.scales.x.min < 400)"
    await page.wait_for_function(shown_range)
    address = page.url
    assert "from=" in address
    await page.reload()
    await expect(page.locator("#connection")).to_have_text("live")
    await page.wait_for_function(f"charts[0].plot && {shown_range}")
    assert page.url == address
    await page.get_by_role("button", name="Show the whole hour").click()
    await expect(page.locator("#zoom")).to_be_hidden()
    assert page.url == shown.address


async def test_a_range_is_selected_with_the_mouse_or_keys(shown: Visit) -> None:
    page = shown.page
    area = page.locator("#charts .u-over").first
    box = await area.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 20, box["y"] + 20)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 100, box["y"] + 20, steps=3)
    await page.mouse.up()
    await expect(page.locator("#zoom")).to_be_visible()
    span = "zoom ? zoom[1] - zoom[0] : null"
    selected = await page.evaluate(span)
    await page.locator(".plot").first.focus()
    await page.keyboard.press("+")
    assert await page.evaluate(span) == pytest.approx(selected / 2)
    for _ in range(8):
        await page.keyboard.press("-")
    await expect(page.locator("#zoom")).to_be_hidden()


async def test_what_happened_is_listed_and_marked_on_the_curves(shown: Visit, worker: Worker) -> None:
    worker.dependencies.redis.missed(OSError("refused"))
    item = shown.page.locator("#events li")
    await expect(item).to_contain_text("redis is missing: refused")
    worker.dependencies.redis.answered()
    await expect(item).to_contain_text("redis was missing for ")
    (mark,) = await shown.page.evaluate("marks")
    assert mark["until"] >= mark["time"]
    await expect(shown.page.locator("#hindrances li")).to_have_count(0)


async def place_of(page: Page, mark: int) -> tuple[float, float]:
    """Return where in the first chart a mark is."""
    x, y = await page.evaluate(
        """mark => {
             const { plot } = charts[0];
             const { left, top, height } = plot.over.getBoundingClientRect();
             return [left + plot.valToPos(marks[mark].time, "x"), top + height / 2];
           }""",
        mark,
    )
    return x, y


def change(seconds: float, reason: str) -> ChangeView:
    return ChangeView(time.time() - seconds, 5, "worker-1", reason, None)


async def test_a_mark_is_named_where_the_pointer_is(shown: Visit, worker: Worker) -> None:
    page = shown.page
    changes = (change(1800, "version 8 promoted"), change(600, HOSTILE_URL))
    worker.rollout = RolloutView(5, (), (), 1, 1, (), changes)
    await expect(page.locator("#events li")).to_have_count(2)
    notes = page.locator(".note:visible")
    await expect(notes).to_have_count(0)
    for mark, reason in enumerate((HOSTILE_URL, "version 8 promoted")):
        x, y = await place_of(page, mark)
        await page.mouse.move(x + 3, y)
        await expect(notes).to_have_text(
            re.compile(rf"^\d\d:\d\d:\d\d: {re.escape(reason)} \(by worker-1\)$")
        )
        assert await too_wide(page) == []
    await page.mouse.move(x + 40, y)
    await expect(notes).to_have_count(0)


async def test_a_mark_is_named_to_the_keyboard(shown: Visit, worker: Worker) -> None:
    page = shown.page
    worker.rollout = RolloutView(5, (), (), 1, 1, (), (change(600, "version 8 promoted"),))
    await expect(page.locator("#events li")).to_have_count(1)
    await page.locator(".plot").first.focus()
    note = page.locator(".note:visible")
    for _ in range(61):
        await page.keyboard.press("ArrowLeft")
    told = re.compile(r"\d\d:\d\d:\d\d: version 8 promoted \(by worker-1\)$")
    await expect(page.locator("#spoken")).to_have_text(told)
    await expect(note).to_have_text(told)
    for _ in range(20):
        await page.keyboard.press("ArrowLeft")
    await expect(note).to_have_count(0)
    await expect(page.locator("#spoken")).not_to_contain_text("promoted")


async def test_two_fingers_zoom_and_one_scrolls(shown: Visit) -> None:
    page = shown.page
    area = page.locator("#charts .u-over").first
    await area.scroll_into_view_if_needed()
    devtools = await shown.devtools()
    await devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})

    async def touch(kind: str, *shares: float) -> None:
        box = await area.bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2
        points = [
            {"x": box["x"] + share * box["width"], "y": y, "id": number}
            for number, share in enumerate(shares)
        ]
        await devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    before = await page.evaluate("[charts[0].plot.scales.x.min, charts[0].plot.scales.x.max]")
    span = before[1] - before[0]
    await touch("touchStart", 0.5)
    await touch("touchMove", 0.7)
    await touch("touchEnd")
    await expect(page.locator("#zoom")).to_be_hidden()
    await touch("touchStart", 0.4)
    await touch("touchStart", 0.4, 0.6)
    for spread in (0.15, 0.2, 0.3, 0.4):
        await touch("touchMove", 0.5 - spread, 0.5 + spread)
    await touch("touchEnd")
    await expect(page.locator("#zoom")).to_be_visible()
    left, right = await page.evaluate("zoom")
    assert right - left == pytest.approx(span / 4, rel=0.1)
    assert (left + right) / 2 == pytest.approx(before[0] + span / 2, abs=span / 20)
    assert f"from={left:.0f}" in page.url
    await touch("touchStart", 0.1)
    await touch("touchStart", 0.1, 0.9)
    for spread in (0.3, 0.2, 0.05):
        await touch("touchMove", 0.5 - spread, 0.5 + spread)
    await touch("touchEnd")
    await expect(page.locator("#zoom")).to_be_hidden()


async def test_a_roll_out_is_shown_with_its_versions_and_trials(shown: Visit, worker: Worker) -> None:
    await expect(shown.page.locator("#rollout-part")).to_be_hidden()
    taken_back = ChangeView(time.time() - 60, 5, "worker-1", "version 9 taken back, errors", "9")
    worker.rollout = RolloutView(
        5,
        (
            VersionView("7", "serving", None, 900, 0, 0.4, 0.01, 0.02),
            VersionView("8", "canary", 0.1, 0, 0, *[None] * 3),
        ),
        (TrialView("canary", 300, 0.031, 0.97, 0.42, 0.41, 1.0),),
        3,
        2,
        (HOSTILE_URL,),
        (taken_back,),
    )
    cells = shown.page.locator("#versions tr")
    await expect(cells).to_have_count(2)
    assert await cells.nth(1).locator("th, td").all_inner_texts() == [
        "8",
        "canary",
        "10 %",
        "0",
        "0",
        "–",
        "–",
        "–",
    ]
    lines = shown.page.locator("#rollout-lines li")
    await expect(lines.first).to_have_text("2 of 3 workers follow revision 5")
    await expect(lines.last).to_have_text(
        "canary, beside the trusted version on the same 300 pages: 3.1 % of the blocks otherwise, "
        "42 % of the words kept instead of 41 %, F1 97 %, 1.00 times the time of a call"
    )
    await expect(shown.page.locator("#events li")).to_contain_text(
        "version 9 taken back, errors (by worker-1)"
    )


async def test_labels_of_axes_differ(shown: Visit, worker: Worker) -> None:
    worker.lags = {TP("raw-pages", 0): 1}
    texts = """() => [...charts, partitionChart].flatMap(({ plot, format }) => {
        const { _splits } = plot.axes[1];
        const labels = _splits.map(format);
        return new Set(labels).size === labels.length ? [] : [labels.join()];
    })"""
    await expect(shown.page.locator("#partitions tr")).to_have_count(1)
    await shown.drawn()
    assert await shown.page.evaluate(texts) == []


async def test_the_step_that_takes_longest_is_named(shown: Visit, worker: Worker) -> None:
    worker.take_steps()
    worker.metrics._steps.labels("label").observe(4.0)
    await expect(shown.page.locator("#bottleneck")).to_contain_text("time in: label, which limits")
    await expect(shown.page.locator("#steps .longest th")).to_have_text("label")


async def test_the_heap_does_not_grow_with_events(
    shown: Visit, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.worker.monitoring.live.RECORD_SECONDS", 0.01)
    worker.drop()
    devtools = await shown.devtools()
    await devtools.send("HeapProfiler.enable")
    await devtools.send("Performance.enable")
    sizes = []
    for _ in range(6):
        await events(shown.page, 150)
        await devtools.send("HeapProfiler.collectGarbage")
        found = (await devtools.send("Performance.getMetrics"))["metrics"]
        sizes.append({each["name"]: each["value"] for each in found})
    heap = [size["JSHeapUsedSize"] for size in sizes]
    assert min(heap[3:]) < heap[0] + 250_000  # one of them may have grown by what Chromium compiled
    assert sizes[-1]["Nodes"] <= sizes[0]["Nodes"] + 20
    assert sizes[-1]["JSEventListeners"] == sizes[0]["JSEventListeners"]


async def events(page: Page, number: int) -> None:
    """Wait until the page has got so many events more."""
    await page.evaluate(
        """number => new Promise(done => {
             events.addEventListener("state", function count() {
               number -= 1;
               if (number > 0) return;
               events.removeEventListener("state", count);
               done();
             });
           })""",
        number,
    )


async def test_a_token_in_the_address_is_taken_out_of_it(worker: Worker, visiting: Visiting) -> None:
    token = "correct-horse-battery"
    async with worker.serving(MonitoringSettings(port=0, token=token)) as address:
        visit = await visiting(address)
        await visit.open(f"?token={token}")
        await expect(visit.page.locator("#connection")).to_have_text("live")
        assert visit.page.url == address
        await visit.page.reload()
        await expect(visit.page.locator("#connection")).to_have_text("live")


async def test_it_is_live_by_https(worker: Worker, visiting: Visiting, tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).certify("worker", "127.0.0.1")
    token = "correct-horse-battery"
    settings = MonitoringSettings(port=0, token=token, certificate_file=certificate, key_file=key)
    async with worker.serving(settings) as address:
        visit = await visiting(address, ignore_https_errors=True)
        await visit.open(f"?token={token}")
        await expect(visit.page.locator("#connection")).to_have_text("live")
        (cookie,) = await visit.page.context.cookies()
    assert address.startswith("https://")
    assert (cookie["secure"], cookie["httpOnly"]) == (True, True)


async def test_a_hidden_tab_asks_for_nothing(shown: Visit, worker: Worker) -> None:
    assert len(worker.live.feed) == 1
    await shown.page.evaluate(
        """() => {
             Object.defineProperty(document, "hidden", { value: true, configurable: true });
             document.dispatchEvent(new Event("visibilitychange"));
           }"""
    )
    async with asyncio.timeout(30):
        while len(worker.live.feed):
            worker.live.feed.publish()
            await asyncio.sleep(0.01)


async def everything(visit: Visit, worker: Worker) -> None:
    """Have all there is to show shown."""
    worker.clean(100)
    worker.drop()
    worker.take_steps()
    worker.dependencies.redis.missed(OSError("connection refused by redis-0.redis.example.internal:6379"))
    await expect(visit.page.locator("#steps tr")).to_have_count(len(STEPS))
    await expect(visit.page.locator("#hindrances li")).to_have_count(1)
    await expect(visit.page.locator("#dead-letters summary")).to_have_count(1)
    for summary in await visit.page.locator("details:not(.part) > summary").all():
        await summary.click()
    await visit.drawn()


@SCHEMES
async def test_every_text_can_be_read(shown: Visit, worker: Worker, scheme: Scheme) -> None:
    await everything(shown, worker)
    await shown.page.emulate_media(color_scheme=scheme)
    await shown.drawn()
    assert await faint_texts(shown.page) == []


@SCHEMES
async def test_charts_take_the_colours_of_the_scheme(shown: Visit, scheme: Scheme) -> None:
    await shown.page.emulate_media(color_scheme=scheme)
    await shown.drawn()
    lines = await shown.page.evaluate("() => charts.map((chart) => chart.plot.series[1].stroke())")
    color = await shown.page.evaluate(
        "() => getComputedStyle(document.documentElement).getPropertyValue('--one').trim()"
    )
    assert lines == [color] * len(lines)


async def test_all_is_reached_by_the_keyboard(shown: Visit, worker: Worker) -> None:
    await everything(shown, worker)
    there, reached, visible = await tabbed_through(shown.page)
    assert there > 10
    assert reached == there
    assert visible


async def test_a_phone_shows_it_without_scrolling_sideways(shown: Visit, worker: Worker) -> None:
    await shown.page.set_viewport_size({"width": 390, "height": 844})
    for summary in await shown.page.locator(".part > summary:visible").all():
        await summary.click()
    await everything(shown, worker)
    await expect(shown.page.locator(".uplot")).to_have_count(10)
    assert await too_wide(shown.page) == []


async def test_a_phone_shows_it_in_three_screens(shown: Visit, worker: Worker) -> None:
    worker.clean(100)
    worker.drop()
    worker.take_steps()
    await shown.page.set_viewport_size({"width": 390, "height": 844})
    await expect(shown.page.locator(".part[open]")).to_have_count(0)
    await shown.drawn()
    assert await shown.page.evaluate("document.documentElement.scrollHeight") <= 3 * 844
