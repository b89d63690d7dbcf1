"""Messages of a sample, which may break the process that looks at them."""

import os
from collections.abc import Callable
from functools import partial

import pytest

from dehusk.schemas.pages import Message
from dehusk.streams.preparation.pool import open_pool
from dehusk.streams.probe.messages import (
    Finding,
    Preparation,
    Prepared,
    ProbeOutcome,
    Recognised,
    Recognition,
    open_prober,
)
from dehusk.streams.probe.topic import ProbedMessage, probe_message
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.registry import SourceSettings

URL = "https://example.org/a"
PAGE = Message(URL.encode(), b"<p>text", (("content-type", b"text/html"),), "raw", 2, 7)
GONE = Message(URL.encode(), None, (), "raw", 0, 8)
Task = Preparation | Recognition
HTML, AUTO = (partial(open_prober, source, SourceSettings(), 100) for source in ("html", "auto"))


def open_hostile() -> Callable[[Task], object]:
    return _hostile


def _hostile(task: Task) -> object:
    """Spin or die as the message says, in one of the steps or in both."""
    step = b"prepare" if isinstance(task, Preparation) else b"recognise"
    words = (task.message.value or b"").split()
    while b"spin" in words and step in words:
        pass
    if b"die" in words and step in words:
        os._exit(3)
    return Prepared(()) if isinstance(task, Preparation) else Recognised(("html", "warc"))


async def probed(
    open_work: Callable[[], Callable[[Task], object]], *messages: Message, declared: str | None = None
) -> list[ProbedMessage]:
    async with open_pool(open_work, 1, PageLimits(seconds=0.5)) as pool:
        return [await probe_message(pool, message, declared) for message in messages]


async def test_a_page_is_told_with_what_it_was_decoded_from() -> None:
    page, gone = await probed(AUTO, PAGE, GONE)
    found = Finding(ProbeOutcome.PAGE, None, URL, "utf-8", 7, 1)
    assert page == ProbedMessage("raw", 2, 7, 28, "html", framed=False, findings=(found,))
    gone_for_good = (Finding(ProbeOutcome.TOMBSTONE),)
    assert gone == ProbedMessage(
        "raw", 0, 8, 21, None, framed=False, findings=gone_for_good, is_tombstone=True
    )


async def test_a_declared_format_is_that_of_all_but_messages_of_another() -> None:
    line = Message(None, b'{"url": "https://example.org/a", "html": "<p>text"}')
    empty = Message(URL.encode(), b"")
    assert [each.format for each in await probed(HTML, PAGE, line, empty, GONE, declared="html")] == [
        "html",
        "json",
        "html",
        None,
    ]


async def test_null_without_the_url_of_a_page_is_a_tombstone_too() -> None:
    (gone,) = await probed(AUTO, Message(b"\xff", None))
    assert (gone.is_tombstone, gone.findings[0].verdict) == (True, ProbeOutcome.DEAD_LETTER)


@pytest.mark.parametrize(
    ("value", "reason"),
    [(b"spin prepare", "time-budget-exceeded: "), (b"die prepare", "process-crashed: ")],
)
async def test_a_message_that_its_process_fails_at_is_a_dead_letter(value: bytes, reason: str) -> None:
    hostile, other = await probed(open_hostile, Message(None, value), Message(None, b""))
    (found,) = hostile.findings
    assert found.verdict is ProbeOutcome.DEAD_LETTER
    assert (found.why or "").startswith(reason)
    assert (hostile.format, other.format, other.findings) == ("html or warc", "html or warc", ())


@pytest.mark.parametrize("value", [b"spin recognise", b"die recognise"])
async def test_what_cannot_be_recognised_in_time_is_of_no_format(value: bytes) -> None:
    (hostile,) = await probed(open_hostile, Message(None, value))
    assert (hostile.format, hostile.framed, hostile.findings) == (None, False, ())
