"""From what a crawler says of an answer to a page, or to the reason why it is none."""

import re
from dataclasses import replace
from datetime import datetime

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.settings import KIB
from dehusk.streams.sources.compression import binary_data_bytes, inflate, is_binary, start_of_gzip
from dehusk.streams.sources.encoding import DecodedText, decode_html, encode_text, encoding_of
from dehusk.streams.sources.fields import json_in, no_string

_HTML_TYPES = {"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "html", "xhtml"}
_UNDECLARED_TYPES = {"", "application/octet-stream", "unknown/unknown", "*/*", "application/unknown"}
"""Content types that say nothing: the body is looked at (the MIME Sniffing standard, section 7)."""
_PAGE_TYPES = _HTML_TYPES | _UNDECLARED_TYPES
"""Content types that a page may have, beside those of XML."""
_MARKUP = re.compile(
    rb"<(?:!--|(?:!doctype\s+html|html|head|body|title|meta|link|script|style|div|span|p|a|b|i|br|h[1-6]|table|tr|td|"
    rb"ul|ol|li|img|font|center|article|section|main|header|nav|footer|iframe|form|noscript|base|svg)[\s/>])",
    re.IGNORECASE,
)
_OTHER_XML = re.compile(
    rb"(?>\s|<\?.*?\?>|<!--.*?-->|<!(?!--)[^>]*>)*+<(?P<root>rss|feed|rdf:rdf|urlset|sitemapindex|svg)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
"""Feeds, site maps and images, which servers often send as HTML (the MIME Sniffing standard, section 7.3)."""
_JSON = re.compile(rb'\s*(?:\[\s*)*\{\s*"(?:[^"\\]|\\.)*"\s*:')
"""How JSON begins that holds an object."""
_SNIFFED = 2048
BLANK = b"\xef\xbb\xbf\t\n\r\x0c "
"""Bytes that may stand before the markup of a page."""
_MOST_BINARY = 1 / 32
"""Share of bytes that no text has from which the first bytes are no page, whatever markup is among them."""
_OTHER_FORMATS = {
    b"%PDF-": "a PDF",
    b"%!PS-Adobe-": "PostScript",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"\xff\xd8\xff": "a JPEG image",
    b"RIFF": "a RIFF file",
    b"PK\x03\x04": "a zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x1f\x8b": "a gzip file",
    b"\x7fELF": "a program",
    b"OggS": "an Ogg file",
    b"ID3": "an MP3 file",
    b"{\\rtf": "an RTF document",
    b"\xd0\xcf\x11\xe0": "an Office document",
    b"\x1aE\xdf\xa3": "a WebM video",
    b"wOFF": "a web font",
    b"wOF2": "a web font",
    b"OTTO\0": "an OpenType font",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
}
_MEDIA_TYPE = re.compile(r"[^\s;,]*")
"""Up to where several headers were joined or a semicolon was forgotten."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_URL = re.compile(
    r"(?:https?://[^\s/?#\x00-\x20\x7f][^\x00-\x20\x7f]*|file:///[^\x00-\x20\x7f]*)", re.IGNORECASE
)
_OTHER_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{1,20}):", re.IGNORECASE)
_WEB_SCHEMES = {"http", "https", "file"}
_LONGEST_URL = 16 * KIB
NOWHERE = "file:///"
"""Stands for the URL of a page, which may be anything, while the page is read."""
_SPACES = re.compile(r"[\t\n\r]+")


def html_page(
    *,
    url: object,
    body: object,
    content_type: object = None,
    status: int | None = None,
    content_encoding: object = None,
    charset: str | None = None,
    id: str | None = None,  # noqa: A002 the field's name
    fetched_at: datetime | None = None,
    language: str | None = None,
    source: str,
    max_bytes: int,
) -> RawPage | Skipped | Broken:
    """The page that an answer is.

    `body` is the bytes as the server sent them, or text that is Unicode already, whose declared encodings
    mean nothing any more. `charset` is what the crawler took for the encoding: it counts where `content_type`
    names none. A URL or a body of a wrong type breaks the page; any other value is then taken for missing.
    """
    address = page_url(url)
    if not isinstance(address, str):
        return address
    declared_type = content_type if isinstance(content_type, str) else ""
    no_page = _no_page(address, status, declared_type, body)
    if no_page is not None:
        return no_page
    try:
        content = _inflated(body, content_encoding, declared_type, max_bytes)
    except PageError as error:
        return Broken(error.reason, str(error), address)
    other = other_format(content)
    if other:
        return Skipped(SkipReason.NOT_HTML, other, address)
    decoded = _decoded(content, charset_of(declared_type) or charset)
    unlike_html = _unlike_html(decoded.html, declared_type)
    if unlike_html:
        return Skipped(SkipReason.NOT_HTML, unlike_html, address)
    return RawPage(
        url=address,
        html=decoded.html,
        id=_sayable(id),
        fetched_at=fetched_at,
        language=_sayable(language),
        encoding=decoded.encoding,
        source=source,
    )


def offline_page(
    *,
    url: str,
    body: bytes | str | None,
    content_type: str = "text/html",
    id: str | None = None,  # noqa: A002 the field's name
    source: str,
    max_bytes: int,
) -> RawPage | Skipped | Broken:
    """The page that somebody has at hand: its URL may be missing or anything, and is kept as it is."""
    outcome = html_page(
        url=NOWHERE, body=body, content_type=content_type, id=id, source=source, max_bytes=max_bytes
    )
    address = known_url(url)
    return replace(outcome, url=url.strip() if address is None else address)


def page_url(url: object) -> str | Skipped | Broken:
    """The URL of a page as it is keyed, without white space around it; or what is wrong with it."""
    if not url or (isinstance(url, str) and not url.strip()):
        return Broken(BrokenReason.MISSING_URL, "it gives no URL, which tells the document's key and site")
    if not isinstance(url, str):
        return Broken(BrokenReason.MALFORMED_MESSAGE, f"the URL: {no_string(url)}")
    if len(url) > _LONGEST_URL:
        return Broken(BrokenReason.MALFORMED_MESSAGE, f"a URL of {len(url):,} characters")
    address = _SPACES.sub("", url.strip()).replace(" ", "%20")
    if _URL.fullmatch(address):
        return encode_text(address).decode()
    scheme = _OTHER_SCHEME.match(address)
    if scheme and scheme[1].lower() not in _WEB_SCHEMES and "." not in scheme[1]:
        return Skipped(SkipReason.NOT_A_PAGE, f"a record of {scheme[1].lower()}:", _shown(address))
    return Broken(BrokenReason.MISSING_URL, f"{_shown(address)!r} is no URL of a page")


def known_url(url: object) -> str | None:
    """The URL of a page as it is keyed, or None where it is no such URL."""
    address = page_url(url)
    return address if isinstance(address, str) else None


def looks_like_html(head: bytes) -> bool:
    """Whether the start of something is markup of a page, and not of a feed or another kind of XML."""
    head = head[:_SNIFFED].lstrip(BLANK)
    found = _MARKUP.search(head)
    is_xml = head.startswith(b"<?xml") or head[:4] in (b"<rss", b"<svg")
    return found is not None and (not is_xml or b"<html" in head.lower())


def beyond(max_bytes: int) -> str:
    """How a size is told that no page may have."""
    return f"more than the limit of {max_bytes:,} bytes (--max-page-mib)"


def is_html_type(content_type: str) -> bool:
    """Whether a content type is one of HTML."""
    return _media_type(content_type) in _HTML_TYPES


def charset_of(content_type: str) -> str | None:
    """The charset parameter of a content type, if it names an encoding that the web knows."""
    label = _CHARSET.search(content_type)
    return label[1] if label and encoding_of(label[1]) else None


def _no_page(url: str, status: int | None, content_type: str, body: object) -> Skipped | Broken | None:
    if status is not None and not 200 <= status < 300:
        return Skipped(SkipReason.ERROR_STATUS, f"status {status}", url)
    media_type = _media_type(content_type)
    if media_type not in _PAGE_TYPES and not media_type.endswith("xml"):
        return Skipped(SkipReason.NOT_HTML, f"content type {_shown(media_type)}", url)
    if not body:
        return Skipped(SkipReason.NO_BODY, "the message holds no content", url)
    if not isinstance(body, bytes | str):
        return Broken(BrokenReason.MALFORMED_MESSAGE, f"the content: {no_string(body)}", url)
    return None


def _inflated(body: object, content_encoding: object, content_type: str, max_bytes: int) -> bytes | str:
    """The content as the server meant it: text, or bytes without compression, within the limit.

    A page in gzip is one whether a header says so or not; any other file stays compressed.
    """
    if isinstance(body, str):
        _check_size(len(body), max_bytes)
        return body
    raw = body if isinstance(body, bytes) else b""
    _check_size(len(raw), max_bytes)
    content = inflate(raw, content_encoding if isinstance(content_encoding, str) else None, max_bytes)
    start = start_of_gzip(content)
    if not start or is_binary(start) or other_format(start) or _lacks_html(start, content_type):
        return content
    return inflate(content, "gzip", max_bytes)


def _check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise PageError(BrokenReason.PAGE_TOO_LARGE, f"{size:,} bytes, {beyond(max_bytes)}")


def other_format(content: bytes | str) -> str | None:
    """What a content is whose first bytes are those of another format, whatever its content type says."""
    head = encode_text(content[:_SNIFFED]) if isinstance(content, str) else content[:_SNIFFED]
    xml = _OTHER_XML.match(head.removeprefix(b"\xef\xbb\xbf"))
    if xml:
        return f"XML of {xml['root'].decode()}"
    return next((kind for mark, kind in _OTHER_FORMATS.items() if head.startswith(mark)), None)


def _unlike_html(html: bytes, content_type: str) -> str | None:
    """What speaks against a page in something that is decoded."""
    if _is_binary(html):
        return "it begins with bytes that no text has"
    if _is_json(html):
        return "JSON"
    if _lacks_html(html, content_type):
        return "no content type of HTML, and no markup of a page"
    return None


def _lacks_html(html: bytes, content_type: str) -> bool:
    return not is_html_type(content_type) and not looks_like_html(html)


def _is_json(html: bytes) -> bool:
    """Whether something is a JSON object or array; one that is cut off, or several, if no markup is there."""
    if json_in(html) is not None:
        return True
    return _JSON.match(html[:_SNIFFED]) is not None and not looks_like_html(html)


def _is_binary(html: bytes) -> bool:
    """Whether something has bytes that no text has, and is not a page in which a few of them slipped."""
    head = html[:_SNIFFED]
    binary = binary_data_bytes(head)
    if not binary or _MARKUP.match(head.lstrip(BLANK + b"\0")):
        return False
    return binary > len(head) * _MOST_BINARY or not looks_like_html(head)


def _decoded(content: bytes | str, charset: str | None) -> DecodedText:
    return (
        decode_html(content, charset)
        if isinstance(content, bytes)
        else DecodedText(encode_text(content), "utf-8")
    )


def _media_type(content_type: str) -> str:
    """The type without its parameters; empty for one without a subtype, which says nothing, but for HTML."""
    found = _MEDIA_TYPE.match(content_type.strip())
    media_type = found[0].lower() if found else ""
    return media_type if "/" in media_type or media_type in _HTML_TYPES else ""


def _shown(value: str) -> str:
    return encode_text(value[:200]).decode()


def _sayable(value: str | None) -> str | None:
    """A text that UTF-8 can say: without lone surrogates; None where it is empty."""
    return encode_text(value).decode() if value else None
