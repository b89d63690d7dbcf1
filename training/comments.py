"""Which blocks of a page without gold comments are user comments: by the classes of what holds them.

Blog, news and shop systems name lists of comments alike. Forums use the same names for posts, and lists of
links for what they count; there, nothing is taken for a comment.
"""

import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import SegmentedPage, Structure
from dehusk.training.pages import GoldPage

Bools = npt.NDArray[np.bool_]

# ruff: noqa: SIM905 -- a table of names reads better as words than as strings

_NAMES = """
    comment comments commentlist disqus
    comentario comentarios commentaire commentaires commenti
    komentare komentarze kommentar kommentare kommentarer reacties yorumlar
""".split()
_FORM_NAMES = ("respond", "commentform")


def listed_comments(page: GoldPage, segmented: SegmentedPage) -> Bools:
    """Shape [T]: the blocks in lists of comments; none on pages whose comments may be posts."""
    if page.may_call_posts_comments or segmented.structure is None:
        return np.zeros(len(segmented), np.bool_)
    return comment_blocks(segmented.structure)


def comment_blocks(structure: Structure) -> Bools:
    """Shape [T]: the blocks in a list of comments, without its headings and the form for another comment."""
    numbers = np.repeat(np.arange(len(structure.parents)), structure.token_counts)
    holds = _with_inner(structure, _named(structure, numbers, _NAMES))
    in_form = _with_inner(structure, _named(structure, numbers, _FORM_NAMES))
    of_element = holds & ~in_form & (structure.headings == 0)
    found: Bools = of_element[structure.elements]
    return found


def _named(structure: Structure, numbers: npt.NDArray[np.int64], names: Iterable[str]) -> Bools:
    """Shape [E]: the elements that have one of the names as a part of their class or id."""
    tokens = np.array([zlib.crc32(b"c:" + name.encode()) for name in names], np.uint32)
    named = np.zeros(len(structure.parents), np.bool_)
    named[numbers[np.isin(structure.tokens, tokens)]] = True
    return named


def _with_inner(structure: Structure, elements: Bools) -> Bools:
    """The elements, and all inside them."""
    inside = elements.copy()
    for element, parent in enumerate(structure.parents.tolist()):
        if parent >= 0 and inside[parent]:
            inside[element] = True
    return inside
