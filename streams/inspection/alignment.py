"""Where the blocks of a page stand in a text that was made of them, or that they were made of.

Both are compared by their letters and digits alone: white space and marks differ.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

Piece = tuple[str, int]
"""A part of a text, and the block that it is of, or -1."""
Place = tuple[int, int, int]
"""A block, and where its letters begin and end among all letters of a text."""

_LETTERS = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"[\W_]*(?:\d+[.)]\s+)?[\W_]*")
"""What may stand before the first letter of a line: marks of Markdown, the number of an item."""
_SHORT = 12
"""Letters of a block that may well stand elsewhere, too."""
_NEAR = 2_000
"""Letters within which a short block is looked for."""
_FAR = 200_000
_BEGINNING = 40
"""Letters of a block that tell it, where the text has something in between."""


class Letters:
    """The letters and digits of a text, and where each stands."""

    def __init__(self, text: str) -> None:
        runs = list(_LETTERS.finditer(text))
        self.letters = "".join(run[0] for run in runs)
        self._origins = [run.start() for run in runs]
        self._starts: list[int] = []
        count = 0
        for run in runs:
            self._starts.append(count)
            count += run.end() - run.start()

    def origin(self, letter: int) -> int:
        """Where a letter stands in the text."""
        run = bisect_right(self._starts, letter) - 1
        return self._origins[run] + letter - self._starts[run]


def letters_of(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(_LETTERS.findall(text))


def places(letters: str, blocks: Sequence[Piece], *, whole: bool) -> Iterator[Place]:
    """Where blocks stand among letters, in order; those that are not found, or have no letters, are left out.

    With `whole`, all letters of a block stand in a row; else at least the first ones do.
    """
    position = 0
    for text, block in blocks:
        wanted = letters_of(text)
        for part in (wanted,) if whole else (wanted, wanted[:_BEGINNING], wanted[:_SHORT]):
            reach = position + len(part) + (_NEAR if len(part) < _SHORT else _FAR)
            start = letters.find(part, position, reach) if part else -1
            if start >= 0:
                position = start + len(part)
                yield block, start, position
                break


def pieces(text: str, blocks: Sequence[Piece]) -> list[Piece]:
    """A text that was made of blocks, in the order given, cut where each begins."""
    found = Letters(text)
    starts = [(0, -1)]
    for block, start, _ in places(found.letters, blocks, whole=False):
        starts.append((_opening(text, found.origin(start)), block))
    cut = [(text[start:end], block) for (start, block), (end, _) in pairwise([*starts, (len(text), -1)])]
    return [piece for piece in cut if piece[0]]


def _opening(text: str, start: int) -> int:
    """Where a block begins whose first letter is known: with the marks before it."""
    line = text.rfind("\n", 0, start) + 1
    if _OPENING.fullmatch(text, line, start):
        return line
    while start > line and not text[start - 1].isspace() and not text[start - 1].isalnum():
        start -= 1
    return start
