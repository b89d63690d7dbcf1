"""Conversion of a web server's answer to a page, or to the reason why it is none."""

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.settings import KIB
from dehusk.streams.sources.compression import binary_data_bytes, coding_of, inflate, is_binary, start_of
from dehusk.streams.sources.encoding import DecodedText, decode_html, encode_text, encoding_of
from dehusk.streams.sources.fields import describe_wrong_type, json_in
from dehusk.streams.sources.layers import MAX_LAYERS, Unwrapper
from dehusk.streams.sources.sniffing import BLANK, MARKUP, SNIFFED, looks_like_html, other_format

Outcome = RawPage | Skipped | Broken
_HTML_TYPES = {"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml", "html", "xhtml"}
_UNDECLARED_TYPES = {"", "application/octet-stream", "unknown/unknown", "*/*", "application/unknown"}
"""Content types that say nothing: the body is looked at (the MIME Sniffing standard, section 7)."""
_PAGE_TYPES = _HTML_TYPES | _UNDECLARED_TYPES
"""Content types that a page may have, beside those of XML."""
_JSON = re.compile(rb'\s*(?:\[\s*)*\{\s*"(?:[^"\\]|\\.)*"\s*:')
"""Beginning of JSON that holds an object."""
_BETWEEN_JSON = "\t\n\r\x1e ,"
"""Characters between the values of JSON lines and their like."""
JSON = "JSON"
"""Detail of a page that is skipped as JSON."""
_NO_CONTENT = "the message holds no content"
"""Detail of a page without a body, be it within compression or behind a byte order mark."""
_MAX_BINARY_SHARE = 1 / 32
"""Share of bytes that no text has from which the first bytes are no page, whatever markup is among them."""
_MEDIA_TYPE = re.compile(r"[^\s;,]*")
"""Up to where several headers were joined or a semicolon was forgotten."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';,]+)""", re.IGNORECASE)
_URL = re.compile(
    r"(?:https?://[^\s/?#\x00-\x20\x7f][^\x00-\x20\x7f]*|file:///[^\x00-\x20\x7f]*)", re.IGNORECASE
)
ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
"""Begin of an absolute URL, whatever its scheme."""
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
    """Bytes as the server sent them, or text of Unicode, whatever is declared; both may be in layers."""
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
    """Return the page that an answer is, of the format of this name, or why it is none; both have its id."""
    return replace(_read_page(answer, source, max_bytes), id=_encodable(answer.id))


def _read_page(answer: Answer, source: str, max_bytes: int) -> Outcome:
    address = page_url(answer.url)
    if not isinstance(address, str):
        return address
    rejected = _reject(answer, address)
    if rejected is not None:
        return rejected
    try:
        opened = _open(answer, max_bytes)
    except PageError as error:
        return Broken(error.reason, str(error), address)
    if isinstance(opened, str):
        return Skipped(SkipReason.NOT_HTML, opened, address)
    skipped = _skip(opened.html, answer, address)
    if skipped is not None:
        return skipped
    return RawPage(
        url=address,
        html=opened.html,
        fetched_at=answer.fetched_at,
        language=_encodable(answer.language),
        encoding=opened.encoding,
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
    return replace(outcome, url=offline_url(url))


def offline_url(url: str) -> str:
    """Return any URL of a page that comes from no crawler, also an empty one, as it is keyed."""
    return known_url(url) or encode_text(url.strip()).decode()


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
        return Skipped(SkipReason.NO_BODY, _NO_CONTENT, url)
    if not isinstance(body, bytes | str):
        return Broken(BrokenReason.MALFORMED_MESSAGE, f"the content: {describe_wrong_type(body)}", url)
    return None


def _open(answer: Answer, max_bytes: int) -> DecodedText | str:
    """Return the text within all layers of an answer's body, or the name of the other format that it has.

    Raises:
        PageError: the body is damaged, too large, or in more layers than any page.
    """
    charset = charset_of(answer.declared_type) or answer.charset
    unwrapper = Unwrapper(partial(_inflate, answer=answer, max_bytes=max_bytes))
    content = answer.body if isinstance(answer.body, bytes | str) else b""
    for _ in range(MAX_LAYERS + 1):
        if isinstance(content, bytes):
            content = unwrapper.inflate(content)
        other = other_format(content)
        if other:
            return other
        decoded = _decode(content, charset)
        text = content if isinstance(content, bytes) and content.isascii() else decoded.html
        inner = unwrapper.unwrap(text)
        if inner is None and text is not decoded.html:
            inner = unwrapper.unwrap(decoded.html)
        if inner is None:
            _expect_size(max(len(content), len(decoded.html)), max_bytes)
            return decoded
        content = inner
    raise PageError(BrokenReason.MALFORMED_MESSAGE, f"it is encoded more than {MAX_LAYERS} times")


def _inflate(content: bytes, answer: Answer, max_bytes: int) -> bytes:
    """Return a content without the compression that the server declared, or that it has.

    A page in gzip or zstd is one whether a header says so or not; any other file stays compressed.
    """
    encoding = answer.content_encoding if isinstance(answer.content_encoding, str) else None
    content = inflate(content, encoding, max_bytes)
    start = start_of(content)
    if not start or is_binary(start) or other_format(start) or _lacks_html(start, answer.declared_type):
        return content
    return inflate(content, coding_of(content), max_bytes)


def _expect_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise PageError(BrokenReason.PAGE_TOO_LARGE, f"{size:,} bytes, {describe_excess(max_bytes)}")


def _skip(html: bytes, answer: Answer, url: str) -> Skipped | None:
    """Return the outcome of an answer whose decoded content is no page; None if it may be one."""
    if not html:
        return Skipped(SkipReason.NO_BODY, _NO_CONTENT, url)
    non_html = _describe_non_html(html, answer.declared_type)
    return Skipped(SkipReason.NOT_HTML, non_html, url) if non_html else None


def _describe_non_html(html: bytes, content_type: str) -> str | None:
    """Describe decoded content that is no page; None if it may be one."""
    if _is_binary(html):
        return "it begins with bytes that no text has"
    if _is_json(html):
        return JSON
    if _lacks_html(html, content_type):
        return "no content type of HTML, and no markup of a page"
    return None


def _lacks_html(html: bytes, content_type: str) -> bool:
    return not is_html_type(content_type) and not looks_like_html(html)


def _is_json(html: bytes) -> bool:
    """Return True for a JSON object or array, one that is cut off, or several, whatever they hold."""
    if json_in(html) is not None:
        return True
    return _JSON.match(html[:SNIFFED]) is not None and not _begins_with_whole_json(html)


def _begins_with_whole_json(html: bytes) -> bool:
    """Return True for JSON before the markup of a page, as a faulty server writes it."""
    text = html.decode("utf-8", "replace").lstrip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    rest = text[end:].lstrip(_BETWEEN_JSON).encode()
    return not _JSON.match(rest) and looks_like_html(rest)


def _is_binary(html: bytes) -> bool:
    """Return True for bytes that no text has, unless they are a few that slipped into a page."""
    head = html[:SNIFFED]
    binary = binary_data_bytes(head)
    if not binary or MARKUP.match(head.lstrip(BLANK + b"\0")):
        return False
    return binary > len(head) * _MAX_BINARY_SHARE or not looks_like_html(head)


def _decode(content: bytes | str, charset: str | None) -> DecodedText:
    if isinstance(content, bytes):
        return decode_html(content, charset)
    return DecodedText(encode_text(content), "utf-8")


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
