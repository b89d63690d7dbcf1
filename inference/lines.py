"""A line of text and the marks in it, as a tree."""

from dataclasses import dataclass, field

from dehusk.schemas.markup import Mark

_MERGED = frozenset({Mark.STRONG, Mark.EMPHASIS, Mark.CODE})
_LITERAL = frozenset({Mark.CODE, Mark.FORMULA, Mark.DISPLAYED_FORMULA})
"""Marks in which there are no others."""


@dataclass(slots=True)
class Span:
    """A mark from one character of a line up to another."""

    start: int
    end: int
    kind: int
    """A `Mark`."""
    address: str = ""
    """Of a link."""
    children: list["Span"] = field(default_factory=list)


@dataclass(slots=True)
class Picture:
    """An image."""

    address: str
    text: str
    """Its alternative text."""
    character: int = -1
    """That it stands before, in its line."""


@dataclass(slots=True)
class Line:
    """A text without line breaks, and what is marked in it."""

    text: str
    spans: list[Span] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def join(lines: list[Line], parting: str = " ") -> Line:
    """Lines as one."""
    if len(lines) == 1:
        return lines[0]
    joined, begin = Line(parting.join([line.text for line in lines])), 0
    for line in lines:
        joined.spans += _shifted(line.spans, begin)
        joined.pictures += [
            Picture(each.address, each.text, each.character + begin) for each in line.pictures
        ]
        begin += len(line.text) + len(parting)
    return joined


def _shifted(spans: list[Span], by: int) -> list[Span]:
    return [
        Span(each.start + by, each.end + by, each.kind, each.address, _shifted(each.children, by))
        for each in spans
    ]


def tree(marks: list[Span]) -> list[Span]:
    """Marks, the outer before the inner ones, as trees.

    Those that touch are one, and code that is a link as a whole stands in it.
    """
    roots: list[Span] = []
    path: list[Span] = []
    for mark in marks:
        while path and (path[-1].end <= mark.start or mark.end > path[-1].end):
            path.pop()
        above = path[-1] if path else None
        if above is not None and above.kind in _LITERAL:
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


def _swap(code: Span, link: Span) -> Span:
    """Let a link stand around the code that it stands in; the code, which is now in it."""
    inner = Span(code.start, code.end, code.kind)
    code.kind, code.address, code.children = link.kind, link.address, [inner]
    return inner


def _is_one(span: Span, mark: Span) -> bool:
    return span.kind == mark.kind and (
        span.kind in _MERGED or (span.kind == Mark.LINK and span.address == mark.address)
    )
