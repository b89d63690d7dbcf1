"""Layers that crawlers put around a page: base64, `data:` URLs, strings of JSON and Python, escaped markup.

A layer is taken off only where it leads to a page or another file: the text of a page may look like one.
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.sources.compression import coding_of, is_binary
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.fields import decode_base64, parse_json
from dehusk.streams.sources.sniffing import BLANK, MARKUP, WHOLE_PAGE, looks_like_html, other_format

MAX_LAYERS = 8
"""Layers that a page may have."""
_BLANKS = re.compile(b"[" + BLANK + rb"\x0b]*")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_\s-]*+(?:=\s*){0,2}")
_CERTAIN_DIGITS = 64
"""Digits from which a text of nothing else is no word: it is base64, whatever is in it."""
_LINE_DIGITS = 16
_DATA_URL = re.compile(rb"data:([\w.+-]+/[\w.+-]+)?((?:;[^;,]*)*),", re.IGNORECASE)
_LITERAL = re.compile(
    rb"""(b?)(?:'((?:[^'\\\n\r]++|\\[^\n\r])*+)'|"((?:[^"\\\n\r]++|\\[^\n\r])*+)")""", re.IGNORECASE
)
"""A string or bytes as Python writes them."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.IGNORECASE)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_ESCAPED_MARKUP = re.compile(rb"&(?:amp;)*(?:lt|quot|#0*(?:60|34|39)|#x0*(?:3c|22|27));", re.IGNORECASE)
_SHOWS_ESCAPES = 32
"""Bytes of an escaped text among which `<` or a quotation mark is."""


@dataclass(frozen=True, slots=True)
class Unwrapper:
    """Remover of layers, between which a content may be compressed."""

    inflate: Callable[[bytes], bytes]
    """Function from bytes to them without compression; it raises PageError where they are damaged."""

    def unwrap(self, text: bytes, layers: int = MAX_LAYERS) -> bytes | str | None:
        """Return what is in the outermost layer of a text in UTF-8, None if it has none.

        Raises:
            PageError: the text is certainly encoded, but leads to no page.
        """
        begin = _BLANKS.match(text)
        start = begin.end() if begin else 0
        first = text[start : start + 1]
        is_string = first in (b'"', b"'") or text[start : start + 2].lower() in (b'b"', b"b'")
        if layers == 0 and (is_string or _is_certain(text)):
            raise PageError(BrokenReason.MALFORMED_MESSAGE, f"it is encoded more than {MAX_LAYERS} times")
        if layers == 0 or first in (b"", b"<", b"{", b"["):
            return None
        if is_string:
            return self._string(text[start:].rstrip(), layers)
        if _ESCAPED_MARKUP.search(text, start, start + _SHOWS_ESCAPES):
            return self._markup(text, layers)
        if text[start : start + 5].lower() == b"data:":
            return self._data(text[start:].rstrip(), layers)
        return self._base64(text[start:], layers)

    def _leads_to_page(self, content: bytes | str, layers: int) -> bool:
        """Return True if a content is a page or another file, or has a layer."""
        if isinstance(content, bytes):
            try:
                inflated = self.inflate(content)
            except PageError:
                if coding_of(content):
                    raise
                return False
            if inflated != content or other_format(inflated):
                return True
            plain = content.replace(b"\0", b"")
        else:
            plain = encode_text(content)
        if looks_like_html(plain) or (MARKUP.search(plain) is not None and not is_binary(plain)):
            return True
        return self.unwrap(plain, layers - 1) is not None

    def _string(self, text: bytes, layers: int) -> bytes | str | None:
        """Return the content of a string of JSON or Python.

        Markup in quotation marks is a page of its own, if there was nothing to escape in it.
        """
        decoded = _json_string(text)
        content = _literal(text) if decoded is None else decoded
        if isinstance(content, bytes):
            return content if self._leads_to_page(content, layers) else None
        if content is None:
            return None
        is_escaped = len(encode_text(content)) != len(text) - 2
        content = content.lstrip("\ufeff")
        page = encode_text(content).lstrip(BLANK)
        if WHOLE_PAGE.match(page) or (is_escaped and MARKUP.search(page)):
            return content
        return content if self.unwrap(page, layers - 1) is not None else None

    def _markup(self, text: bytes, layers: int) -> str | None:
        """Return markup whose `<` are all written as `&lt;`."""
        if b"<" in text:
            return None
        content = html.unescape(text.decode("utf-8", "replace"))
        page = encode_text(content).lstrip(BLANK)
        return content if MARKUP.match(page) or self.unwrap(page, layers - 1) is not None else None

    def _data(self, text: bytes, layers: int) -> bytes | None:
        """Return the content of a `data:` URL.

        Raises:
            PageError: its base64 is damaged, or it is of something else than a page.
        """
        matched = _DATA_URL.match(text)
        if not matched:
            return None
        kind, parameters = matched[1] or b"", matched[2].lower().replace(b" ", b"").split(b";")
        if not kind and b"base64" not in parameters:
            return None
        content = unquote_to_bytes(text[matched.end() :])
        if b"base64" in parameters:
            try:
                content = decode_base64(content.decode("ascii", "replace"))
            except ValueError as error:
                detail = f"a data: URL whose base64 is damaged: {error}"
                raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error
        if b"html" not in kind.lower() and not self._leads_to_page(content, layers):
            detail = f"a data: URL of {kind.decode() or 'plain text'}, which is no page"
            raise PageError(BrokenReason.MALFORMED_MESSAGE, detail)
        return content

    def _base64(self, text: bytes, layers: int) -> bytes | None:
        """Return the bytes of base64.

        Raises:
            PageError: it is certainly base64, but of no page.
        """
        try:
            content = decode_base64(text.decode("ascii")) if _BASE64.fullmatch(text) else b""
        except ValueError:
            content = b""
        if not content:
            return None
        if self._leads_to_page(content, layers):
            return content
        if _is_certain(text):
            detail = (
                "it is base64 of no page: name its compression as the content encoding, "
                "or, if it is text without markup, decode it before it is sent"
            )
            raise PageError(BrokenReason.MALFORMED_MESSAGE, detail)
        return None


def _json_string(text: bytes) -> str | None:
    if not text.startswith(b'"'):
        return None
    try:
        content = parse_json(text)
    except PageError:
        return None
    return content if isinstance(content, str) else None


def _literal(text: bytes) -> bytes | str | None:
    """Return a string or bytes that Python wrote, None for anything else."""
    matched = _LITERAL.fullmatch(text)
    if not matched:
        return None
    written = (matched[2] if matched[2] is not None else matched[3]).decode("utf-8", "replace")
    try:
        content = _ESCAPE.sub(_unescape, written)
        return content.encode("latin-1") if matched[1] else content
    except (KeyError, ValueError):
        return None


def _unescape(escape: re.Match[str]) -> str:
    """Return the character of an escape; raise KeyError or ValueError for one that Python does not write."""
    digits = escape[1] or escape[2] or escape[3]
    return chr(int(digits, 16)) if digits else _ESCAPED[escape[4]]


def _is_certain(text: bytes) -> bool:
    """Return True for many digits of base64 of all kinds, in one line, or in lines of one length."""
    *lines, last = text.split() or [b""]
    digits = b"".join((*lines, last))
    is_even = len({len(line) for line in lines}) <= 1 and (
        not lines or len(lines[0]) >= max(_LINE_DIGITS, len(last))
    )
    kinds = (rb"[A-Z]", rb"[a-z]", rb"[0-9]")
    is_long = len(digits) >= _CERTAIN_DIGITS and _BASE64.fullmatch(digits) is not None
    return is_long and is_even and all(re.search(kind, digits) for kind in kinds)
