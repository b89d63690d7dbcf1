"""Where the blocks of a page stand in a text that was made of them, or that they were made of.

Both are compared by their letters and digits alone: white space and marks differ.
"""

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise

Piece = tuple[str, int]
"""A part of a text, and the block that it is of, or -1."""

_WORD = re.compile(r"[^\W_]+")
_OPENING = re.compile(r"[\W_]*(?:\d+[.)]\s+)?[\W_]*")
"""What may stand before the first letter of a line: marks of Markdown, the number of an item."""
_SHORT = 12
"""Letters of a block that may well stand elsewhere, too."""
_NEAR = 2_000
"""Letters within which a short block is looked for."""
_FAR = 200_000
_FIRST_WORDS = (8, 4, 2, 1)
"""By so many words a block is looked for where the text has something in its middle, such as an address."""


class Letters:
    """The letters and digits of a text, and where its words begin."""

    def __init__(self, text: str) -> None:
        words = list(_WORD.finditer(text))
        self.letters = "".join(word[0] for word in words)
        starts = accumulate((word.end() - word.start() for word in words), initial=0)
        self.origins = {start: word.start() for start, word in zip(starts, words, strict=False)}
        """Where each word begins in the text, by where it begins among the letters."""

    def find(self, text: str, position: int) -> tuple[int, int] | None:
        """Where the letters of a block, or of its first words, begin behind a position and end; at a word."""
        words = _WORD.findall(text)
        for part in dict.fromkeys("".join(words[:count]) for count in (len(words), *_FIRST_WORDS)):
            start = find_letters(self.letters, part, position)
            while start >= 0 and start not in self.origins:
                start = find_letters(self.letters, part, start + 1)
            if start >= 0:
                return start, start + len(part)
        return None


def letters_of(text: str) -> str:
    """The letters and digits of a text."""
    return "".join(_WORD.findall(text))


def find_letters(letters: str, wanted: str, position: int) -> int:
    """Where letters begin among others behind a position, near it if they are few; -1 where they do not."""
    reach = position + len(wanted) + (_NEAR if len(wanted) < _SHORT else _FAR)
    return letters.find(wanted, position, reach) if wanted else -1


def pieces(text: str, blocks: Sequence[Piece]) -> list[Piece]:
    """A text that was made of blocks, in the order given, cut where each begins."""
    letters, position, starts = Letters(text), 0, [(0, -1)]
    for block_text, block in blocks:
        found = letters.find(block_text, position)
        if found is not None:
            start, (before, last) = letters.origins[found[0]], starts[-1]
            opening = _opening(text, start)
            starts.append((opening if last < 0 or opening > before else start, block))
            position = found[1]
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
