"""The statistics of sites in an offline run: what pages see of each other, whatever runs at once."""

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.options import DocumentOptions
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Prediction, RawPage
from dehusk.schemas.sites import SiteObservation, SiteStatistics
from dehusk.streams.local.folder import LOOPBACK, free_ports
from dehusk.streams.offline.lines import OFFLINE_FORMATS, DecodedPages, failure_writer
from dehusk.streams.offline.run import BATCH_PAGES, observe_pages
from dehusk.streams.offline.statistics import RequiredStatistics, open_statistics
from dehusk.streams.preparation.pool import open_pool, open_steps
from dehusk.streams.preparation.steps import Writing
from dehusk.streams.settings import MIB, PageLimits, RedisSettings
from dehusk.streams.sites.store import MemorySiteStatistics
from tests.unit.streams.offline.cleaned import clean_lines

PROSE = "This is a long paragraph of plain prose, which any labeler takes for the content of its page. "
LIMITS = PageLimits()
OPTIONS = DocumentOptions(with_blocks=True)
LINES = Writing.of(OFFLINE_FORMATS["json"], OPTIONS, LIMITS)
FAIL = failure_writer(options=OPTIONS, with_template=True)


def page(number: int, site: str = "example.org", more: str = "") -> RawPage:
    """A page with a menu and a paragraph that its site repeats, and a paragraph of its own."""
    paragraphs = f"<p>{PROSE * 2}<p>{PROSE * 3} As page {chr(97 + number % 26)}{number // 26 * 'x'} knows."
    html = f"<html><title>Page {number}</title><nav><a href=/>Home</a></nav>{more}{paragraphs}</html>"
    return RawPage(f"https://{site}/{number}", html.encode(), str(number))


HUGE = page(3, more=f"<!-- {'x' * 5 * MIB} -->")
"""A page that is prepared alone."""


async def lines(pages, *, passes=1, processes=1, store=None, labelers=None) -> list[bytes]:
    store, labelers = store or MemorySiteStatistics(), labelers or [RulesLabeler()] * processes
    open_work = partial(open_steps, DecodedPages, LIMITS.max_blocks, LINES)
    async with open_pool(open_work, processes, LIMITS) as pool:
        if passes == 2:
            counts = observe_pages(iter(pages), pool, labelers, store)
            assert sum([count async for count in counts]) == len(pages)
        cleaned = clean_lines(iter(pages), pool, labelers, FAIL, store=store)
        return [line async for line in cleaned]


def seen(lines: Sequence[bytes]) -> list[int]:
    return [json.loads(line)["template"]["pages_seen"] for line in lines]


class Hesitant(RulesLabeler):
    """A labeler that the others overtake."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        await asyncio.sleep(0.1)
        return await super().label(pages)


class Unsure(RulesLabeler):
    """A labeler that cannot tell."""

    async def label(self, pages: Sequence[EncodedPage]) -> list[Prediction | Broken]:
        answers = await super().label(pages)
        return [
            replace(answer, probabilities=np.full(len(page), 0.6, np.float32))
            for page, answer in zip(pages, answers, strict=True)
        ]


async def test_each_page_sees_those_before_it_even_if_others_are_labeled_sooner() -> None:
    pages = [page(number) for number in range(6 * BATCH_PAGES)]
    labelers = [Hesitant(), RulesLabeler(), RulesLabeler()]
    assert seen(await lines(pages, processes=2, labelers=labelers)) == list(range(1, len(pages) + 1))


async def test_a_page_that_goes_alone_is_counted_in_its_place() -> None:
    pages = [HUGE if number == 3 else page(number) for number in range(3 * BATCH_PAGES)]
    labelers = [Hesitant(), RulesLabeler(), RulesLabeler()]
    assert seen(await lines(pages, processes=2, labelers=labelers)) == list(range(1, len(pages) + 1))


async def test_the_lines_are_the_same_however_many_processes_and_labelers_there_are() -> None:
    pages = [page(number, f"{number % 3}.test") for number in range(40)]
    assert await lines(pages) == await lines(pages, processes=3, labelers=[RulesLabeler(), Hesitant()])


def titled(number: int) -> RawPage:
    """A page whose heading is the name of its site, which nothing declares."""
    title = f"Seen from here - Big foxes {chr(97 + number) * 3}"
    html = f"<title>{title}</title><h1>Seen from here</h1><p>{title} {PROSE * 3}"
    return RawPage(f"https://example.org/{number}", html.encode(), str(number))


async def test_the_headline_is_what_the_titles_of_other_pages_do_not_share() -> None:
    pages = [titled(number) for number in range(8)]
    headlines = [json.loads(line)["headline"] for line in await lines(pages, passes=2)]
    assert headlines == [f"Big foxes {chr(97 + number) * 3}" for number in range(8)]
    assert json.loads((await lines(pages[:1]))[0])["headline"] == "Seen from here"


async def test_a_line_says_what_is_known_of_the_site() -> None:
    first, second = map(json.loads, await lines([page(1), page(2)]))
    assert list(first) == [
        *("id", "url", "site", "fetched_at", "title", "headline", "language", "declared_language"),
        *(
            "language_probability",
            "text",
            "comments",
            "model",
            "labeler",
            "content_hash",
            "simhash",
            "minhash",
        ),
        *("metadata", "expected_f1", "page_kind", "page_kind_probability", "template", "blocks", "error"),
    ]
    assert (first["template"]["pages_seen"], first["template"]["blocks_matched"]) == (1, 0)
    assert (second["template"]["pages_seen"], second["template"]["blocks_matched"]) == (2, 2)
    assert [block["frequency"] for block in second["blocks"]] == [2, 2, 1]


async def test_labels_are_corrected_by_what_the_site_repeats() -> None:
    pages = [page(number) for number in range(10)]
    first, *_, last = map(json.loads, await lines(pages, labelers=[Unsure()]))
    assert [block["probability"] for block in first["blocks"]] == [0.6, 0.6, 0.6]
    menu, repeated, own = (block["probability"] for block in last["blocks"])
    assert max(menu, repeated) < 0.6
    assert max(menu, repeated) < own


async def test_a_page_that_cannot_be_cleaned_is_not_counted_and_knows_nothing() -> None:
    broken = page(1, more="<p>x" * 11)
    limits = PageLimits(max_blocks=10)
    open_work = partial(open_steps, DecodedPages, limits.max_blocks, LINES)
    async with open_pool(open_work, 1, limits) as pool:
        cleaned = clean_lines(
            iter([page(0), broken, page(2)]),
            pool,
            [RulesLabeler()],
            FAIL,
            store=MemorySiteStatistics(),
        )
        first, failed, last = [json.loads(line) async for line in cleaned]
    assert failed["error"].startswith("too-many-blocks")
    assert (failed["template"], list(failed)) == (None, list(first))
    assert last["template"]["pages_seen"] == 2


async def test_after_a_first_pass_each_page_sees_all_others_whatever_their_order() -> None:
    pages = [HUGE if number == 3 else page(number, f"{number % 3}.test") for number in range(40)]
    shuffled = random.Random(1).sample(pages, len(pages))
    in_order, out_of_order = await lines(pages, passes=2), await lines(shuffled, passes=2, processes=2)
    assert sorted(in_order) == sorted(out_of_order)
    assert set(seen(in_order)) == {1, 13}


async def test_pages_without_a_host_do_not_correct_each_other() -> None:
    pages = [replace(page(number), url=url) for number in range(10) for url in ("", f"file:///{number}.html")]
    found = await lines(pages, passes=2, labelers=[Unsure()])
    assert seen(found) == [1] * len(pages)
    for line in map(json.loads, found):
        assert [(block["probability"], block["frequency"]) for block in line["blocks"]] == [(0.6, 1)] * 3


class Ending(MemorySiteStatistics):
    """A store that stops answering."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.answers = answers

    async def observe(self, pages: Sequence[SiteObservation]) -> list[SiteStatistics]:
        self.answers -= 1
        if self.answers < 0:
            raise UnavailableError("Redis does not answer")
        return await super().observe(pages)


async def test_a_store_that_does_not_answer_ends_the_run_and_the_error_says_what_to_do() -> None:
    pages = [page(number) for number in range(20 * BATCH_PAGES)]
    with pytest.raises(UnavailableError, match=r"^Redis .*--site-statistics memory$"):
        await lines(pages, store=RequiredStatistics(Ending(2)), processes=2)


async def test_a_redis_that_is_not_there_is_an_error_before_any_page_is_read() -> None:
    url = f"redis://{LOOPBACK}:{free_ports(1)[0]}"
    with pytest.raises(UnavailableError, match="--site-statistics memory"):
        async with open_statistics(url, RedisSettings()):
            pass


@pytest.mark.parametrize(("where", "kind"), [("none", type(None)), ("memory", MemorySiteStatistics)])
async def test_statistics_may_be_nowhere_or_in_memory(where: str, kind: type) -> None:
    async with open_statistics(where, RedisSettings()) as store:
        assert isinstance(store, kind)


async def test_a_short_page_counts_once_whatever_its_footer_says() -> None:
    pages = [
        replace(
            page(3, more=f"<footer><a href=/s>Session {letter * 9}</a></footer>"),
            url=f"https://example.org/3?{letter}",
        )
        for letter in "abcdefghijk"
    ]
    found = await lines(pages)
    assert seen(found) == [1] * len(pages)
    assert len({json.loads(line)["content_hash"] for line in found}) == 1
