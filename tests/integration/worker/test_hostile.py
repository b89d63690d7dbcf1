"""Pages that break parsers, decoders and processes: each ends with a reason, its neighbours unharmed."""

import gzip
import random
import sys
from collections import Counter
from pathlib import Path

from dehusk.streams.settings import MIB
from dehusk.streams.sources.source import Record

HTML = (("content-type", b"text/html"),)
GZIP = (*HTML, ("content-encoding", b"gzip"))
PICTURE = (("content-type", b"image/png"),)
TEXT = b"<p>" + b"A sentence that rules take for the content of a page, because it is long enough. " * 3
MANY = b" ".join(b"a%d=b" % number for number in range(20_000))
HOSTILE_WORKER = (sys.executable, Path(__file__).with_name("hostile_worker.py"))

PAGES = {
    "50-mb": (TEXT + b"x" * 50 * MIB, HTML, "page-too-large"),
    "100,000-nested": (b"<div>" * 100_000 + TEXT, HTML, "document"),
    "20,000-attributes": (b"<p " + MANY + b">" + TEXT, HTML, "document"),
    "20,000-equal-attributes": (b"<p" + b" a=b" * 20_000 + b">" + TEXT, HTML, "document"),
    "null-bytes": (bytes(1000) + TEXT + bytes(1000), HTML, "document"),
    "gzip-bomb": (gzip.compress(bytes(200 * MIB), 1), GZIP, "inflates-too-large"),
    "invalid-utf-8": (b"<p>" + b"\xff\xfe\xc3\x28 broken letters " * 100 + TEXT, HTML, "document"),
    "empty": (b"", HTML, "skipped"),
    "2-mb-line": (TEXT * (2 * MIB // len(TEXT)), HTML, "document"),
    "noise": (random.Random(1).randbytes(100_000), HTML, "skipped"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), PICTURE, "skipped"),
    "unclosed": (b"<p><a href='" + TEXT * 100, HTML, "document"),
    "lines-in-lists": (b"<ol><li>" * 200 + b"<pre>" + b"a\n" * 2 * MIB, HTML, "document"),
    "200,000-blocks": (b"<p>a" * 200_000, HTML, "too-many-blocks"),
    "broken-gzip": (gzip.compress(TEXT * 100)[:-20], GZIP, "malformed-compression"),
}
"""Each page, its headers, and what becomes of it."""
DECODERS = {
    "raises": "internal-error",
    "segfaults": "process-crashed",
    "hangs": "time-budget-exceeded",
    "hangs-natively": "time-budget-exceeded",
    "swallows": "memory-budget-exceeded",
    "nothing": "skipped",
}
"""Effects of pages on the decoder of `hostile_source.py`, by their names, and what becomes of the pages."""


async def test_hostile_pages_end_with_a_reason(bench, site) -> None:
    neighbours = site(200)
    hostile = [Record(f"https://h.example/{name}".encode(), *page[:2]) for name, page in PAGES.items()]
    worker = bench.worker("--source", "html")
    await bench.produce(_mixed(neighbours, hostile))
    await bench.until_done()

    assert await _fates(bench, PAGES) == {name: expected for name, (_, _, expected) in PAGES.items()}
    assert +Counter(worker.metric("dehusk_skipped_total", "reason")) == {"no-body": 1, "not-html": 2}
    assert worker.says(f"reads {bench.topics.input} in group {bench.topics.group}, writes ")
    for reason in ("no-body", "not-html", "page-too-large", "malformed-compression"):
        assert worker.says(f": {reason}: "), "its first message is worth a warning"
    await _check_neighbours(bench, neighbours)
    assert worker.report()["totals"]["pages"] == len(neighbours) + len(hostile)
    assert worker.stop() == 0


async def test_a_decoder_that_fails_ends_its_message_alone(bench, site) -> None:
    neighbours = site(200)
    hostile = [Record(f"https://h.example/{name}".encode(), TEXT, HTML) for name in DECODERS]
    worker = bench.worker("--page-seconds", "0.5", program=HOSTILE_WORKER)
    await bench.produce(_mixed(neighbours, hostile))
    await bench.until_done(180)  # seconds; each decoder that sleeps takes its limit

    assert await _fates(bench, DECODERS) == DECODERS
    assert +Counter(worker.metric("dehusk_skipped_total", "reason")) == {"not-a-page": 1}
    await _check_neighbours(bench, neighbours)
    assert worker.report()["totals"]["pages"] == len(neighbours) + len(hostile)
    assert worker.stop() == 0


async def test_a_huge_page_does_not_hold_up_its_neighbours(bench, site) -> None:
    neighbours = site(200)
    huge = Record(b"https://h.example/hangs", TEXT + bytes(5 * MIB), HTML)
    worker = bench.worker("--page-seconds", "60", "--processes", "2", program=HOSTILE_WORKER)
    await bench.produce([huge, *neighbours])
    await bench.until(worker.has_partitions)
    await bench.until(lambda: worker.report()["totals"]["documents"] == len(neighbours))
    assert worker.report()["totals"]["dead_letters"] == 0
    assert await bench.left() > 0
    await _check_neighbours(bench, neighbours)


def _mixed(neighbours: list[Record], hostile: list[Record]) -> list[Record]:
    """The hostile pages, each between neighbours."""
    mixed = list(neighbours)
    for place, page in enumerate(hostile):
        mixed.insert(5 + 11 * place, page)
    return mixed


async def _fates(bench, names) -> dict[str, str]:
    """Return the outcome of each hostile page: `document`, the reason of its dead letter, or `skipped`."""
    fates = {message.key: "document" for message in await bench.documents()}
    fates |= {letter.original.key: letter.reason for letter in await bench.dead_letters()}
    return {name: fates.get(f"https://h.example/{name}".encode(), "skipped") for name in names}


async def _check_neighbours(bench, neighbours: list[Record]) -> None:
    delivered = {message.key for message in await bench.documents()}
    assert {record.key for record in neighbours} <= delivered
