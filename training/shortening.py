"""Short texts under many comments, made of long ones by taking out most paragraphs of their content.

A crawl of blogs and newspapers has many such pages, and collections of pages with gold texts have few. A
model that has not met them takes the comments for the posts of a forum.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from selectolax.lexbor import LexborHTMLParser, LexborNode

Bools = npt.NDArray[np.bool_]

_PARAGRAPHS = "p, li, dd, dt, blockquote, pre, table, figure, h2, h3, h4, h5, h6"
_LEAST_COMMENTS = 10
"""Blocks of comments that a page must have to be shortened."""
_LEAST_PARAGRAPHS = 3
"""Paragraphs that must be taken out."""


def shortened(page: str, html: str, texts: Sequence[str], content: Bools, comment: Bools) -> str | None:
    """The HTML with one or two paragraphs of its content; None without enough of comments and paragraphs.

    `page` is its id, by which it is chosen how many are left.
    """
    if comment.sum() < _LEAST_COMMENTS:
        return None
    tree = LexborHTMLParser(html)
    known = {_key(text) for text, is_content in zip(texts, content, strict=True) if is_content}
    left = 1 + zlib.crc32(page.encode()) % 2
    others = _outermost(node for node in tree.css(_PARAGRAPHS) if _key(node.text()) in known)[left:]
    if len(others) < _LEAST_PARAGRAPHS:
        return None
    for node in others:
        node.decompose()
    return tree.html


def labels_by_text(texts: Sequence[str], labels: Bools, others: Sequence[str]) -> Bools:
    """The labels of the blocks of another page, by their texts; false for texts that are not here."""
    labeled = {_key(text) for text, label in zip(texts, labels, strict=True) if label}
    return np.array([_key(text) in labeled for text in others], np.bool_)


def _outermost(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """The nodes, in the order of the page, that are in none of the others."""
    found: dict[int, LexborNode] = {}
    for node in nodes:
        if not any(above in found for above in _above(node)):
            found[node.mem_id] = node
    return list(found.values())


def _above(node: LexborNode) -> Iterator[int]:
    """The elements around one."""
    parent = node.parent
    while parent is not None:
        yield parent.mem_id
        parent = parent.parent


def _key(text: str) -> str:
    return "".join(text.split())
