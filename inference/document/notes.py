"""The footnotes of an outline, and the references to them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dehusk.inference.document.blocks import Block, Group, Heading, Line, Paragraph, Rule, Span, Table, cut
from dehusk.schemas.markup import Mark


def settle_notes(blocks: Iterable[Block]) -> None:
    """Let only references be some whose footnotes are content, and only footnotes that are referred to."""
    outline = list(blocks)
    notes = {note.label for note in _notes(outline)}
    referred: set[str] = set()
    for span in _references(outline):
        if span.meaning not in notes:
            span.meaning = ""
        referred.add(span.meaning)
    labels: set[str] = set()
    for note in _notes(outline):
        if note.label not in referred or note.label in labels:
            note.label = ""
        labels.add(note.label)


def take_notes(blocks: list[Block]) -> tuple[list[Block], list[Group]]:
    """Return blocks without the footnotes in them, and these, without the links back to their references."""
    notes: list[Group] = []
    kept = _without(blocks, notes)
    return kept, [replace(note, children=_without_returns(note.children)) for note in notes]


def without_outer_rules(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks without lines that have nothing before or after them, or another line."""
    kept: list[Block] = []
    for block in blocks:
        if not isinstance(block, Rule) or (kept and not isinstance(kept[-1], Rule)):
            kept.append(block)
    while kept and isinstance(kept[-1], Rule):
        kept.pop()
    return kept


def _without(blocks: list[Block], notes: list[Group]) -> list[Block]:
    kept: list[Block] = []
    for block in blocks:
        if not isinstance(block, Group):
            kept.append(block)
        elif block.label:
            notes.append(replace(block, children=_without(block.children, notes)))
        else:
            children = _without(block.children, notes)
            if children or not block.children:
                kept.append(replace(block, children=children))
    return without_outer_rules(kept)


def _without_returns(blocks: list[Block]) -> list[Block]:
    kept: list[Block] = []
    for block in blocks:
        if isinstance(block, Paragraph):
            lines = [cut(line, Mark.RETURN) for line in block.lines]
            if left := [line for line in lines if line.text or line.images]:
                kept.append(Paragraph(left))
        elif isinstance(block, Group):
            kept.append(replace(block, children=_without_returns(block.children)))
        else:
            kept.append(block)
    return kept


def _notes(blocks: Iterable[Block]) -> Iterator[Group]:
    for block in blocks:
        if isinstance(block, Group):
            if block.label:
                yield block
            yield from _notes(block.children)


def _references(blocks: Iterable[Block]) -> Iterator[Span]:
    for block in blocks:
        match block:
            case Group():
                yield from _references(block.children)
            case Paragraph():
                yield from _referring(block.lines)
            case Heading():
                yield from _referring([block.line])
            case Table():
                yield from _referring(line for row in block.rows for cell in row for line in cell.lines)


def _referring(lines: Iterable[Line]) -> Iterator[Span]:
    waiting = [span for line in lines for span in reversed(line.spans)]
    while waiting:
        span = waiting.pop()
        if span.kind == Mark.REFERENCE and span.meaning:
            yield span
        waiting += reversed(span.children)
