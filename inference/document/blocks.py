"""The blocks that Markdown and HTML are written from, and the marks in a line of text."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate

from dehusk.schemas.markup import Embedded, Mark

LINKS = (Mark.LINK, Mark.REFERENCE, Mark.RETURN)
FORMULAS = (Mark.FORMULA, Mark.DISPLAYED_FORMULA)
PLAYERS = {Embedded.VIDEO: "Video", Embedded.AUDIO: "Audio"}
"""Text of a link to a player without a title."""
LITERAL = frozenset({Mark.CODE, *FORMULAS})
"""Marks that hold no others, and in whose text nothing is typeset."""
_MERGED = frozenset({Mark.STRONG, Mark.EMPHASIS, Mark.CODE, Mark.STRUCK})
_SIGNS = {Mark.RAISED: "^", Mark.LOWERED: "_"}


@dataclass(slots=True)
class Span:
    """A mark from one character of a line up to another."""

    start: int
    end: int
    kind: int
    """A `Mark`."""
    address: str = ""
    """Address of a link."""
    meaning: str = ""
    """TeX of a formula; label of the footnote that is referred to, empty if that is not content."""
    children: list["Span"] = field(default_factory=list)


@dataclass(slots=True)
class Image:
    """An image, a player or a formula that is no text."""

    address: str
    """Address; empty for a formula."""
    text: str
    """Alternative text, title or TeX."""
    character: int = -1
    """Index of the character of its line that it stands before; -1 outside of lines."""
    kind: int = Embedded.IMAGE
    """An `Embedded`."""
    before: str = ""
    """White space before it that the line does not have."""
    after: str = ""

    @property
    def is_formula(self) -> bool:
        """True for a formula, displayed or not."""
        return self.kind in (Embedded.FORMULA, Embedded.DISPLAYED_FORMULA)


@dataclass(slots=True)
class Rule:
    """A line between sections."""


@dataclass(slots=True)
class Line:
    """A text without line breaks, with the marks and images in it."""

    text: str
    spans: list[Span] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    indent: int = 0
    """Characters that its first line is indented by, if it is code."""


@dataclass(slots=True)
class Paragraph:
    """Consecutive lines."""

    lines: list[Line]


@dataclass(slots=True)
class Heading:
    """A heading of level 1 to 6."""

    level: int
    line: Line


@dataclass(slots=True)
class Code:
    """Preformatted text."""

    text: str
    language: str
    """Language in lower case; empty if unknown."""


@dataclass(slots=True)
class Cell:
    """A cell of a table; empty if it has no lines."""

    lines: list[Line] = field(default_factory=list)
    is_header: bool = False


@dataclass(slots=True)
class Table:
    """Rows of equally many cells."""

    rows: list[list[Cell]]

    @property
    def has_header(self) -> bool:
        """True if the first row names the columns: it is of header cells, or the only one all in bold."""
        first, *others = self.rows
        if all(cell.is_header for cell in first if cell.lines):
            return True
        return _is_bold(first) and not any(map(_is_bold, others))


def _is_bold(row: list[Cell]) -> bool:
    """Return True for a row of several cells with text, all of it in bold."""
    filled = [cell for cell in row if cell.lines]
    return len(filled) > 1 and all(_is_strong(line) for cell in filled for line in cell.lines)


def _is_strong(line: Line) -> bool:
    """Return True if all of a line is in bold; a link, or emphasis, may stand around that."""
    spans = line.spans
    while len(spans) == 1 and (spans[0].start, spans[0].end) == (0, len(line.text)):
        if spans[0].kind == Mark.STRONG:
            return True
        spans = spans[0].children
    return False


@dataclass(slots=True)
class Group:
    """A list, an item, a quotation, a figure, terms, a part of these, a footnote, or the root, of kind 0."""

    kind: int
    """A `Container`."""
    number: int
    """Number of an item."""
    children: list["Block"] = field(default_factory=list)
    is_done: bool | None = None
    """State of an item that is a task."""
    label: str = ""
    """Label of a footnote that is referred to."""


Block = Paragraph | Heading | Code | Table | Image | Rule | Group


def join(lines: list[Line], parting: str = " ") -> Line:
    """Join lines to one."""
    if len(lines) == 1:
        return lines[0]
    joined, begin = Line(parting.join([line.text for line in lines])), 0
    for line in lines:
        _add_marks(joined, line, begin)
        begin += len(line.text) + len(parting)
    return joined


def append(line: Line, other: Line, parting: str) -> None:
    """Add another line to the end of one."""
    begin = len(line.text) + len(parting)
    line.text += parting + other.text
    _add_marks(line, other, begin)


def _add_marks(line: Line, other: Line, begin: int) -> None:
    """Add the marks and images of another line, whose text begins at a character of this one."""
    line.spans += _shifted(other.spans, begin)
    line.images += [replace(each, character=each.character + begin) for each in other.images]


def _shifted(spans: list[Span], by: int) -> list[Span]:
    return [
        Span(
            each.start + by,
            each.end + by,
            each.kind,
            each.address,
            each.meaning,
            _shifted(each.children, by),
        )
        for each in spans
    ]


def start_of(text: str, span: Span) -> int:
    """Return where the text of a mark begins: after the sign between a number and a raised or lowered one."""
    start = span.start
    before, behind = text[start - 1 : start], text[start + 1 : min(start + 2, span.end)]
    is_between = before.isdecimal() and behind.isdecimal()
    return start + (is_between and text[start] == _SIGNS.get(Mark(span.kind)))


def hangs(span: Span) -> bool:
    """Return True for a raised link, such as the mark of a note, which has no white space before it."""
    links = [each for each in span.children if each.kind in LINKS]
    return span.kind == Mark.RAISED and [(each.start, each.end) for each in links] == [(span.start, span.end)]


def begin_at(spans: list[Span], start: int) -> None:
    """Let spans, and those in them, begin at a character, if they begin before it."""
    while spans and spans[0].start < start:
        spans[0].start = start
        spans = spans[0].children


def cut(line: Line, kind: int) -> Line:
    """Return a line without the texts of its marks of a kind, and the white space around it."""
    parts = sorted(outermost(line.spans, (kind,)))
    starts, ends = [start for start, _ in parts], [end for _, end in parts]
    pieces = [line.text[end:start] for end, start in zip([0, *ends], [*starts, None], strict=True)]
    cut_before = [0, *accumulate(end - start for start, end in parts)]
    text = "".join(pieces)
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())

    def moved(position: int) -> int:
        number = bisect_left(starts, position)
        before = cut_before[number]
        if number:
            before -= max(ends[number - 1] - position, 0)
        return min(max(position - before, first), last) - first

    kept = _moved(line.spans, kind, moved)
    images = [replace(each, character=moved(each.character)) for each in line.images]
    return Line(text.strip(), kept, images)


def outermost(spans: list[Span], kinds: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield where the marks of some kinds that are in no others of these begin and end."""
    for span in spans:
        if span.kind in kinds:
            yield span.start, span.end
        else:
            yield from outermost(span.children, kinds)


def _moved(spans: list[Span], kind: int, moved: Callable[[int], int]) -> list[Span]:
    """Return spans at other places, without those of a kind and empty ones."""
    kept = [
        replace(
            each, start=moved(each.start), end=moved(each.end), children=_moved(each.children, kind, moved)
        )
        for each in spans
        if each.kind != kind
    ]
    return [each for each in kept if each.start < each.end]


def nest(marks: list[Span]) -> list[Span]:
    """Nest marks, given outer before inner ones, and return the outermost.

    Adjacent marks of the same kind become one. A link of the extent of code or a formula stands around it.
    """
    roots: list[Span] = []
    path: list[Span] = []
    for mark in marks:
        while path and (path[-1].end <= mark.start or mark.end > path[-1].end):
            path.pop()
        above = path[-1] if path else None
        if above is not None and above.kind in LITERAL:
            if mark.kind == Mark.LINK and (mark.start, mark.end) == (above.start, above.end):
                path.append(_swap(above, mark))
            continue
        siblings = roots if above is None else above.children
        last = siblings[-1] if siblings else None
        if last is not None and last.end == mark.start and _is_one(last, mark):
            last.end = mark.end
            path.append(last)
        else:
            siblings.append(mark)
            path.append(mark)
    return roots


def _swap(literal: Span, link: Span) -> Span:
    """Put code, or a formula, into the link that it holds, and return it."""
    inner = replace(literal)
    literal.kind, literal.address, literal.meaning, literal.children = link.kind, link.address, "", [inner]
    return inner


def _is_one(span: Span, mark: Span) -> bool:
    return span.kind == mark.kind and (
        span.kind in _MERGED or (span.kind == Mark.LINK and span.address == mark.address)
    )
