"""Markup rewritten, so that what readers see of a page is not hidden from a parser of HTML."""

import re

_HEAD = 1024
"""Bytes in which a page says that it is XHTML."""
_XHTML = re.compile(rb"<\?xml\s|<!doctype[^>]*xhtml|<html[^>]*\sxmlns\s*=", re.IGNORECASE)
_RAW_TAGS = rb"(?P<tag>title|script|style|textarea|iframe|noscript|noframes|noembed|xmp)"
"""Elements in which tags are text."""
_SELF_CLOSED = re.compile(rb"<" + _RAW_TAGS + rb"\b[^<>]*/>")
_ATTRIBUTES = rb"""(?P<attributes>(?:[\s/](?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^"'>])*+)?+)"""
_COMMENT = rb"<!--.*?(?:-->|\Z)"
_RAW = re.compile(
    _COMMENT + rb"|<" + _RAW_TAGS + _ATTRIBUTES + rb"(?:>|\Z)(?:(?<=/>)|.*?(?:</(?P=tag)[\s/>]|\Z))",
    re.IGNORECASE | re.DOTALL,
)
"""A comment, or such an element with all that it holds: nothing, where `/>` ends its tag."""
_SHADOW = b"shadowrootmode"
_TEMPLATE = re.compile(
    _COMMENT + rb"|<script\b.*?(?:</script|\Z)|<(?P<end>/?)template" + _ATTRIBUTES + rb"(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_TITLE = re.compile(rb"<title(?:[\s/][^>]*+)?+(?:>|\Z)", re.IGNORECASE)
_TITLE_END = re.compile(rb"</title[\s/>]", re.IGNORECASE)
_SWALLOWED = re.compile(r"</?(?:head|body|meta|link|script|style|div|p)[\s/>]", re.IGNORECASE)
_LONGEST_TITLE = 1000
"""Characters of a title from which markup in it is none of it."""


def end_like_xml(html: bytes) -> bytes:
    """The page, where it is XHTML with an end for each `<title/>`, `<script/>` … that has none in HTML."""
    head = html[:_HEAD]
    may_be_xhtml = b"xhtml" in head or b"xmlns" in head or b"<?xml" in head  # faster than what follows
    if may_be_xhtml and _XHTML.search(head) and _SELF_CLOSED.search(html):
        return _RAW.sub(_end, html)
    return html


def uncover(html: bytes, *, title: str, has_shadow_roots: bool) -> bytes:
    """The page with the text that its title swallowed, and with what its declarative shadow roots hold."""
    if _SWALLOWED.search(title):
        html = _end_title(html, title)
    return _open_shadow_roots(html) if has_shadow_roots else html


def _end_title(html: bytes, title: str) -> bytes:
    """The page with its title ended where the next tag begins, if it never ends or ends too late."""
    start = _TITLE.search(html)
    if start is None or (len(title) <= _LONGEST_TITLE and _TITLE_END.search(html, start.end())):
        return html
    end = html.find(b"<", start.end())
    return html[:end] + b"</title>" + html[end:]


def _open_shadow_roots(html: bytes) -> bytes:
    """The page with a `<shadow-root>` for each `<template shadowrootmode>`, which browsers show."""
    is_root: list[bool] = []

    def rename(tag: re.Match[bytes]) -> bytes:
        if tag["end"] is None:
            return tag[0]
        if not tag["end"]:
            is_root.append(_SHADOW in tag["attributes"].lower())
            return b"<shadow-root>" if is_root[-1] else tag[0]
        return b"</shadow-root>" if is_root and is_root.pop() else tag[0]

    return _TEMPLATE.sub(rename, html)


def _end(element: re.Match[bytes]) -> bytes:
    if element["tag"] is None or not element[0].endswith(b"/>"):
        return element[0]
    return b"%b></%b>" % (element[0][:-2], element["tag"])
