"""Conversion of a web server's answer to a page, or to the reason why it is none."""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.settings import KIB
from dehusk.streams.sources.compression import binary_data_bytes, coding_of, inflate, is_binary, start_of
from dehusk.streams.sources.encoding import DecodedText, decode_html, encode_text, encoding_of
from dehusk.streams.sources.fields import decode_base64, describe_wrong_type, json_in, parse_json

Outcome = RawPage | Skipped | Broken
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
"""Beginning of JSON that holds an object."""
_STRING = re.compile(rb'[\t\n\r ]*"(?:\\[nrt"\\]|[\t ])*(?:<|\\u003c)', re.IGNORECASE)
"""Beginning of a JSON string that holds markup, or a string that does."""
_WHOLE_PAGE = re.compile(rb"\s*<(?:!doctype|html)[\s>]", re.IGNORECASE)
_SNIFFED = 2048
BLANK = b"\xef\xbb\xbf\t\n\r\x0c "
"""Bytes that may stand before the markup of a page."""
_MAX_BINARY_SHARE = 1 / 32
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
    b"\x28\xb5\x2f\xfd": "a zstd file",
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
    b"\0asm": "a WebAssembly module",
    b"\0\0\0\x0cjP  \r\n": "a JPEG 2000 image",
    b"\0\0\0\x0cJXL \r\n": "a JPEG XL image",
    b"\0\1\0\0Standard ": "an Access database",
    b"\0\5\x16\7\0\2\0\0": "an AppleDouble file",
    b"\0\0\0\1Bud1": "a folder of the Finder",
}
_STRUCTURES = {
    kind: re.compile(start, re.DOTALL)
    for kind, start in {
        "an icon": rb"\0\0\x01\0[\x01-\xff]\0...[\0\xff][\0\x01]\0[\0\x01\x04\x08\x10\x18\x20]\0...\0..\0\0",
        "a cursor": rb"\0\0\x02\0[\x01-\xff]\0...[\0\xff].\0.\0...\0..\0\0",
        "a TGA image": rb"\0\0[\x02\x0a]\0{9}",
        "an MPEG-4 file": rb"\0...(?:ftyp|moov|mdat|wide|free)",
        "a TrueType font": rb"\0\x01\0\0\0[\x01-\x7f][\0-\x10][\0\x10\x20\x40\x80]\0[\0-\x07]",
    }.items()
}
"""Formats whose mark a frame of a schema registry could begin with, too, by more of their headers."""
_MEDIA_TYPE = re.compile(r"[^\s;,]*")
"""Up to where several headers were joined or a semicolon was forgotten."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_URL = re.compile(
    r"(?:https?://[^\s/?#\x00-\x20\x7f][^\x00-\x20\x7f]*|file:///[^\x00-\x20\x7f]*)", re.IGNORECASE
)
_OTHER_SCHEME = re.compile(r"([a-z][a-z0-9+.-]{1,20}):", re.IGNORECASE)
_WEB_SCHEMES = {"http", "https", "file"}
_MAX_URL = 16 * KIB
NOWHERE = "file:///"
"""Placeholder of the URL of a page, which may be anything, while the page is read."""
_SPACES = re.compile(r"[\t\n\r]+")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a web server, as a crawler tells it.

    A URL or a body of a wrong type breaks the page; any other value is then taken for missing.
    """

    url: object
    body: object
    """Bytes as the server sent them, or in base64; or text that is Unicode already, whatever it declares."""
    content_type: object = None
    status: int | None = None
    content_encoding: object = None
    charset: str | None = None
    """Encoding as the crawler understood it: it counts if `content_type` names none."""
    id: str | None = None
    fetched_at: datetime | None = None
    language: str | None = None

    @property
    def declared_type(self) -> str:
        """The content type; empty if there is none."""
        return self.content_type if isinstance(self.content_type, str) else ""


def html_page(answer: Answer, source: str, max_bytes: int) -> Outcome:
    """Return the page that an answer is, of the format of this name."""
    address = page_url(answer.url)
    if not isinstance(address, str):
        return address
    rejected = _reject(answer, address)
    if rejected is not None:
        return rejected
    try:
        content = _inflate(answer, max_bytes)
    except PageError as error:
        return Broken(error.reason, str(error), address)
    other = other_format(content)
    if other:
        return Skipped(SkipReason.NOT_HTML, other, address)
    decoded = _decode(content, charset_of(answer.declared_type) or answer.charset)
    non_html = _describe_non_html(decoded.html, answer.declared_type)
    if non_html:
        return Skipped(SkipReason.NOT_HTML, non_html, address)
    return RawPage(
        url=address,
        html=decoded.html,
        id=_encodable(answer.id),
        fetched_at=answer.fetched_at,
        language=_encodable(answer.language),
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
) -> Outcome:
    """Return a page that comes from no crawler; any URL, also an empty one, is kept as it is."""
    outcome = html_page(Answer(NOWHERE, body, content_type, id=id), source, max_bytes)
    return replace(outcome, url=known_url(url) or url.strip())


def page_url(url: object) -> str | Skipped | Broken:
    """Return the URL of a page as it is keyed, without white space around it; or what is wrong with it."""
    if not url or (isinstance(url, str) and not url.strip()):
        return Broken(BrokenReason.MISSING_URL, "it gives no URL, which tells the document's key and site")
    if not isinstance(url, str):
        return Broken(BrokenReason.MALFORMED_MESSAGE, f"the URL: {describe_wrong_type(url)}")
    if len(url) > _MAX_URL:
        return Broken(BrokenReason.MALFORMED_MESSAGE, f"a URL of {len(url):,} characters")
    address = _SPACES.sub("", url.strip()).replace(" ", "%20")
    if _URL.fullmatch(address):
        return encode_text(address).decode()
    scheme = _OTHER_SCHEME.match(address)
    if scheme and scheme[1].lower() not in _WEB_SCHEMES and "." not in scheme[1]:
        return Skipped(SkipReason.NOT_A_PAGE, f"a record of {scheme[1].lower()}:", _shorten(address))
    return Broken(BrokenReason.MISSING_URL, f"{_shorten(address)!r} is no URL of a page")


def known_url(url: object) -> str | None:
    """Return the URL of a page as it is keyed, or None if it is no such URL."""
    address = page_url(url)
    return address if isinstance(address, str) else None


def other_format(content: bytes | str) -> str | None:
    """Name the other format whose first bytes a content has, whatever its content type says; else None."""
    head = encode_text(content[:_SNIFFED]) if isinstance(content, str) else content[:_SNIFFED]
    xml = _OTHER_XML.match(head.removeprefix(b"\xef\xbb\xbf"))
    if xml:
        return f"XML of {xml['root'].decode()}"
    marked = next((kind for mark, kind in _OTHER_FORMATS.items() if head.startswith(mark)), None)
    return marked or next((kind for kind, start in _STRUCTURES.items() if start.match(head)), None)


def looks_like_html(head: bytes) -> bool:
    """Return True if the start of something is markup of a page, and not of a feed or another kind of XML."""
    head = head[:_SNIFFED].lstrip(BLANK)
    has_markup = _MARKUP.search(head) is not None
    is_xml = head.startswith(b"<?xml") or head[:4] in (b"<rss", b"<svg")
    return has_markup and (not is_xml or b"<html" in head.lower())


def describe_excess(max_bytes: int) -> str:
    """Describe a size that no page may have."""
    return f"more than the limit of {max_bytes:,} bytes (--max-page-mib)"


def is_html_type(content_type: str) -> bool:
    """Return True if a content type is one of HTML."""
    return _media_type(content_type) in _HTML_TYPES


def charset_of(content_type: str) -> str | None:
    """Return the charset parameter of a content type, if it names an encoding that the web knows."""
    label = _CHARSET.search(content_type)
    return label[1] if label and encoding_of(label[1]) else None


def _reject(answer: Answer, url: str) -> Skipped | Broken | None:
    """Return the outcome of an answer whose status, type or body shows that it is no page; else None."""
    status, body = answer.status, answer.body
    if status is not None and not 200 <= status < 300:
        return Skipped(SkipReason.ERROR_STATUS, f"status {status}", url)
    media_type = _media_type(answer.declared_type)
    if media_type not in _PAGE_TYPES and not media_type.endswith("xml"):
        return Skipped(SkipReason.NOT_HTML, f"content type {_shorten(media_type)}", url)
    if not body:
        return Skipped(SkipReason.NO_BODY, "the message holds no content", url)
    if not isinstance(body, bytes | str):
        return Broken(BrokenReason.MALFORMED_MESSAGE, f"the content: {describe_wrong_type(body)}", url)
    return None


def _inflate(answer: Answer, max_bytes: int) -> bytes | str:
    """Return the content as the server meant it: text, or bytes without compression, within the limit.

    A page in gzip or zstd is one whether a header says so or not; any other file stays compressed.
    """
    body = answer.body if isinstance(answer.body, bytes | str) else b""
    if isinstance(body, str):
        body = _bytes_or_text(body)
    if len(body) > max_bytes:
        raise PageError(BrokenReason.PAGE_TOO_LARGE, f"{len(body):,} bytes, {describe_excess(max_bytes)}")
    if isinstance(body, str):
        return body
    encoding = answer.content_encoding if isinstance(answer.content_encoding, str) else None
    content = inflate(body, encoding, max_bytes)
    start = start_of(content)
    if not start or is_binary(start) or other_format(start) or _lacks_html(start, answer.declared_type):
        return content
    return inflate(content, coding_of(content), max_bytes)


def _bytes_or_text(body: str) -> bytes | str:
    """Return the bytes of a page or another file that text is in base64, which has no `<`, else the text."""
    if "<" in body:
        return body
    try:
        content = decode_base64(body)
    except ValueError:
        return body
    is_page = looks_like_html(content[:_SNIFFED].replace(b"\0", b""))
    return content if is_page or other_format(content) else body


def _describe_non_html(html: bytes, content_type: str) -> str | None:
    """Describe decoded content that is no page; None if it may be one."""
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
    """Return True for a JSON object or array; for one that is cut off, or several, if no markup is there."""
    if json_in(html) is not None:
        return True
    return _JSON.match(html[:_SNIFFED]) is not None and not looks_like_html(html)


def _is_binary(html: bytes) -> bool:
    """Return True for bytes that no text has, unless they are a few that slipped into a page."""
    head = html[:_SNIFFED]
    binary = binary_data_bytes(head)
    if not binary or _MARKUP.match(head.lstrip(BLANK + b"\0")):
        return False
    return binary > len(head) * _MAX_BINARY_SHARE or not looks_like_html(head)


def _decode(content: bytes | str, charset: str | None) -> DecodedText:
    if isinstance(content, bytes):
        decoded = decode_html(content, charset)
    else:
        decoded = DecodedText(encode_text(content), "utf-8")
    return replace(decoded, html=_page_of_string(decoded.html)) if _STRING.match(decoded.html) else decoded


def _page_of_string(html: bytes) -> bytes:
    """Return the page that is written as a JSON string, as crawlers do that encode it twice; else what it is.

    Markup in quotation marks is a page of its own, if JSON had nothing to escape in it.
    """
    try:
        content = parse_json(html)
    except PageError:
        return html
    page = encode_text(str(content))
    if _STRING.match(page):
        return _page_of_string(page)
    is_escaped = len(page) != len(html.strip(BLANK)) - 2
    return page if _WHOLE_PAGE.match(page) or (is_escaped and _MARKUP.match(page.lstrip(BLANK))) else html


def _media_type(content_type: str) -> str:
    """Return the type without its parameters; empty for one without a subtype, unless it is that of HTML."""
    matched = _MEDIA_TYPE.match(content_type.strip())
    media_type = matched[0].lower() if matched else ""
    return media_type if "/" in media_type or media_type in _HTML_TYPES else ""


def _shorten(value: str) -> str:
    return encode_text(value[:200]).decode()


def _encodable(value: str | None) -> str | None:
    """Return a text that UTF-8 can encode, without lone surrogates; None if it is empty."""
    return encode_text(value).decode() if value else None
