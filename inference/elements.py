"""What each HTML element is to a reader, and where in a page it stands."""

from inference.tokens import Remembered
from schemas.pages import Boundary

# ruff: noqa: SIM905 -- a table of thirty names reads better as words than as thirty strings

# Plain integers: the walk over a page compares one per node.
SKIPPED = 0
"""Not shown, with all that it holds."""
TIGHT = 1
"""Part of a line; its edges do not part words: `w<b>or</b>d`."""
INLINE = 2
"""Part of a line; its edges part words."""
LINK = 3
"""An inline element whose text is linked."""
BREAK = 4
"""The end of a line."""
BLOCK = 5
"""On lines of its own."""
FALLBACK = 6
"""A block that is shown only where scripts do not run."""

MAX_PATH = 64
"""Tags in a path; of a deeper element the innermost are named."""

_KINDS = {
    "noscript": FALLBACK,
    "a": LINK,
    "br": BREAK,
    **dict.fromkeys(
        """
        annotation annotation-xml applet area audio base canvas col colgroup datalist desc embed frame
        frameset head iframe link meta meter noembed noframes object param progress rp script source style svg
        template title track video
        """.split(),
        SKIPPED,
    ),
    **dict.fromkeys("b big cite code em font i mark s small strong sub sup u wbr".split(), TIGHT),
    **dict.fromkeys(
        """
        abbr acronym bdi bdo data del dfn img ins kbd label math mi mn mo ms mtext nobr picture q rb rt rtc
        ruby samp slot span strike time tt var
        """.split(),
        INLINE,
    ),
}
_EDGES = {
    **dict.fromkeys("td th".split(), Boundary.CELL),
    **dict.fromkeys("tr thead tbody tfoot".split(), Boundary.ROW),
    **dict.fromkeys(
        """
        blockquote dl fieldset figure h1 h2 h3 h4 h5 h6 hr listing menu ol p plaintext pre table textarea ul
        xmp
        """.split(),
        Boundary.PARAGRAPH,
    ),
}
_PREFORMATTED = frozenset("listing plaintext pre textarea xmp".split())


def _traits(tag: str) -> tuple[int, int, int, bool]:
    """An element's kind, the boundaries at its start and end, and whether its white space counts."""
    # Comments, doctypes and processing instructions have names of their own, or none.
    kind = _KINDS.get(tag, BLOCK) if tag[:1].isalpha() else SKIPPED
    edge = _EDGES.get(tag, Boundary.LINE).value
    return kind, edge | Boundary.ITEM.value if tag == "li" else edge, edge, tag in _PREFORMATTED


_traits_of = Remembered(_traits, 4096)


class ElementPath(dict[int | str, "ElementPath"]):
    """The tags from the root to an element; its items are the paths of the element's children.

    Paths are shared between the elements of a page and between pages: each is worked out once.
    """

    __slots__ = ("end", "kept", "kind", "parent", "preformatted", "start", "text")
    kept: int
    """Which boundaries met before its end outlive it: an item that showed nothing was none."""
    text: str

    def __init__(self, tag: str, parent: "ElementPath | None" = None) -> None:
        self.parent: ElementPath = self if parent is None else parent
        self.kind, self.start, self.end, preformatted = _traits_of[tag]
        self.kept = ~(self.start & ~self.end)
        self.preformatted: bool = preformatted or (parent is not None and parent.preformatted)
        self.text = f"{parent.text}/{tag}" if parent is not None and parent.text else tag
        if self.text.count("/") >= MAX_PATH:
            self.text = self.text.partition("/")[2]


class PathTree:
    """The paths met so far; forgotten between pages when they are too many."""

    def __init__(self, size: int = 50_000) -> None:
        self._size = size
        self._made = 0
        self._root = ElementPath("")

    def root(self) -> ElementPath:
        """The path above the root element of a page."""
        if self._made > self._size:
            self._made = 0
            self._root = ElementPath("")
        return self._root

    def add(self, parent: ElementPath, key: int | str, tag: str) -> ElementPath:
        """The path of a child that was not met before."""
        self._made += 1
        child = parent[key] = ElementPath(tag, parent)
        return child
