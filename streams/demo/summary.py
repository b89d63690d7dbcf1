"""The demo's closing summary: every page accounted for, how fast it went, and one page before and after."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dehusk.streams.counted import counted
from dehusk.streams.demo.outcome import Block

_FIRST_ROWS = 30
"""Of the example."""
_ROWS_BEFORE = 8
"""Of these, how many come before its first content."""
_LAST_ROWS = 10
"""Of the example: where its footer is."""
_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the pages of one crawl."""

    site: str
    labeler: str
    pages: int
    """Distinct URLs on the input topic."""
    documents: int
    """Distinct keys on the output topic."""
    empty_documents: int
    """Those of the documents that have no text: the labeler found no content on their pages."""
    skipped: dict[str, int]
    """By reason, as the worker counted them."""
    dead_letters: dict[str, int]
    """By reason, distinct messages on the dead-letter topic."""
    seconds: float
    """From the first page on the input topic to the last page done with."""
    megabytes: float
    """Of the pages as they were crawled."""
    visible_characters: int
    """In all text blocks of the pages that became documents."""
    kept_characters: int
    """In those blocks that are content."""
    example_url: str
    example: Sequence[Block]
    directory: Path

    @property
    def unaccounted(self) -> int:
        """Pages that are neither document nor skipped nor dead letter; below 0 if some are two of these."""
        told = self.documents + sum(self.skipped.values()) + sum(self.dead_letters.values())
        return self.pages - told

    @property
    def pages_per_second(self) -> float:
        """Crawled and cleaned."""
        return self.pages / self.seconds

    @property
    def megabytes_per_second(self) -> float:
        """Crawled and cleaned."""
        return self.megabytes / self.seconds

    @property
    def kept_share(self) -> float:
        """Of the pages' visible text, from 0 to 1."""
        return self.kept_characters / self.visible_characters if self.visible_characters else 0.0

    def to_json(self) -> bytes:
        """One JSON object on one line."""
        return orjson.dumps(
            {
                "site": self.site,
                "labeler": self.labeler,
                "pages": self.pages,
                "documents": self.documents,
                "empty_documents": self.empty_documents,
                "skipped": self.skipped,
                "dead_letters": self.dead_letters,
                "unaccounted": self.unaccounted,
                "seconds": round(self.seconds, 2),
                "pages_per_second": round(self.pages_per_second, 1),
                "megabytes_per_second": round(self.megabytes_per_second, 2),
                "kept_share": round(self.kept_share, 3),
                "example": {
                    "url": self.example_url,
                    "before": [block.text for block in self.example],
                    "after": [block.text for block in self.example if block.content],
                },
                "directory": str(self.directory),
            }
        )


def show(summary: Summary, console: Console) -> None:
    """Print the summary for a person."""
    console.print()
    console.print(_example(summary))
    console.print(_figures(summary))


def _example(summary: Summary) -> Table:
    """One page block by block, its content's start and its end: what a reader sees, and what was kept."""
    table = Table(title=f"One page before and after: {summary.example_url}", expand=True)
    table.add_column("before", ratio=1, no_wrap=True)
    table.add_column("after", ratio=1, no_wrap=True)
    kept = (row for row, block in enumerate(summary.example) if block.content)
    start = max(0, next(kept, 0) - _ROWS_BEFORE)
    end = start + _FIRST_ROWS
    first, rest = summary.example[start:end], summary.example[end:]
    last = rest[-_LAST_ROWS:]
    _add_blocks(table, first)
    if len(rest) > len(last):
        table.add_row(f"… {counted(len(rest) - len(last), 'block')} …", "", style="dim")
    _add_blocks(table, last)
    table.caption = f"{len(first) + len(last)} of the page's {counted(len(summary.example), 'block')}"
    return table


def _add_blocks(table: Table, blocks: Sequence[Block]) -> None:
    for block in blocks:
        text = escape(block.text[:_CHARACTERS])
        table.add_row(text, text if block.content else "", style="" if block.content else "dim")


def _figures(summary: Summary) -> Table:
    table = Table.grid(padding=(0, 2))
    for row in _rows(summary):
        table.add_row(*row)
    return table


def _rows(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "pages in", f"{summary.pages} from the {summary.site} site"
    yield "documents", f"{summary.documents}, {summary.empty_documents} of them without text"
    yield "skipped", _by_reason(summary.skipped)
    yield "dead letters", _by_reason(summary.dead_letters)
    yield "unaccounted for", str(summary.unaccounted)
    yield "time", f"{summary.seconds:.1f} s, crawl included, labeled by {summary.labeler}"
    yield "speed", f"{summary.pages_per_second:.0f} pages/s, {summary.megabytes_per_second:.1f} MB/s"
    yield "text kept", f"{summary.kept_share:.0%} of what the pages show"
    yield "documents in", str(summary.directory / "documents.jsonl")
    yield "also there", "dead-letters.jsonl, summary.json, worker.log, crawler.log"


def _by_reason(counts: dict[str, int]) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return f"{sum(counts.values())} ({reasons})" if reasons else "0"
