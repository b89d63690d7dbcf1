"""The HTML of a page again, from text blocks of which only the texts and the tags around them are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.inference.elements import INLINE, LINK, SKIPPED, TIGHT, traits

_WITHIN_LINES = (INLINE, LINK, TIGHT)
_WRAPPER = "text"
"""CleanEval puts each page into an element of this name, which is none of HTML."""


@dataclass(frozen=True, slots=True, eq=False)
class RebuiltPage:
    """HTML that was made of blocks."""

    html: str
    texts: npt.NDArray[np.int64]
    """Shape [blocks]: which of the texts that the page shows holds each block; -1 for none."""


def rebuilt(blocks: Sequence[Mapping[str, Any]]) -> RebuiltPage:
    """Elements around the blocks' texts as their paths tell: what two paths in a row share stays open.

    Where a path comes again and ends in an inline tag, its element goes on; others begin anew.
    """
    html: list[str] = []
    texts: list[int] = []
    opened: list[str] = []
    shown = -1
    goes_on = False
    for block in blocks:
        path = [tag for tag in block["path"] if tag != _WRAPPER]
        kept = _shared(opened, path)
        html += [f"</{tag}>" for tag in reversed(opened[kept:])]
        html += [f"<{tag}>" for tag in path[kept:]]
        html.append(f"{escape(block['text'])} ")
        is_shown = bool(block["text"].strip()) and not any(traits(tag).kind == SKIPPED for tag in path)
        goes_on = goes_on and kept == len(opened) == len(path)
        shown += is_shown and not goes_on
        goes_on = goes_on or is_shown
        texts.append(shown if is_shown else -1)
        opened = path
    return RebuiltPage("".join(html), np.array(texts, np.int64))


def _shared(opened: Sequence[str], path: Sequence[str]) -> int:
    """How many of the open elements hold the next text, too."""
    pairs = zip(opened, path, strict=False)
    shared = next((depth for depth, (one, other) in enumerate(pairs) if one != other), None)
    if shared is not None:
        return shared
    again = len(opened) == len(path) > 0 and traits(path[-1]).kind not in _WITHIN_LINES
    return min(len(opened), len(path)) - again
