"""What the blocks of a page look like, as far as their paths and boundaries tell."""

import re
from dataclasses import dataclass

from dehusk.schemas.pages import BULLET, Boundary, SegmentedPage

_BEGINNINGS = (
    (Boundary.PARAGRAPH, "paragraph"),
    (Boundary.ROW, "row"),
    (Boundary.CELL, "cell"),
    (Boundary.LINE, "line"),
)
_KINDS = re.compile(r"(?:^|/)(h[1-6]|pre|td|th|li|blockquote)(?=/|$)")
_LISTS = {"ul", "ol", "menu", "dir"}
_DEEPEST = 8
"""Lists within lists that are indented further."""


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block as the inspector shows it."""

    text: str
    path: str
    kind: str
    """`h1` to `h6`, `pre`, `th`, `td`, `li`, `blockquote`, or `p` for all else."""
    begins: str
    """What it begins: a `paragraph`, `row`, `cell` or `line`; empty where it goes on in a line."""
    depth: int
    """Lists that it stands in."""
    marker: str
    """The bullet or number of the item that begins with it."""
    hidden: bool


def shown_blocks(page: SegmentedPage) -> list[ShownBlock]:
    """All blocks of a page, in order."""
    columns = zip(page.texts, page.paths, page.boundaries, page.hidden, _markers(page), strict=True)
    return [
        ShownBlock(text, path, _kind(path), _begins(boundary), _depth(path), marker, hidden)
        for text, path, boundary, hidden, marker in columns
    ]


def _kind(path: str) -> str:
    """The innermost element of a path that looks in a way of its own; of a heading, the heading."""
    found: list[str] = _KINDS.findall(path)
    headings = [name for name in found if name[1:].isdigit()]
    return (headings or found or ["p"])[-1]


def _begins(boundary: int) -> str:
    return next((name for flag, name in _BEGINNINGS if boundary & flag), "")


def _depth(path: str) -> int:
    return min(sum(tag in _LISTS for tag in path.split("/")), _DEEPEST)


def _markers(page: SegmentedPage) -> list[str]:
    """What marks the item that begins with each block; empty where none does."""
    if page.lists_and_tables is None or page.items is None:
        return [""] * len(page)
    markers, seen = [], set()
    for item in page.lists_and_tables[0].tolist():
        is_first = item > 0 and item not in seen
        seen.add(item)
        number = int(page.items[1, item - 1]) if is_first else 0
        markers.append("" if not is_first else "•" if number == BULLET else f"{number}.")
    return markers
