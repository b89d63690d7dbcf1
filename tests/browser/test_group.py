"""The live page of a worker that shares its figures with others, in a browser."""

import asyncio
import re
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from dehusk.schemas.pages import Message
from dehusk.streams.monitoring.group import Group
from dehusk.streams.monitoring.messages import (
    SharedPoint,
    SharedState,
    end_record,
    point_record,
    state_record,
)
from dehusk.streams.sources.source import Record
from tests.browser.conftest import Visiting
from tests.browser.looks import faint_texts, tabbed_through, too_wide
from tests.browser.visits import Visit
from tests.browser.workers import Worker

pytestmark = pytest.mark.asyncio(loop_scope="session")
HOSTILE = '<img src=x onerror="alert(1)">'


class Topic:
    """Topic on which workers of a group share their records."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.others = {"other": Worker(), HOSTILE: Worker()}
        self.pages = {"other": "http://other.example:8080/", HOSTILE: "javascript:alert(1)"}
        self.own = Worker(group)

    def say(self, worker: str) -> None:
        """Tell how a worker is, and its newest point."""
        live = (self.others.get(worker) or self.own).live
        live.record()
        state = SharedState(f"host of {worker}", self.pages.get(worker), live.state)
        self._write(state_record("news", worker, state))
        self._write(point_record("news", worker, SharedPoint(live.points[-1], live.state.counts)))

    def end(self, worker: str) -> None:
        """Tell that a worker has stopped."""
        self._write(end_record("news", worker))

    async def run(self) -> None:
        """Have all of them tell how they are, for as long as this runs."""
        while True:
            for worker in ("own", *self.others):
                self.say(worker)
            await asyncio.sleep(0.1)

    def _write(self, record: Record) -> None:
        self.group.handle(Message(record.key, record.value), int(1000 * time.time()))


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """A group of three workers."""
    monkeypatch.setattr("dehusk.streams.worker.monitoring.live.RECORD_SECONDS", 0.05)
    return Topic(Group("news", "own"))


@pytest_asyncio.fixture(loop_scope="session")
async def shown(topic: Topic, visiting: Visiting) -> AsyncIterator[Visit]:
    """The page of one of them; it must have asked for nothing elsewhere and said nothing."""
    talking = asyncio.create_task(topic.run())
    async with topic.own.serving() as address:
        visit = await visiting(address)
        await visit.open()
        await expect(visit.page.locator("#connection")).to_have_text("live")
        yield visit
        await visit.leave()
    talking.cancel()
    assert visit.elsewhere == []
    assert visit.dialogs == []
    assert visit.messages == []


async def test_figures_are_those_of_all_workers(shown: Visit, topic: Topic) -> None:
    topic.own.clean(1_000)
    topic.own.drop()
    topic.others["other"].clean(234)
    await expect(shown.page.locator("h1")).to_have_text("dehusk group news")
    await expect(shown.page.locator("#total-pages")).to_have_text("1,236")
    await expect(shown.page.locator("#total-skipped")).to_have_text("1")
    await expect(shown.page.locator("#skipped li")).to_have_count(1)
    await expect(shown.page.locator("#in-flight-now")).to_have_text("111")
    await expect(shown.page.locator("#workers tr")).to_have_count(3)
    await expect(shown.page.locator("#workers-count")).to_have_text("3 workers")
    owners = await shown.page.locator("#partitions .group-only").all_inner_texts()
    assert len(owners) == 9
    assert set(owners) <= {"own", "other", HOSTILE}


async def test_rows_that_are_alike_do_not_pile_up(shown: Visit) -> None:
    await expect(shown.page.locator("#workers tr")).to_have_count(3)
    await shown.page.evaluate("""() => {
        window.alike = document.createElement("ul");
        for (let turn = 0; turn < 3; turn += 1) {
            sync(alike, ["a", "a", "b"], text => text, text => make("li", text), () => {});
        }
    }""")
    assert await shown.page.evaluate("[...alike.children].map(each => each.textContent)") == ["a", "a", "b"]


async def test_a_worker_is_chosen_by_its_name(shown: Visit, topic: Topic) -> None:
    topic.own.clean(5)
    topic.others["other"].clean(234)
    await shown.page.get_by_role("button", name="other", exact=True).press("Enter")
    await expect(shown.page.locator("h1")).to_have_text("dehusk worker other")
    await expect(shown.page.locator("#total-pages")).to_have_text("234")
    assert shown.page.url.endswith("?of=other")
    await expect(shown.page.locator("#partitions .group-only").first).to_be_hidden()
    await shown.page.reload()
    await expect(shown.page.locator("h1")).to_have_text("dehusk worker other")
    await shown.page.locator("#choice").select_option("group")
    await expect(shown.page.locator("#total-pages")).to_have_text("239")


async def test_a_worker_that_has_stopped_leaves_its_counts(shown: Visit, topic: Topic) -> None:
    topic.others["other"].clean(234)
    await expect(shown.page.locator("#total-pages")).to_have_text("234")
    for worker in list(topic.others):
        del topic.others[worker]
        topic.end(worker)
    await expect(shown.page.locator("#workers tr")).to_have_count(1)
    await expect(shown.page.locator("#total-pages")).to_have_text("234")


async def test_a_worker_that_is_frozen_has_no_figures_but_its_lag(
    shown: Visit, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dehusk.streams.monitoring.group.GONE_SECONDS", 2.0)
    frozen = topic.others.pop("other")
    name = shown.page.get_by_role("button", name="other", exact=True)
    row = shown.page.locator("#workers tr", has=name)
    await expect(row).to_contain_text("silent since")
    cells = await row.locator("td").all_inner_texts()
    assert cells[:6] == ["–", "–", f"{frozen.lag():,}", "9", "–", "–"]
    told = shown.page.locator("#hindrances li").first
    await expect(told).to_contain_text("nothing is heard of other")


async def test_what_others_say_stays_text_and_leads_to_no_script(shown: Visit) -> None:
    page = shown.page
    await expect(page.get_by_role("button", name=HOSTILE)).to_be_visible()
    assert await page.locator("img").count() == 0
    links = page.locator("#workers a:not([hidden])")
    assert [await link.get_attribute("href") for link in await links.all()] == ["http://other.example:8080/"]


async def test_a_group_that_falls_silent_is_told(
    shown: Visit, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic.own.clean(7)
    await expect(shown.page.locator("#total-pages")).to_have_text("7")
    monkeypatch.setattr("dehusk.streams.monitoring.group.GONE_SECONDS", -1.0)
    told = shown.page.locator("#hindrances li").first
    await expect(told).to_have_text(re.compile("nothing is heard of the group since .* this worker alone"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_every_text_is_read_in_either_scheme(shown: Visit, scheme: str) -> None:
    await shown.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    await expect(shown.page.locator("#workers tr")).to_have_count(3)
    assert await faint_texts(shown.page) == []


async def test_everything_is_reached_by_tab(shown: Visit) -> None:
    await expect(shown.page.locator("#workers tr")).to_have_count(3)
    there, reached, visible = await tabbed_through(shown.page)
    assert (reached, visible) == (there, True)


async def test_a_phone_shows_it_without_scrolling_sideways(shown: Visit) -> None:
    await shown.page.set_viewport_size({"width": 390, "height": 844})
    await expect(shown.page.locator("#workers tr")).to_have_count(3)
    assert await too_wide(shown.page) == []
