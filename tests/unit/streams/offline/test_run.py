"""The offline pipeline on pages that break what works on them."""

import ctypes
import json
import time
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import pytest

from dehusk.inference.document.duplicates import duplicate_keys
from dehusk.inference.document.language import language_of
from dehusk.inference.labelers.rules import RulesLabeler
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.offline.lines import OFFLINE_FORMATS, DecodedPages, failure_writer
from dehusk.streams.offline.run import BATCH_PAGES
from dehusk.streams.preparation.pool import open_pool, open_steps
from dehusk.streams.preparation.steps import Writing
from dehusk.streams.settings import PageLimits
from tests.unit.streams.offline.cleaned import clean_lines
from tests.unit.streams.preparation.limits import Limits

PROSE = "This is a long paragraph of plain prose, which any labeler takes for the content of its page. " * 4

DEFAULT_LIMITS = PageLimits()


class HostilePages(DecodedPages):
    """Pages that do to their process what they say."""

    def decode(self, message: Message):
        if b"segfault" in message.value:
            ctypes.string_at(0)
        if b"hang" in message.value:
            time.sleep(60)
        if b"bug" in message.value:
            raise KeyError("bug")
        return super().decode(message)


OPEN_WITHOUT_BLOCKS = partial(
    open_steps,
    HostilePages,
    DEFAULT_LIMITS.max_blocks,
    Writing.of(OFFLINE_FORMATS["json"], DEFAULT_OPTIONS, DEFAULT_LIMITS),
)


def page(number: int, text: str = PROSE) -> RawPage:
    html = f"<html lang=en><title>Page {number}</title><body><p>{text}</p></body></html>"
    return RawPage(f"https://example.org/{number}", html.encode(), str(number))


async def cleaned(pages, *, processes=1, limits=DEFAULT_LIMITS, labelers=None, with_blocks=True):
    options = DocumentOptions(with_blocks=with_blocks)
    lines_of = Writing.of(OFFLINE_FORMATS["json"], options, limits)
    open_work = partial(open_steps, HostilePages, limits.max_blocks, lines_of)
    async with open_pool(open_work, processes, limits) as pool:
        lines = clean_lines(iter(pages), pool, labelers or [RulesLabeler()], failure_writer(options=options))
        return [json.loads(line) async for line in lines]


async def test_a_line_has_just_these_fields():
    (line,) = await cleaned([page(7)])
    metadata = line.pop("metadata")
    assert set(metadata) == {field.name for field in fields(Metadata)}
    assert line == {
        "id": "7",
        "url": "https://example.org/7",
        "site": "example.org",
        "fetched_at": None,
        "title": "Page 7",
        "headline": "Page 7",
        "language": "en",
        "declared_language": "en",
        "language_probability": pytest.approx(language_of(PROSE, "en").probability),
        "text": PROSE.strip(),
        "comments": None,
        "model": {"name": "boilerpipe", "version": "1"},
        "labeler": "rules",
        "content_hash": duplicate_keys(PROSE).content_hash,
        "simhash": duplicate_keys(PROSE).simhash,
        "minhash": None,
        "expected_f1": None,
        "page_kind": None,
        "page_kind_probability": None,
        "blocks": [
            {
                "text": PROSE.strip(),
                "path": "html/body/p",
                "probability": 1.0,
                "content": True,
                "comment": False,
                "xpath": "/html/body[1]/p[1]",
            }
        ],
        "error": None,
    }
    (short,) = await cleaned([page(7)], with_blocks=False)
    del line["blocks"]
    assert short == line | {"metadata": metadata}


@pytest.mark.parametrize(
    ("fetched_at", "written"),
    [
        (None, None),
        (datetime(2024, 5, 1, 8, 30, tzinfo=UTC), "2024-05-01T08:30:00Z"),
        (datetime(2024, 5, 1, 8, 30, 0, 5000, timezone(timedelta(hours=2))), "2024-05-01T06:30:00.005000Z"),
    ],
)
async def test_a_line_says_when_the_page_was_fetched(fetched_at, written):
    (line,) = await cleaned([replace(page(7), fetched_at=fetched_at)])
    assert line["fetched_at"] == written


async def test_a_line_says_which_language_the_server_declared():
    prose = RawPage("https://example.org/", f"<p>{PROSE}</p>".encode(), language="de-AT")
    (line,) = await cleaned([prose])
    assert (line["declared_language"], line["language"]) == ("de-AT", "en")


@pytest.mark.parametrize("processes", [1, 3])
async def test_lines_come_in_the_order_of_the_pages(processes):
    count = 10 * BATCH_PAGES + 3
    lines = await cleaned(map(page, range(count)), processes=processes, labelers=[RulesLabeler()] * processes)
    assert [line["id"] for line in lines] == [str(number) for number in range(count)]
    assert {line["error"] for line in lines} == {None}


async def test_a_page_that_breaks_its_process_costs_its_own_line_alone():
    texts = [PROSE, "segfault", PROSE, "hang", "bug", PROSE]
    lines = await cleaned(
        [page(n, text) for n, text in enumerate(texts)], limits=Limits(seconds=0.5, patience=2.0)
    )
    assert [line["id"] for line in lines] == ["0", "1", "2", "3", "4", "5"]
    errors = [(line["error"] or "").split(":")[0] for line in lines]
    assert errors == ["", "process-crashed", "", "time-budget-exceeded", "internal-error", ""]
    assert [bool(line["text"]) for line in lines] == [True, False, True, False, False, True]


async def test_what_cannot_be_read_has_a_line_and_what_never_was_a_page_has_none():
    lines = await cleaned(
        [
            Broken(BrokenReason.MALFORMED_MESSAGE, "line 1 is not JSON"),
            Skipped(SkipReason.NOT_A_PAGE, "a WARC request"),
            Skipped(SkipReason.NOT_HTML, "an image", "https://example.org/i"),
            page(1),
        ]
    )
    assert [(line["id"], line["url"], line["error"]) for line in lines] == [
        (None, None, "malformed-message: line 1 is not JSON"),
        ("https://example.org/i", "https://example.org/i", "not-html: an image"),
        ("1", "https://example.org/1", None),
    ]
    assert lines[0]["blocks"] == []


async def test_a_page_without_id_has_its_url_for_one():
    (line,) = await cleaned([RawPage("https://example.org/ü\udc80"[:-1], b"<p>x")])
    assert line["id"] == line["url"] == "https://example.org/ü"


async def test_what_a_labeler_refuses_is_an_error_of_its_page():
    refused = Broken(BrokenReason.REJECTED_BY_MODEL, "NaN")

    class RefusingShortPages(RulesLabeler):
        async def label(self, pages):
            answers = zip(pages, await super().label(pages), strict=True)
            return [refused if page.words.sum() < 5 else answer for page, answer in answers]

    lines = await cleaned([page(1, "short"), page(2)], labelers=[RefusingShortPages()])
    assert [line["error"] for line in lines] == ["rejected-by-model: NaN", None]


async def test_a_labeler_that_does_not_answer_ends_it():
    class Unavailable(RulesLabeler):
        async def label(self, pages):
            raise UnavailableError("nobody there")

    with pytest.raises(UnavailableError, match="nobody there"):
        await cleaned(map(page, range(100)), labelers=[Unavailable(), Unavailable()])


async def test_a_reader_that_fails_ends_it_behind_the_pages_it_gave():
    def pages():
        yield page(1)
        raise UnavailableError("the disk is gone")

    async with open_pool(OPEN_WITHOUT_BLOCKS, 1, DEFAULT_LIMITS) as pool:
        lines = clean_lines(pages(), pool, [RulesLabeler()], failure_writer())
        assert json.loads(await anext(lines))["id"] == "1"
        with pytest.raises(UnavailableError, match="the disk is gone"):
            await anext(lines)


async def test_reads_no_further_ahead_than_it_cleans():
    read = 0

    def pages():
        nonlocal read
        for number in range(500):
            read += 1
            yield page(number)

    async with open_pool(OPEN_WITHOUT_BLOCKS, 1, DEFAULT_LIMITS) as pool:
        written = 0
        async for _ in clean_lines(pages(), pool, [RulesLabeler()], failure_writer()):
            written += 1
            assert read - written <= 6 * BATCH_PAGES
    assert written == 500
