"""Short texts under many comments, and texts under few, made by taking out paragraphs, or comments.

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
_FEWEST, _MORE = 2, 7
"""The fewest comments that are left where most are taken out, and of how many numbers one is chosen."""


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


def with_few_comments(page: str, html: str, texts: Sequence[str], comment: Bools) -> str:
    """The HTML with the first two to eight of its comments, chosen by the page's id."""
    tree = LexborHTMLParser(html)
    known = {_key(text) for text, is_comment in zip(texts, comment, strict=True) if is_comment}
    parts = _outermost(node for node in tree.css("*") if _key(node.text()) in known)
    chains = [[*reversed(list(_ancestors(node))), node] for node in parts]
    left = _FEWEST + zlib.crc32(page.encode()) % _MORE
    for node in _items(chains)[left:]:
        node.decompose()
    return tree.html or html


def labels_by_text(texts: Sequence[str], labels: Bools, others: Sequence[str]) -> Bools:
    """The labels of the blocks of another page, by their texts; false for texts that are not here."""
    labeled = {_key(text) for text, label in zip(texts, labels, strict=True) if label}
    return np.array([_key(text) in labeled for text in others], np.bool_)


def _outermost(nodes: Iterable[LexborNode]) -> list[LexborNode]:
    """The nodes, in the order of the page, that are in none of the others."""
    found: dict[int, LexborNode] = {}
    for node in nodes:
        if not any(above.mem_id in found for above in _ancestors(node)):
            found[node.mem_id] = node
    return list(found.values())


def _items(chains: Sequence[Sequence[LexborNode]]) -> list[LexborNode]:
    """What the innermost element around the ends of all chains holds of them; chains begin with the root."""
    for nodes in zip(*chains, strict=False):
        different = {node.mem_id: node for node in nodes}
        if len(different) > 1:
            return list(different.values())
    return []


def _ancestors(node: LexborNode) -> Iterator[LexborNode]:
    """The elements around one, the innermost first."""
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent


def _key(text: str) -> str:
    return "".join(text.split())
