"""The HTML of a page again, from text blocks of which only the texts and the tags around them are known."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from inference.elements import INLINE, LINK, TIGHT, traits

_WITHIN_LINES = (INLINE, LINK, TIGHT)
_WRAPPER = "text"
"""CleanEval puts each page into an element of this name, which is none of HTML."""


def rebuilt_html(blocks: Sequence[Mapping[str, Any]]) -> str:
    """Elements around the blocks' texts as their paths tell: what two paths in a row share stays open.

    Where a path comes again and ends in an inline tag, its element goes on; others begin anew.
    """
    html: list[str] = []
    opened: list[str] = []
    for block in blocks:
        path = [tag for tag in block["path"] if tag != _WRAPPER]
        kept = _shared(opened, path)
        html += [f"</{tag}>" for tag in reversed(opened[kept:])]
        html += [f"<{tag}>" for tag in path[kept:]]
        html.append(f"{escape(block['text'])} ")
        opened = path
    return "".join(html)


def _shared(opened: Sequence[str], path: Sequence[str]) -> int:
    """How many of the open elements hold the next text, too."""
    pairs = zip(opened, path, strict=False)
    shared = next((depth for depth, (one, other) in enumerate(pairs) if one != other), None)
    if shared is not None:
        return shared
    again = len(opened) == len(path) > 0 and traits(path[-1]).kind not in _WITHIN_LINES
    return min(len(opened), len(path)) - again
