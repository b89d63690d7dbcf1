"""Lists of links alone that stand among the blocks of an element, as in an article, not apart as menus do."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

_MIN_LINKED = 0.8
"""Share of characters in links from which a list is one of links alone."""
_ITEM = "l/li"
"""End of the path of a list, `ul` or `ol`, with that of an item."""
_LISTS = ("/u", "/o")


def link_lists(
    texts: Sequence[str], paths: Sequence[str], linked: Sequence[int], hidden: Sequence[bool]
) -> npt.NDArray[np.int32] | None:
    """Return `EncodedPage.link_lists` of a page's blocks; `linked` are their characters inside links."""
    found: list[tuple[int, int]] = []
    end = 0
    for block, (before, path) in enumerate(pairwise(paths), 1):
        if path == before or block < end:
            continue
        at = path.find(_ITEM)
        if at < 0 or path[at - 2 : at] not in _LISTS or not _stands_in(before, path[: at - 2]):
            continue
        end = _end_of(paths, block, path[: at + len(_ITEM)])
        characters = sum(map(len, texts[block:end]))
        if not any(hidden[block:end]) and sum(linked[block:end]) >= _MIN_LINKED * characters:
            found.append((block, end))
    return np.array(found, np.int32).T.copy() if found else None


def _stands_in(path: str, holder: str) -> bool:
    """Return True if a block of this path stands in an element of the holder's path, in none of its parts."""
    return path.startswith(f"{holder}/") and "/" not in path[len(holder) + 1 :]


def _end_of(paths: Sequence[str], first: int, item: str) -> int:
    """Return the block after those of a list, whose items have this path."""
    end = first + 1
    while end < len(paths) and (paths[end] == item or paths[end].startswith(f"{item}/")):
        end += 1
    return end
