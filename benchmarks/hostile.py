"""Pages made to take memory and time: small to send, and large once they are decompressed or taken apart."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dehusk.streams.settings import MIB

_MAX_PAGE_BYTES = 16 * MIB - 1024
"""Bytes of a page: just below the default of `--max-page-mib`."""
_HTML = (("content-type", b"text/html; charset=utf-8"),)
_GZIP = (*_HTML, ("content-encoding", b"gzip"))


@dataclass(frozen=True, slots=True)
class HostilePage:
    """A page as it stands on the topic."""

    value: bytes
    headers: tuple[tuple[str, bytes], ...] = _HTML


def _filled(start: bytes, repeated: bytes, size: int = _MAX_PAGE_BYTES) -> bytes:
    return start + repeated * ((size - len(start)) // len(repeated))


def _zipped(html: bytes) -> HostilePage:
    return HostilePage(gzip.compress(html), _GZIP)


HOSTILE: Mapping[str, HostilePage] = MappingProxyType(
    {
        "7 million lines in nested lists": HostilePage(_filled(b"<ol><li>" * 200 + b"<pre>", b"a\n")),
        "lines in lists with texts": HostilePage(_filled(b"<ol><li>text" * 200 + b"<pre>", b"a\n")),
        "4 million paragraphs": HostilePage(_filled(b"", b"<p>a")),
        "1 million paragraphs": HostilePage(_filled(b"", b"<p>a", 4 * MIB)),
        "200,000 paragraphs": HostilePage(_filled(b"", b"<p>one two three", 4 * MIB)),
        "90,000 paragraphs": HostilePage(_filled(b"", b"<p class=a>one two three four five", 3 * MIB)),
        "a table of 2 million cells": HostilePage(_filled(b"<table>", b"<tr><td>a<td>b")),
        "a row of 3 million cells": HostilePage(_filled(b"<table><tr>", b"<td>a")),
        "lists in lists": HostilePage(_filled(b"", b"<ol><li>a" * 500 + b"</ol>" * 500)),
        "unclosed inline elements": HostilePage(_filled(b"", b"<p><i>x")),
        "1 million links": HostilePage(_filled(b"", b"<a href=x>a</a> ")),
        "an attribute of 16 MB": HostilePage(_filled(b"<p>text</p><p class='", b"a ")),
        "2 million attributes": HostilePage(
            _filled(b"", b"<p " + b" ".join(b"a%d=b" % number for number in range(900)) + b">text")
        ),
        "a text of 16 MB": HostilePage(_filled(b"<p>", b"word ")),
        "control characters": HostilePage(_filled(b"<p>", b"text \x01\x02\x03\x04")),
        "a bomb of paragraphs": _zipped(_filled(b"", b"<p>a")),
        "a bomb of text": _zipped(_filled(b"<p>", b"a word and another. ")),
        "a bomb of lines": _zipped(_filled(b"<ol><li>" * 200 + b"<pre>", b"a\n")),
        "a bomb beyond the limit": _zipped(bytes(200 * MIB)),
    }
)
"""Hostile pages, by what is too much in each."""
_PARTS: Mapping[str, tuple[bytes, bytes]] = MappingProxyType(
    {
        "paragraphs": (b"", b"<p>one two three four"),
        "links": (
            b"",
            b"<p><b>some words</b> and <a href='https://example.org/a/long/path'>a link</a> in a text.",
        ),
        "cells": (b"<table>", b"<tr><td>some words in a cell<td><b>other</b> words in it"),
        "items": (b"<ul>", b"<li>some *words* in _an_ item [with] marks `to` escape"),
        "lines": (b"<pre>", b"some code = in(a, pre) # that is long\n"),
        "inline elements": (b"<p>", b"<b>a</b><i>b</i><code>c</code> word "),
        "Chinese": (b"<p>", "\u4e2d\u6587 ".encode()),
        "nested elements": (b"", b"<div>" * 300 + b"a text of some words here" + b"</div>" * 300),
    }
)
"""Start of a page, and what is repeated in it."""
MID_SIZE: Mapping[str, HostilePage] = MappingProxyType(
    {
        f"{name}, {tenths / 10} MiB": HostilePage(_filled(start, repeated, tenths * MIB // 10))
        for name, (start, repeated) in _PARTS.items()
        for tenths in (4, 8, 15, 25, 39)
    }
)
"""Pages of sizes at which most still have a document, or are cleaned in batches."""
