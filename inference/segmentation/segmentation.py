"""The text blocks of a page that a reader sees, much like `innerText` in the HTML standard."""

import re
import sys
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from dehusk.inference.language_codes import language_tag
from dehusk.inference.metadata.headline import headline_sources
from dehusk.inference.metadata.reading import read_metadata
from dehusk.inference.native.head import Head
from dehusk.inference.native.properties import Marked, Properties
from dehusk.inference.native.recording import Recording
from dehusk.inference.native.scanning import count_tags
from dehusk.inference.native.tokens import count_words, count_words_of_markup
from dehusk.inference.native.tree import BlockTexts, columns_of
from dehusk.inference.native.walk import Walk
from dehusk.inference.segmentation.parser import exclude, flatten, parse
from dehusk.schemas.errors import PageError
from dehusk.schemas.markup import DocumentTree, Markup
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import WITHOUT_METADATA, DocumentOptions
from dehusk.schemas.outcomes import BrokenReason
from dehusk.schemas.pages import Declarations, SegmentedPage, Structure

_HEAD = 1024
"""Bytes in which a page declares itself to be XHTML."""
_XHTML = re.compile(rb"<\?xml\s|<!doctype[^>]*xhtml|<html[^>]*\sxmlns\s*=", re.IGNORECASE)
_RAW_TAGS = rb"(?P<tag>title|script|style|textarea|iframe|noscript|noframes|noembed|xmp)"
"""Elements in which tags are text."""
_SELF_CLOSED = re.compile(rb"<" + _RAW_TAGS + rb"\b[^<>]*/>")
_ATTRIBUTES = rb"""(?P<attributes>(?:[\s/](?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^"'>])*+)?+)"""
_COMMENT = rb"<!--(?:-?>|.*?(?:--!?>|\Z))"
_RAW = re.compile(
    _COMMENT + rb"|<" + _RAW_TAGS + _ATTRIBUTES + rb"(?:>|\Z)(?:(?<=/>)|.*?(?:</(?P=tag)[\s/>]|\Z))",
    re.IGNORECASE | re.DOTALL,
)
"""A comment, or such an element with its content, which is empty if `/>` ends the tag."""
_SHADOW = re.compile(rb"""[\s/"']shadowrootmode\s*=\s*["']?(?:open|closed)(?:["'\s/]|\Z)""", re.IGNORECASE)
_TEMPLATE = re.compile(
    _COMMENT + rb"|<script\b.*?(?:</script|\Z)|<(?P<end>/?)template" + _ATTRIBUTES + rb"(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TITLE = re.compile(rb"<title(?:[\s/][^>]*+)?+(?:>|\Z)", re.IGNORECASE)
_TITLE_END = re.compile(rb"</title[\s/>]", re.IGNORECASE)
_SWALLOWED = re.compile(r"</?(?:head|body|meta|link|script|style|div|p)[\s/>]", re.IGNORECASE)
_MAX_TITLE = 1000
"""Length in characters from which a title ends at the first tag in it."""

_TAGS_PER_BLOCK = 10
"""Limit of tags for each block that a page may have: each costs the guard and the parser time."""
_CONTENT_WORDS = 100
"""Words in `<noscript>` from which it may be the page's content; fewer are a notice."""


def end_like_xml(html: bytes) -> bytes:
    """Give each `<title/>`, `<script/>` … of an XHTML page an end tag; HTML ignores the slash."""
    head = html[:_HEAD]
    may_be_xhtml = b"xhtml" in head or b"xmlns" in head or b"<?xml" in head  # faster than what follows
    if may_be_xhtml and _XHTML.search(head) and _SELF_CLOSED.search(html):
        return _RAW.sub(_end, html)
    return html


def uncover(html: bytes, *, title: str, has_shadow_roots: bool) -> bytes:
    """Free the text that a page's title swallowed, and the content of its declarative shadow roots."""
    if _SWALLOWED.search(title):
        html = _end_title(html, title)
    return _open_shadow_roots(html) if has_shadow_roots else html


def _end_title(html: bytes, title: str) -> bytes:
    """End the title where the next tag begins, if it never ends or ends too late."""
    start = _TITLE.search(html)
    if start is None or (len(title) <= _MAX_TITLE and _TITLE_END.search(html, start.end())):
        return html
    end = html.find(b"<", start.end())
    if end < 0:
        return html
    return html[:end] + b"</title>" + html[end:]


def _open_shadow_roots(html: bytes) -> bytes:
    """Replace each `<template shadowrootmode>`, which browsers show, by a `<shadow-root>`."""
    is_root: list[bool] = []

    def rename(tag: re.Match[bytes]) -> bytes:
        if tag["end"] is None:
            return tag[0]
        if not tag["end"]:
            is_root.append(_SHADOW.search(tag["attributes"]) is not None)
            return b"<shadow-root>" if is_root[-1] else tag[0]
        return b"</shadow-root>" if is_root and is_root.pop() else tag[0]

    return _TEMPLATE.sub(rename, html)


def _end(element: re.Match[bytes]) -> bytes:
    if element["tag"] is None or not element[0].endswith(b"/>"):
        return element[0]
    return b"%b></%b>" % (element[0][:-2], element["tag"])


class _Reading(NamedTuple):
    """Results of reading a document."""

    walk: Walk
    language_tag: str
    """Language that the document declares, as it writes it; may be empty."""
    properties: Properties | None
    """Its declarations, where asked for."""
    tree: DocumentTree | None
    """The whole document, where asked for."""


def segment(
    html: bytes,
    max_blocks: int = sys.maxsize,
    *,
    url: str = "",
    options: DocumentOptions = WITHOUT_METADATA,
    with_tree: bool = False,
) -> SegmentedPage:
    """Return the text blocks of a page, given in UTF-8; `url` is the base of its addresses.

    Metadata and markup are included as the options need them, and the whole document with `with_tree`. Where
    documents drop hidden text, it is no metadata; excluded elements are as if they were not there.

    The content of `<noscript>` counts if it has over a hundred words and more than all that is shown: such a
    page is made for readers without scripts.

    Raises:
        PageError: the page has more blocks, or far more tags, or its elements do not fit into memory.
    """
    _check_tags(html, max_blocks)
    markup = end_like_xml(html)
    read = partial(_read, max_blocks=max_blocks, options=options, with_tree=with_tree)
    reading = read(markup)
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
    structure = _structure(walk, noscript_words, url or _declared_url(walk.head))
    page = SegmentedPage(
        title=walk.head.title or "",
        language=language_tag(reading.language_tag),
        texts=tuple(walk.texts),
        paths=tuple(walk.paths),
        linked=tuple(walk.linked),
        boundaries=tuple(walk.boundaries),
        hidden=tuple(walk.hidden),
        lists_and_tables=walk.lists_and_tables,
        items=walk.items,
        struck=walk.struck,
        xpaths=None if walk.xpaths is None or markup is not html else tuple(walk.xpaths),
        structure=structure,
        headline_sources=headline_sources(structure, walk.head.json_ld),
        markup=None if walk.markup is None else Markup(base=walk.head.base, **walk.markup),
        tree=reading.tree,
    )
    if reading.properties is None:
        return page
    metadata = read_metadata(
        reading.properties,
        walk.head.json_ld,
        url,
        language=reading.language_tag,
        shown=page if options.metadata is MetadataLevel.FULL else None,
        drop_hidden=options.drop_hidden,
    )
    return replace(page, metadata=metadata)


def _check_tags(html: bytes, max_blocks: int) -> None:
    """Raise `PageError` if the tags of a page are too many."""
    most = _TAGS_PER_BLOCK * max_blocks
    if len(html) > most and (tags := count_tags(html)) > most:
        detail = f"the page has {tags:,} tags, more than {_TAGS_PER_BLOCK} for each of {max_blocks:,} blocks"
        raise PageError(BrokenReason.TOO_MANY_BLOCKS, detail)


def _read(
    html: bytes,
    *,
    max_blocks: int,
    options: DocumentOptions,
    with_tree: bool,
    scripting: bool = True,
) -> _Reading:
    """Read a document, without what makes parsing slow."""
    flat = flatten(html, scripting=scripting)
    document = parse(flat, scripting=scripting)
    if options.exclude:
        exclude(document, options.exclude)
    root = document.root
    address = root.mem_id if root is not None else 0
    try:
        recording = Recording(whole=options.needs_markup)
        texts = BlockTexts() if with_tree else None
        has_metadata = options.metadata is not MetadataLevel.NONE
        marked = Marked(bylines=options.metadata is MetadataLevel.FULL) if has_metadata else None
        walk = Walk(
            document,
            address,
            max_blocks,
            fallback=not scripting,
            recording=recording,
            block_texts=texts,
            marked=marked,
            xpaths=options.with_blocks and not options.exclude and flat == html,
        )
        tree = None if texts is None else DocumentTree(**columns_of(document, address, texts))
    except MemoryError as error:
        raise PageError(BrokenReason.MEMORY_BUDGET_EXCEEDED, f"{len(html):,} bytes of HTML") from error
    hiding = walk.hiding if options.drop_hidden else {}
    properties = None if marked is None else Properties(document, marked, hiding)
    language = root.attributes.get("lang") if root is not None else None
    return _Reading(walk, language or "", properties, tree)


def _structure(walk: Walk, noscript_words: int, url: str) -> Structure:
    declared = Declarations(
        og_title=walk.head.declared.get("og:title", ""),
        og_description=walk.head.declared.get("og:description", ""),
        og_type=walk.head.declared.get("og:type", ""),
        description=walk.head.declared.get("description", ""),
        site_name=walk.head.declared.get("og:site_name", ""),
        json_ld=" ".join(walk.head.json_ld),
        noscript_words=noscript_words,
    )
    return Structure(
        declared=declared, links=tuple(walk.links), base=walk.head.base, url=url, **walk.structure
    )


def _declared_url(head: Head) -> str:
    """Return the address that a page declares for itself; empty without one."""
    return head.canonical or head.declared.get("og:url", "")


def _shown_words(walk: Walk) -> int:
    return sum(count_words(text) for text, hidden in zip(walk.texts, walk.hidden, strict=True) if not hidden)
