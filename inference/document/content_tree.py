"""The kept blocks and images of a page in their containers, read from the columns of its markup."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count

import numpy as np
import numpy.typing as npt

from dehusk.inference.document.addresses import Addresses
from dehusk.inference.document.blocks import (
    FORMULAS,
    LINKS,
    LITERAL,
    PLAYERS,
    Image,
    Line,
    Rule,
    Span,
    nest,
    outermost,
)
from dehusk.inference.markup.footnotes import fragment_of, label_of
from dehusk.inference.markup.tex import Formula, find_formulas, unwrapped
from dehusk.inference.metadata.titles import readable
from dehusk.schemas.markup import Container, Embedded, Mark, Markup
from dehusk.schemas.options import Rendering
from dehusk.schemas.pages import SegmentedPage

_SPACE_BEFORE, _SPACE_AFTER = 1, 2
MAX_DEPTH = 60
"""Limit of nested containers; deeper ones are left out, but not their text."""
_SECTIONS = (Container.HEADING, Container.TABLE)


@dataclass(slots=True)
class Leaf:
    """A kept block of the page."""

    line: Line
    holder: int
    """As in `Markup.holders`."""
    in_row: bool
    """True if it stands in a row that is one line of the text."""
    boundary: int
    """`Boundary` flags between it and the kept block before."""
    hidden: bool


@dataclass(slots=True)
class Node:
    """A container, with its content."""

    kind: int
    """A `Container`, 0 for the root."""
    value: int
    """As in `Markup.containers`."""
    children: list["Leaf | Image | Rule | Node"] = field(default_factory=list)
    is_sectioned: bool = False
    """True if the container holds a heading or a table on the page, content or not."""
    label: str = ""
    """Label of a footnote."""

    def leaves(self) -> Iterator[Leaf]:
        """Yield all blocks within the node, in order."""
        for child in self.children:
            if isinstance(child, Leaf):
                yield child
            elif isinstance(child, Node):
                yield from child.leaves()

    def images(self) -> Iterator[Image]:
        """Yield all images between the blocks within the node, in order."""
        for child in self.children:
            if isinstance(child, Image):
                yield child
            elif isinstance(child, Node):
                yield from child.images()


def read_content_tree(
    page: SegmentedPage, markup: Markup, content: npt.NDArray[np.bool_], url: str, rendering: Rendering
) -> Node:
    """Return the root of the containers of the blocks that `content`, of shape [T], keeps."""
    return _Reader(page, markup, content, Addresses(url, markup.base), rendering).root()


class _Reader:
    """Reader of the columns of a page, as nodes."""

    def __init__(
        self,
        page: SegmentedPage,
        markup: Markup,
        content: npt.NDArray[np.bool_],
        addresses: Addresses,
        rendering: Rendering,
    ) -> None:
        self._page, self._markup, self._content = page, markup, content
        self._addresses, self._rendering = addresses, rendering
        self._parents, self._kinds, self._values = markup.containers.tolist()
        self._effective = self._limit_depth()
        self._sectioned = self._find_sectioned()
        self._labels = self._label_notes()
        self._marks = self._read_marks()
        self._within: dict[int, list[Image]] = {}
        self._between: dict[int, list[tuple[int, Image | Rule]]] = {}
        self._read_embedded()

    def root(self) -> Node:
        """Return the root of the containers, with the content in them."""
        root = Node(0, 0)
        nodes, open_ = [root], [0]
        for container, leaf in self._leaves():
            chain = self._chain(container)
            shared = next(
                (depth for depth, (one, other) in enumerate(zip(open_, chain, strict=False)) if one != other),
                min(len(open_), len(chain)),
            )
            del nodes[shared:], open_[shared:]
            for each in chain[shared:]:
                node = self._node(each - 1, is_sectioned=each in self._sectioned)
                nodes[-1].children.append(node)
                nodes.append(node)
                open_.append(each)
            nodes[-1].children.append(leaf)
        return root

    def _node(self, index: int, *, is_sectioned: bool) -> Node:
        kind, value = self._kinds[index], self._values[index]
        label = self._labels.get(self._markup.strings[value - 1], "") if kind == Container.NOTE else ""
        return Node(kind, value, [], is_sectioned, label)

    def _leaves(self) -> Iterator[tuple[int, Leaf | Image | Rule]]:
        """Yield blocks and what is embedded between them with their containers, in DOM order."""
        containers = self._markup.blocks.tolist()
        holders = self._markup.holders.tolist()
        layout = self._page.lists_and_tables
        columns = layout[1].tolist() if layout is not None else [0] * len(containers)
        boundary, hidden = 0, self._page.hidden
        content = self._content.tolist()
        for block, own_boundary in enumerate(self._page.boundaries):
            boundary |= own_boundary
            if block in self._between:
                yield from self._between[block]
            if content[block]:
                indent = self._markup.indents.get(block, 0)
                marks, images = nest(self._marks_of(block)), self._within.get(block, [])
                line = Line(self._page.texts[block], marks, images, indent)
                _move_behind_links(line)
                in_row = columns[block] > 0
                yield containers[block], Leaf(line, holders[block], in_row, boundary, hidden[block])
                boundary = 0
        yield from self._between.get(len(containers), ())

    def _limit_depth(self) -> list[int]:
        """Return the container that stands for each: itself, or the innermost around it that is kept."""
        depths, effective = [0], [0]
        for index, (parent, kind) in enumerate(zip(self._parents, self._kinds, strict=True), start=1):
            depth = depths[parent] + 1
            kept = depth <= MAX_DEPTH or kind == Container.CODE
            depths.append(depth)
            effective.append(index if kept else effective[parent])
        return effective

    def _find_sectioned(self) -> set[int]:
        """Return the containers that hold headings or tables."""
        sectioned: set[int] = set()
        for index in range(len(self._kinds), 0, -1):
            if index in sectioned or self._kinds[index - 1] in _SECTIONS:
                sectioned.add(self._parents[index - 1])
        return sectioned

    def _chain(self, container: int) -> list[int]:
        """Return the containers from the root, 0, to one."""
        chain = []
        container = self._effective[container]
        while container:
            chain.append(container)
            container = self._effective[self._parents[container - 1]]
        return [0, *reversed(chain)]

    def _label_notes(self) -> dict[str, str]:
        """Return the labels of the footnotes by their ids: those of the page, or numbers."""
        labels: dict[str, str] = {}
        strings, texts = self._markup.strings, self._page.texts
        taken: set[str] = set()
        for block, start, end, kind, string in self._markup.marks.T.tolist():
            name = fragment_of(strings[string]) if kind == Mark.REFERENCE else ""
            if kind == Mark.REFERENCE and name not in labels:
                label = label_of(texts[block][start:end])
                if not label or label in taken:
                    label = next(each for each in map(str, count(len(taken) + 1)) if each not in taken)
                labels[name] = label
                taken.add(label)
        return labels

    def _marks_of(self, block: int) -> list[Span]:
        """Return the marks of a block, with the formulas that are spelled in its text."""
        marks, text = self._marks.get(block, []), self._page.texts[block]
        if "$" not in text and "\\" not in text:
            return marks
        markup = self._markup
        found = find_formulas(text, typesets=markup.typesets, dollars=markup.typesets_dollars)
        return _with_formulas(marks, found) if found else marks

    def _read_marks(self) -> dict[int, list[Span]]:
        marks: dict[int, list[Span]] = {}
        if not len(self._content):
            return marks
        columns = self._markup.marks
        kept = columns[:, self._content[columns[0]]]
        for block, start, end, kind, string in kept.T.tolist():
            last = min(end, len(self._page.texts[block]))
            span = self._span(start, last, kind, string, self._page.texts[block])
            if span is not None and start < last:
                marks.setdefault(block, []).append(span)
        return marks

    def _span(self, start: int, end: int, kind: int, string: int, text: str) -> Span | None:
        """Return a mark; None for a link that no reader may follow."""
        if kind in LINKS:
            target = self._markup.strings[string]
            address = self._addresses.of_link(target) if self._rendering.links else None
            if kind == Mark.REFERENCE:
                return Span(start, end, kind, address or "", self._labels.get(fragment_of(target), ""))
            return None if address is None else Span(start, end, kind, address)
        if kind in FORMULAS:
            tex = text[start:end] if string < 0 else self._markup.strings[string]
            return Span(start, end, kind, meaning=unwrapped(tex))
        return Span(start, end, kind)

    def _read_embedded(self) -> None:
        strings = self._markup.strings
        for (
            kind,
            block,
            character,
            space,
            container,
            *near,
            address,
            text,
        ) in self._markup.embedded.T.tolist():
            if not self._is_wanted(kind) or not self._is_kept(block, character, near):
                continue
            if kind == Embedded.RULE:
                self._between.setdefault(block, []).append((container, Rule()))
                continue
            of = self._addresses.of_image if kind == Embedded.IMAGE else self._addresses.of_link
            resolved = of(strings[address]) if address >= 0 else ""
            is_told = kind == Embedded.IMAGE or kind in PLAYERS
            told = readable(strings[text]) if is_told else strings[text]
            if resolved is not None:
                self._place(Image(resolved, told, character, kind), block, container, space)

    def _is_wanted(self, kind: int) -> bool:
        if kind == Embedded.IMAGE:
            return self._rendering.images
        return self._rendering.links or kind not in PLAYERS

    def _place(self, image: Image, block: int, container: int, space: int) -> None:
        """Put an image into its block, or between the kept blocks."""
        if image.character >= 0 and self._content[block]:
            _part(image, self._page.texts[block], space)
            within = self._within.setdefault(block, [])
            for earlier in reversed(within):  # those behind the space that this one stands before
                if earlier.character <= image.character:
                    break
                earlier.character, earlier.before = image.character, " "
            within.append(image)
        else:
            image.character = -1
            self._between.setdefault(block, []).append((container, image))

    def _is_kept(self, block: int, character: int, near: Sequence[int]) -> bool:
        """Return True if an image's block is kept, or all blocks beside it, or all beside its figure."""
        if character >= 0 and self._content[block]:
            return True
        first, end, before, after = near
        adjacent = [index for index in (block - 1, block) if character < 0 and first <= index < end]
        around_figure = [index for index in (before, after) if index >= 0]
        return self._are_content(adjacent) or self._are_content(around_figure)

    def _are_content(self, blocks: Sequence[int]) -> bool:
        return bool(blocks) and all(self._content[block] for block in blocks)


def _with_formulas(marks: list[Span], found: list[Formula]) -> list[Span]:
    """Return marks with the formulas that are in no literal text, in place of marks that part them."""
    literal = [each for each in marks if each.kind in LITERAL]
    ends = [*accumulate((each.end for each in literal), max)]
    formulas = [each for each in found if not _meets(literal, ends, each)]
    first_ends = [each.end for each in formulas]
    starts = [each.start for each in formulas]
    kept: list[Span] = []
    for mark in marks:
        first, last = bisect_right(first_ends, mark.start), bisect_left(starts, mark.end) - 1
        if first > last or (mark.start <= starts[first] and first_ends[last] <= mark.end):
            kept.append(mark)
    for formula in formulas:
        kind = Mark.DISPLAYED_FORMULA if formula.is_displayed else Mark.FORMULA
        kept.append(Span(formula.start, formula.end, kind, meaning=formula.tex))
    return sorted(kept, key=lambda each: (each.start, -each.end))


def _meets(literal: list[Span], ends: list[int], formula: Formula) -> bool:
    """Return True if a formula shares characters with literal text; `ends` are the greatest up to each."""
    last = bisect_left(literal, formula.end, key=lambda each: each.start) - 1
    return last >= 0 and ends[last] > formula.start


def _part(image: Image, text: str, space: int) -> None:
    """Part an image from the words beside it as the page does, if the text does not do so there."""
    character = text[image.character : image.character + 1]
    if space == _SPACE_BEFORE and character == " ":
        image.character += 1
    elif space & _SPACE_BEFORE and image.character:
        image.before = " "
    if space & _SPACE_AFTER and character not in ("", " "):
        image.after = " "


def _move_behind_links(line: Line) -> None:
    """Move players, which are written as links, behind the links whose texts they stand in."""
    players = [each for each in line.images if each.kind in PLAYERS]
    links = list(outermost(line.spans, LINKS)) if players else []
    last = -1
    for player in reversed(players):
        place = bisect_left(links, (player.character,)) - 1
        end = links[place][1] if place >= 0 else 0
        if player.character < end:
            is_parted = end == last or not line.text[end : end + 1].isalnum()
            player.character, player.before, player.after = end, " ", "" if is_parted else " "
            last = end
    if last >= 0:
        line.images.sort(key=lambda image: image.character)
