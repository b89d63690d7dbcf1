"""`frontera`: the spider log of Frontera, in its msgpack codec (0.4 to 0.8) or its JSON codec."""

import hashlib
import re
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgpack  # type: ignore[import-untyped]

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import field, parse_json, text
from dehusk.streams.sources.page import html_page
from dehusk.streams.sources.source import Decoded, Record

MSGPACK = re.compile(rb"[\x92-\x95](?:\xc4[\x02\x04]|[\xa2\xa4])(?:pc|le|re|us|njid|of|st|as)")
"""An array of two to five that begins with a tag, as bytes or (up to 0.5) as str."""
JSON = re.compile(
    rb'\s*(?:\[\s*"dict"\s*,|\{\s*"type"\s*:\s*"(?:page_crawled|links_extracted|request_error|update_score'
    rb'|new_job_id|offset|stats|add_seeds)")'
)
"""An object with the types of its parts (0.8), or a bare one whose first key is its type (before)."""

_OTHER_TYPES = {
    *("le", "re", "us", "njid", "of", "st", "as"),
    *("links_extracted", "request_error", "update_score", "new_job_id", "offset", "stats", "add_seeds"),
}
"""What either codec calls the messages that are no pages."""


@dataclass(frozen=True, slots=True)
class _Crawled:
    """What both codecs say of a page; any part may be of a wrong type."""

    url: object
    status: object
    meta: object
    headers: object
    body: object


class Frontera:
    """What Frontera's spiders send to its workers; a page has its HTML with STORE_CONTENT."""

    name = "frontera"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the value begins as a message of either codec does."""
        value = message.value or b""
        return bool(MSGPACK.match(value) or JSON.match(value))

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of a `page_crawled`; a message of another type is none."""
        value = message.value or b""
        try:
            crawled = _read_json(value) if value.lstrip()[:1] in (b"[", b"{") else _read_msgpack(value)
        except (PageError, ValueError, TypeError, LookupError, RecursionError) as error:
            is_one = self.recognises(message)
            reason = BrokenReason.MALFORMED_MESSAGE if is_one else BrokenReason.WRONG_FORMAT
            return [Broken(reason, f"not a message of a frontera codec: {error}")]
        return [self._page(crawled) if isinstance(crawled, _Crawled) else crawled]

    def _page(self, crawled: _Crawled) -> Decoded:
        return html_page(
            url=crawled.url,
            body=crawled.body,
            content_type=text(crawled.headers, "content-type"),
            status=crawled.status if isinstance(crawled.status, int) else None,
            content_encoding=text(crawled.headers, "content-encoding"),
            charset=text(crawled.meta, "encoding"),
            id=text(crawled.meta, "fingerprint"),
            language=text(crawled.headers, "content-language"),
            source=self.name,
            max_bytes=self._max_bytes,
        )

    def encode(self, page: RawPage) -> Record:
        """The message of Frontera 0.8's msgpack codec; the key is the fingerprint of the host."""
        host = _host(page.url)
        domain = {b"name": host.encode(), b"fingerprint": _sha1(host)}
        meta = {b"domain": domain, b"encoding": "utf-8", b"fingerprint": _sha1(page.url)}
        headers = {b"Content-Type": [b"text/html; charset=utf-8"]}
        if page.language:
            headers[b"Content-Language"] = [page.language.encode()]
        value = msgpack.packb([b"pc", [page.url, 200, meta, headers, page.html]], use_bin_type=True)
        return Record(domain[b"fingerprint"], value)


def _read_msgpack(value: bytes) -> _Crawled | Skipped:
    """Reads every str as bytes: up to 0.5 the body is one, whatever its encoding."""
    tag, *parts = msgpack.unpackb(value, raw=True, strict_map_key=False)
    if tag != b"pc":
        return _no_page(_as_text(tag))
    url, status, meta, *rest = parts[0]
    body = rest.pop() if rest else None
    headers = rest.pop() if rest else None
    return _Crawled(_as_text(url), status, _as_text(meta), _as_text(headers), body)


def _read_json(value: bytes) -> _Crawled | Skipped:
    content = parse_json(value)
    message = _restored(content) if isinstance(content, list) else content
    if field(message, "type") != "page_crawled":
        return _no_page(field(message, "type"))
    response = field(message, "r")
    body = text(response, "body")
    return _Crawled(
        url=field(response, "url"),
        status=field(response, "status_code"),
        meta=field(response, "meta"),
        headers=None,
        body=None if body is None else b64decode(body, validate=True),
    )


def _no_page(tag: object) -> Skipped:
    if tag not in _OTHER_TYPES:
        raise ValueError(f"there is none of type {str(tag)[:40]!r}")
    return Skipped(SkipReason.NOT_A_PAGE, f"a frontera message of type {tag!r}")


def _restored(tagged: object) -> object:
    """The value of a pair of a type and a value; what was bytes stays text."""
    match tagged:
        case ["dict", [*pairs]]:
            return dict(_restored_item(pair) for pair in pairs)
        case ["list" | "tuple", [*items]]:
            return [_restored(item) for item in items]
        case [str(), value]:
            return value
    raise ValueError(f"{str(tagged)[:40]!r} is no pair of a type and a value")


def _restored_item(pair: object) -> tuple[object, object]:
    match pair:
        case [key, item]:
            return _restored(key), _restored(item)
    raise ValueError(f"{str(pair)[:40]!r} is no pair of a key and a value")


def _as_text(value: object) -> object:
    """The value with text for all bytes in it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, dict):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list) else value


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _sha1(name: str) -> bytes:
    return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest().encode()
