"""A page's HTML as the text blocks that a reader sees, much as `innerText` in the HTML standard has them."""

import sys
from functools import partial
from typing import NamedTuple

from dehusk.inference.flattening import flatten
from dehusk.inference.language_codes import primary_language
from dehusk.inference.metadata import read_metadata
from dehusk.inference.native.block_texts import BlockTexts
from dehusk.inference.native.properties import Properties
from dehusk.inference.native.recording import Recording
from dehusk.inference.native.scanning import count_tags
from dehusk.inference.native.tree import columns_of
from dehusk.inference.native.walk import Walk
from dehusk.inference.parser import parse
from dehusk.inference.rewriting import end_like_xml, uncover
from dehusk.inference.tokens import count_words, count_words_of_markup
from dehusk.schemas.errors import PageError
from dehusk.schemas.markup import Markup
from dehusk.schemas.metadata import Metadata, MetadataLevel
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Declarations, SegmentedPage, Structure
from dehusk.schemas.tree import DocumentTree

_TAGS_PER_BLOCK = 10
"""Tags that a page may have for each block that it may have: each costs the guard and the parser time."""
_CONTENT_WORDS = 100
"""Fewer words in `<noscript>` are a notice, not the page's content."""


class _Reading(NamedTuple):
    """What is read of a document."""

    walk: Walk
    language: str | None
    """The primary language that it declares."""
    properties: Properties | None
    """What it says of itself, where that was asked for."""
    tree: DocumentTree | None
    """All of it, where that was asked for."""


def segment(
    html: bytes,
    max_blocks: int = sys.maxsize,
    *,
    url: str = "",
    metadata: MetadataLevel = MetadataLevel.NONE,
    with_markup: bool = False,
    with_tree: bool = False,
) -> SegmentedPage:
    """The text blocks of a page, given in UTF-8, and its metadata, to whose addresses its own is the base.

    They come with the markup that they stand in, and with the whole document, where these are wanted.

    What `<noscript>` holds counts where it has over a hundred words and more than all that is shown: such a
    page is made for readers without scripts.

    Raises:
        PageError: the page has more blocks, or far more tags, or its elements do not fit into memory.
    """
    tags = _count_tags(html, max_blocks)
    markup = end_like_xml(html)
    read = partial(
        _read, max_blocks=max_blocks, metadata=metadata, with_markup=with_markup, with_tree=with_tree
    )
    reading = read(markup, tags=tags if markup is html else None)
    walk = reading.walk
    uncovered = uncover(markup, title=walk.head.title or "", has_shadow_roots=walk.has_shadow_roots)
    if uncovered is not markup:
        markup = uncovered
        reading = read(markup)
        walk = reading.walk
    noscript_words = sum(map(count_words_of_markup, walk.noscripts))
    if noscript_words > _CONTENT_WORDS and noscript_words > _shown_words(walk):
        reading = read(markup, scripting=False)
        walk = reading.walk
    return SegmentedPage(
        title=walk.head.title or "",
        language=reading.language,
        texts=tuple(walk.texts),
        paths=tuple(walk.paths),
        linked=tuple(walk.linked),
        boundaries=tuple(walk.boundaries),
        hidden=tuple(walk.hidden),
        lists_and_tables=walk.lists_and_tables,
        items=walk.items,
        structure=_structure(walk, noscript_words),
        metadata=_metadata(reading, url),
        markup=None if walk.markup is None else Markup(**walk.markup),
        tree=reading.tree,
    )


def _count_tags(html: bytes, max_blocks: int) -> int:
    """How many tags a page has at most; an error if they are too many."""
    tags, most = count_tags(html), _TAGS_PER_BLOCK * max_blocks
    if tags > most:
        detail = f"the page has {tags:,} tags, more than {_TAGS_PER_BLOCK} for each of {max_blocks:,} blocks"
        raise PageError(BrokenReason.TOO_MANY_BLOCKS, detail)
    return tags


def _read(
    html: bytes,
    *,
    max_blocks: int,
    metadata: MetadataLevel,
    with_markup: bool,
    with_tree: bool,
    tags: int | None = None,
    scripting: bool = True,
) -> _Reading:
    """What is read of a document, of so many tags at most."""
    document = parse(flatten(html, tags), scripting=scripting)
    root = document.root
    address = root.mem_id if root is not None else 0
    try:
        recording = Recording() if with_markup else None
        texts = BlockTexts() if with_tree else None
        walk = Walk(
            document, address, max_blocks, fallback=not scripting, recording=recording, block_texts=texts
        )
        tree = None if texts is None else DocumentTree(**columns_of(document, address, texts))
    except MemoryError as error:
        raise PageError(BrokenReason.MEMORY_BUDGET_EXCEEDED, f"{len(html)} bytes of HTML") from error
    properties = None
    if metadata is not MetadataLevel.NONE:
        properties = Properties(document, address, bylines=metadata is MetadataLevel.FULL)
    language = primary_language(root.attributes.get("lang")) if root is not None else None
    return _Reading(walk, language, properties, tree)


def _metadata(reading: _Reading, url: str) -> Metadata | None:
    if reading.properties is None:
        return None
    return read_metadata(reading.properties, reading.walk.head.json_ld, url)


def _structure(walk: Walk, noscript_words: int) -> Structure:
    declared = Declarations(
        og_title=walk.head.declared.get("og:title", ""),
        og_description=walk.head.declared.get("og:description", ""),
        og_type=walk.head.declared.get("og:type", ""),
        description=walk.head.declared.get("description", ""),
        json_ld=" ".join(walk.head.json_ld),
        noscript_words=noscript_words,
    )
    return Structure(declared=declared, **walk.structure)


def _shown_words(walk: Walk) -> int:
    return sum(count_words(text) for text, hidden in zip(walk.texts, walk.hidden, strict=True) if not hidden)
