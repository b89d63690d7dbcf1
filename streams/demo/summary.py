"""Results of the demo, counted from the topics themselves, and their display.

The summary accounts for every page, and has the throughput and one page before and after.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import orjson
from msgspec import Struct
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dehusk.schemas.documents import Origin
from dehusk.streams.kafka.reader import read
from dehusk.streams.settings import KafkaSettings
from dehusk.streams.topics.dead_letters import read_dead_letter
from dehusk.streams.wording import pluralize

_EXAMPLE_CHARACTERS = 3000
"""Length of visible text; the page that is nearest to it is the example."""
_FIRST_ROWS = 30
"""Rows of the start of the example."""
_ROWS_BEFORE = 8
"""Rows of the start before its first content."""
_LAST_ROWS = 10
"""Rows of the end of the example, with its footer."""
_CHARACTERS = 200
_SECONDS_BETWEEN_LINES = 5.0


class Block(Struct, frozen=True):
    """A text block of a page; `content` is true if it was kept."""

    text: str
    content: bool


class Document(Struct, frozen=True):
    """The fields of a document that the demo counts."""

    url: str
    text: str
    blocks: list[Block]


@dataclass(slots=True)
class Crawled:
    """Pages on the input topic."""

    urls: set[bytes] = field(default_factory=set)
    """Keys of the messages."""
    messages: int = 0
    bytes: int = 0
    first: float = float("inf")
    """Time of the first page, in seconds since 1970."""


@dataclass(slots=True)
class Cleaned:
    """Documents on the output topic."""

    urls: set[bytes] = field(default_factory=set)
    """Keys of the documents."""
    empty: int = 0
    """Documents without text."""
    visible: int = 0
    """Characters of all blocks of the pages."""
    kept: int = 0
    """Characters of the blocks that are content."""
    example_url: str = ""
    example: list[Block] = field(default_factory=list)

    def add(self, document: Document) -> None:
        """Count a document, and keep it if it makes a better example."""
        blocks = document.blocks
        self.empty += not document.text
        self.visible += _length(blocks)
        self.kept += _length([block for block in blocks if block.content])
        if not self.example_url or _distance(blocks) < _distance(self.example):
            self.example_url, self.example = document.url, blocks

    @property
    def kept_share(self) -> float:
        """Share of the pages' visible text that was kept, from 0 to 1."""
        return self.kept / self.visible if self.visible else 0.0


@dataclass(slots=True)
class Dead:
    """Messages on the dead-letter topic."""

    origins: set[Origin] = field(default_factory=set)
    reasons: Counter[str] = field(default_factory=Counter)
    """Number of these messages by reason."""


async def read_crawled(kafka: KafkaSettings, topic: str) -> Crawled:
    """Count the input topic."""
    crawled = Crawled()
    async for message, milliseconds in read(kafka, topic):
        crawled.urls.add(message.key or b"")
        crawled.messages += 1
        crawled.bytes += len(message.value or b"")
        crawled.first = min(crawled.first, milliseconds / 1000)
    return crawled


async def read_cleaned(kafka: KafkaSettings, topic: str, file: Path) -> Cleaned:
    """Count the output topic, and write its documents to a file as JSON lines."""
    cleaned = Cleaned()
    with file.open("wb") as lines:
        async for message, _ in read(kafka, topic):
            if message.key and message.value and message.key not in cleaned.urls:
                cleaned.urls.add(message.key)
                cleaned.add(msgspec.json.decode(message.value, type=Document))
                lines.write(message.value + b"\n")
    return cleaned


async def read_dead(kafka: KafkaSettings, topic: str, file: Path) -> Dead:
    """Count the dead-letter topic, and write the origins and reasons of its messages as JSON lines."""
    dead = Dead()
    with file.open("wb") as lines:
        async for message, _ in read(kafka, topic):
            letter = read_dead_letter(message)
            if letter is not None and letter.origin not in dead.origins:
                dead.origins.add(letter.origin)
                dead.reasons[letter.reason] += 1
                reason = {"url": letter.url, "reason": letter.reason, "detail": letter.detail}
                lines.write(orjson.dumps(reason | {"source": letter.origin}) + b"\n")
    return dead


def _length(blocks: list[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _distance(blocks: list[Block]) -> int:
    return abs(_length(blocks) - _EXAMPLE_CHARACTERS)


@dataclass(frozen=True, slots=True)
class Summary:
    """Results of one crawl."""

    site: str
    labeler: str
    crawled: Crawled
    cleaned: Cleaned
    dead: Dead
    skipped: dict[str, int]
    """Messages by reason, as the worker counted them."""
    ended: float
    """Time of the last finished page, in seconds since 1970."""
    directory: Path

    @property
    def pages(self) -> int:
        """Number of pages that were crawled."""
        return len(self.crawled.urls)

    @property
    def documents(self) -> int:
        """Number of these pages that have a document."""
        return len(self.cleaned.urls & self.crawled.urls)

    @property
    def unaccounted(self) -> int:
        """Pages that are neither document nor skipped nor dead letter; below 0 if some are two of these."""
        return self.pages - self.documents - sum(self.skipped.values()) - self.dead.reasons.total()

    @property
    def seconds(self) -> float:
        """Time from the first page on the input topic to the last finished page."""
        return self.ended - self.crawled.first

    @property
    def pages_per_second(self) -> float:
        """Throughput of crawl and cleaning."""
        return self.pages / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        """Throughput of crawl and cleaning."""
        return self.crawled.bytes / 1e6 / self.seconds

    def to_json(self) -> bytes:
        """Return one JSON object on one line."""
        return orjson.dumps(
            {
                "site": self.site,
                "labeler": self.labeler,
                "pages": self.pages,
                "documents": self.documents,
                "empty_documents": self.cleaned.empty,
                "skipped": self.skipped,
                "dead_letters": self.dead.reasons,
                "unaccounted": self.unaccounted,
                "seconds": round(self.seconds, 2),
                "pages_per_second": round(self.pages_per_second, 1),
                "megabytes_per_second": round(self.megabytes_per_second, 2),
                "kept_share": round(self.cleaned.kept_share, 3),
                "example": {
                    "url": self.cleaned.example_url,
                    "before": [block.text for block in self.cleaned.example],
                    "after": [block.text for block in self.cleaned.example if block.content],
                },
                "directory": str(self.directory),
            }
        )


def show(summary: Summary, console: Console) -> None:
    """Print the summary for a person."""
    console.print()
    console.print(_example(summary.cleaned))
    console.print(_figures(summary))


def _example(cleaned: Cleaned) -> Table:
    """Return the example block by block, visible and kept: the start of its content, and its end."""
    table = Table(title=f"One page before and after: {cleaned.example_url}", expand=True)
    table.add_column("before", ratio=1, no_wrap=True)
    table.add_column("after", ratio=1, no_wrap=True)
    kept = (row for row, block in enumerate(cleaned.example) if block.content)
    start = max(0, next(kept, 0) - _ROWS_BEFORE)
    end = start + _FIRST_ROWS
    first, rest = cleaned.example[start:end], cleaned.example[end:]
    last = rest[-_LAST_ROWS:]
    _add_gap(table, start)
    _add_blocks(table, first)
    _add_gap(table, len(rest) - len(last))
    _add_blocks(table, last)
    table.caption = f"{len(first) + len(last)} of the page's {pluralize(len(cleaned.example), 'block')}"
    return table


def _add_gap(table: Table, blocks: int) -> None:
    """Add a row that stands for so many blocks, if any."""
    if blocks:
        table.add_row(f"… {pluralize(blocks, 'block')} …", "", style="dim")


def _add_blocks(table: Table, blocks: Sequence[Block]) -> None:
    for block in blocks:
        text = block.text[:_CHARACTERS]
        table.add_row(text, text if block.content else "", style="" if block.content else "dim")


def _figures(summary: Summary) -> Table:
    table = Table.grid(padding=(0, 2))
    for row in _rows(summary):
        table.add_row(*row)
    return table


def _rows(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "pages in", f"{summary.pages} from the {summary.site} site"
    yield "documents", f"{summary.documents}, {summary.cleaned.empty} of them without text"
    yield "skipped", _by_reason(summary.skipped)
    yield "dead letters", _by_reason(summary.dead.reasons)
    yield "unaccounted for", str(summary.unaccounted)
    yield "time", f"{summary.seconds:.1f} s, crawl included, labeled by {summary.labeler}"
    yield "speed", f"{summary.pages_per_second:.0f} pages/s, {summary.megabytes_per_second:.1f} MB/s"
    yield "text kept", f"{summary.cleaned.kept_share:.0%} of what the pages show"
    yield "documents in", str(summary.directory / "documents.jsonl")
    yield "also there", "dead-letters.jsonl, summary.json, worker.log, crawler.log"


def _by_reason(counts: dict[str, int]) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return f"{sum(counts.values())} ({reasons})" if reasons else "0"


class Display:
    """Milestones as lines that stay, and between them the progress of the demo."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("")
        self._printed = 0.0

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def milestone(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(text, soft_wrap=True)

    def service(self, name: str, doing: str) -> None:
        """Show the state of a service; the line of a ready one stays."""
        if doing == "ready":
            self.milestone(f"{name} is ready")
        else:
            self._status.update(Text(f"{name}: {doing}"))

    def progress(self, text: str) -> None:
        """Show the progress."""
        if self._console.is_terminal:
            self._status.update(Text(text))
        elif time.monotonic() - self._printed >= _SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            self._console.print(text, soft_wrap=True)
