"""The kept blocks and images of a page in their containers, read from the columns of its markup.

Their addresses are absolute, of safe schemes and spelled plainly, so that they may be published.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, urljoin, urlsplit

import numpy as np
import numpy.typing as npt

from dehusk.inference.document.blocks import Image, Line, Span, nest
from dehusk.schemas.markup import Container, Mark, Markup
from dehusk.schemas.options import Rendering
from dehusk.schemas.pages import SegmentedPage

_SCHEMES = frozenset({"mailto", "tel"})
_WITH_HOST = frozenset({"http", "https", "ftp"})
_IMAGE_SCHEMES = frozenset({"http", "https", ""})
_AROUND = "".join(map(chr, range(0x21)))
_IN_BETWEEN = re.compile(r"[\t\n\r]")
_UNSAFE = re.compile(
    r"""[\x00-\x20\x7f-\xa0"<>\\^`{|}()\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"""
)
_PLAIN = re.compile(
    r"(?:https?://[a-z0-9.-]+(?=[/?#]|\Z)|(?=/(?!/)))(?!.*/\.)[!#$%&'*+,./0-9:;=?@A-Z_a-z~-]*", re.ASCII
)
"""An absolute address of the web, or one of the same host, that needs no change."""
_RELATIVE = re.compile(r"(?!//)[^:\\]*")


class Addresses:
    """Resolver of a page's addresses; each is checked once."""

    def __init__(self, url: str, base: str) -> None:
        candidates = (_joined(url, _bare(base)), _joined("", url))
        self._base = next((each for each in candidates if each and _is_safe(each)), "")
        scheme, host, *_ = urlsplit(self._base)
        self._origin = f"{scheme}://{host}" if scheme in _IMAGE_SCHEMES and host else ""
        self._known: dict[str, str | None] = {}

    def of_link(self, address: str) -> str | None:
        """Return the absolute address of a link, or None for one that no reader may follow."""
        if address not in self._known:
            self._known[address] = self._safe(address)
        return self._known[address]

    def of_image(self, address: str) -> str | None:
        """Return the absolute address of an image, or None if its scheme is none of a web server."""
        resolved = self.of_link(address)
        return resolved if resolved is not None and urlsplit(resolved).scheme in _IMAGE_SCHEMES else None

    def _safe(self, address: str) -> str | None:
        if _PLAIN.fullmatch(address) and (self._origin or address[0] != "/"):
            return self._origin + address if address[0] == "/" else address
        bare = _bare(address)
        joined = _joined(self._base, bare)
        if not joined:
            return None
        if not _is_safe(joined) and (self._base or not _RELATIVE.fullmatch(joined)):
            return None
        return _UNSAFE.sub(lambda unsafe: quote(unsafe[0], safe=""), joined)


def _bare(address: str) -> str:
    """Return an address without the characters that browsers leave out of it."""
    return _IN_BETWEEN.sub("", address.strip(_AROUND))


def _joined(base: str, address: str) -> str | None:
    try:
        joined = urljoin(base, address)
        urlsplit(joined)
    except ValueError:  # such as an unfinished IPv6 address
        return None
    return joined


def _is_safe(address: str) -> bool:
    """Return True if an address is absolute, and of a scheme that only shows a page or writes to somebody."""
    scheme, host, *_ = urlsplit(address)
    return scheme in _SCHEMES or (scheme in _WITH_HOST and bool(host))


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
    children: list["Leaf | Image | Node"] = field(default_factory=list)
    is_sectioned: bool = False
    """True if the container holds a heading or a table on the page, content or not."""

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
        self._marks = self._read_marks()
        self._within: dict[int, list[Image]] = {}
        self._between: dict[int, list[tuple[int, Image]]] = {}
        if rendering.images:
            self._read_images()

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
                node = Node(self._kinds[each - 1], self._values[each - 1], [], each in self._sectioned)
                nodes[-1].children.append(node)
                nodes.append(node)
                open_.append(each)
            nodes[-1].children.append(leaf)
        return root

    def _leaves(self) -> Iterator[tuple[int, Leaf | Image]]:
        """Yield blocks and images with their containers, in DOM order."""
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
                line = Line(
                    self._page.texts[block], nest(self._marks.get(block, [])), self._within.get(block, [])
                )
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

    def _read_marks(self) -> dict[int, list[Span]]:
        marks: dict[int, list[Span]] = {}
        if not len(self._content):
            return marks
        columns = self._markup.marks
        kept = columns[:, self._content[columns[0]]]
        strings = self._markup.strings
        for block, start, end, kind, string in kept.T.tolist():
            address: str | None = ""
            if kind == Mark.LINK:
                address = self._addresses.of_link(strings[string]) if self._rendering.links else None
            last = min(end, len(self._page.texts[block]))
            if address is not None and start < last:
                marks.setdefault(block, []).append(Span(start, last, kind, address))
        return marks

    def _read_images(self) -> None:
        strings = self._markup.strings
        for block, character, container, *near, address, text in self._markup.images.T.tolist():
            if not self._is_kept(block, character, near):
                continue
            resolved = self._addresses.of_image(strings[address])
            if resolved is not None:
                self._place(Image(resolved, strings[text], character), block, container)

    def _place(self, image: Image, block: int, container: int) -> None:
        """Put an image into its block, or between the kept blocks."""
        if image.character >= 0 and self._content[block]:
            self._within.setdefault(block, []).append(image)
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
