"""`scrapy-cluster` and `frontera`: what Scrapy's spiders write there, as JSON or msgpack."""

import hashlib
import json
import re
from collections.abc import Sequence

import msgpack  # type: ignore[import-untyped]

from dehusk.inference.sites import host_of
from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import (
    Fields,
    decode_base64,
    field,
    number,
    parse_json,
    parse_time,
    text,
)
from dehusk.streams.sources.page import Answer, Outcome
from dehusk.streams.sources.source import CrawlerFormat, Decoded, JsonFormat, Record, fetch_time

_FAILED = b"json failed to parse"
"""A whole message, which Scrapy Cluster sends for an item that its JSON writer refused."""
_FRONTERA_MSGPACK = re.compile(rb"[\x92-\x95](?:\xc4[\x02\x04]|[\xa2\xa4])(?:pc|le|re|us|njid|of|st|as)")
"""An array of two to five that begins with a tag, as bytes or (up to 0.5) as str."""
_FRONTERA_JSON = re.compile(
    rb'\s*(?:\[\s*"dict"\s*,|\{\s*"type"\s*:\s*"(?:page_crawled|links_extracted|request_error|update_score'
    rb'|new_job_id|offset|stats|add_seeds)")'
)
"""An object with the types of its parts (0.8), or a bare one whose first key is its type (before)."""
_FRONTERA_OTHER_TYPES = {
    *("le", "re", "us", "njid", "of", "st", "as"),
    *("links_extracted", "request_error", "update_score", "new_job_id", "offset", "stats", "add_seeds"),
}
"""Names, in either codec, of the messages that are no pages."""


class ScrapyCluster(JsonFormat):
    """Items of Scrapy Cluster's Kafka pipeline, one for each response.

    Their `body` is text that is Unicode already, or base64 of the bytes; no flag says which.
    """

    name = "scrapy-cluster"
    marks = ("response_url", "status_code", "body")
    required = ("response_url", "crawlid")

    def recognises(self, message: Message) -> bool:
        """Return True if the value has the fields of a response, or is the pipeline's note of a failure."""
        return super().recognises(message) or _is_failure(message)

    def encode(self, page: RawPage) -> Record:
        """Return the item of a response; the pipeline sets no key."""
        headers = {"Content-Type": ["text/html; charset=utf-8"]}
        if page.language:
            headers["Content-Language"] = [page.language]
        item = {
            "url": page.url,
            "response_url": page.url,
            "status_code": 200,
            "status_msg": "OK",
            "response_headers": headers,
            "request_headers": {},
            "body": page.html.decode("utf-8", "replace"),
            "encoding": "utf-8",
            "links": [],
            "attrs": {},
            "appid": "dehusk",
            "crawlid": "feed",
            "timestamp": fetch_time(page).replace(tzinfo=None).isoformat(),
        }
        return Record(None, json.dumps(item, sort_keys=True).encode())

    def _read(self, message: Message) -> Sequence[Decoded]:
        if _is_failure(message):
            detail = "scrapy-cluster could not write the item and sent only that; nothing of it is left"
            raise PageError(BrokenReason.MALFORMED_MESSAGE, detail)
        return super()._read(message)

    def _read_object(self, fields: Fields) -> Outcome:
        """Return the page of the response, whose final URL counts if the request was redirected.

        The `encoding` beside the body is left alone: it is the server's or the page's declaration, which are
        read here again, or a guess.
        """
        headers = fields.get("response_headers")
        return self._page(
            Answer(
                text(fields, "response_url") or field(fields, "url"),
                fields.get("body"),
                content_type=field(headers, "content-type"),
                status=number(fields, "status_code"),
                content_encoding=field(headers, "content-encoding"),
                fetched_at=parse_time(fields.get("timestamp")),
                language=text(headers, "content-language"),
            )
        )


def _is_failure(message: Message) -> bool:
    return (message.value or b"").strip(b'" \n') == _FAILED


class Frontera(CrawlerFormat):
    """The spider log of Frontera, in its msgpack codec (0.4 to 0.8) or its JSON codec.

    A page has its HTML with STORE_CONTENT.
    """

    name = "frontera"

    def recognises(self, message: Message) -> bool:
        """Return True if the value begins as a message of either codec does."""
        value = message.value or b""
        return bool(_FRONTERA_MSGPACK.match(value) or _FRONTERA_JSON.match(value))

    def encode(self, page: RawPage) -> Record:
        """Return the message of Frontera 0.8's msgpack codec; the key is the fingerprint of the host."""
        host = host_of(page.url)
        domain = {b"name": host.encode(), b"fingerprint": _sha1(host)}
        meta = {b"domain": domain, b"encoding": "utf-8", b"fingerprint": _sha1(page.url)}
        headers = {b"Content-Type": [b"text/html; charset=utf-8"]}
        if page.language:
            headers[b"Content-Language"] = [page.language.encode()]
        value = msgpack.packb([b"pc", [page.url, 200, meta, headers, page.html]], use_bin_type=True)
        return Record(domain[b"fingerprint"], value)

    def _read(self, message: Message) -> Sequence[Decoded]:
        """Return the page of a `page_crawled`; a message of another type is none."""
        value = message.value or b""
        try:
            crawled = _read_json(value) if value.lstrip()[:1] in (b"[", b"{") else _read_msgpack(value)
        except (PageError, ValueError, TypeError, LookupError, RecursionError) as error:
            is_one = self.recognises(message)
            reason = BrokenReason.MALFORMED_MESSAGE if is_one else BrokenReason.WRONG_FORMAT
            raise PageError(reason, f"not a message of a frontera codec: {error}") from error
        return [self._page(crawled) if isinstance(crawled, Answer) else crawled]


def _read_msgpack(value: bytes) -> Answer | Skipped:
    """Read every str as bytes: up to 0.5 the body is one, whatever its encoding."""
    tag, *parts = msgpack.unpackb(value, raw=True, strict_map_key=False)
    if tag != b"pc":
        return _skip_message(_as_text(tag))
    url, status, meta, *rest = parts[0]
    body = rest.pop() if rest else None
    headers = rest.pop() if rest else None
    return _answer(_as_text(url), status, _as_text(meta), _as_text(headers), body)


def _read_json(value: bytes) -> Answer | Skipped:
    content = parse_json(value)
    message = _untag(content) if isinstance(content, list) else content
    if field(message, "type") != "page_crawled":
        return _skip_message(field(message, "type"))
    response = field(message, "r")
    body = text(response, "body")
    return _answer(
        url=field(response, "url"),
        status=field(response, "status_code"),
        meta=field(response, "meta"),
        headers=None,
        body=None if body is None else decode_base64(body),
    )


def _answer(url: object, status: object, meta: object, headers: object, body: object) -> Answer:
    """Return the answer that both codecs hold; any part may be of a wrong type."""
    return Answer(
        url,
        body,
        content_type=text(headers, "content-type"),
        status=status if isinstance(status, int) else None,
        content_encoding=text(headers, "content-encoding"),
        charset=text(meta, "encoding"),
        id=text(meta, "fingerprint"),
        language=text(headers, "content-language"),
    )


def _skip_message(tag: object) -> Skipped:
    if tag not in _FRONTERA_OTHER_TYPES:
        raise ValueError(f"there is none of type {str(tag)[:40]!r}")
    return Skipped(SkipReason.NOT_A_PAGE, f"a frontera message of type {tag!r}")


def _untag(tagged: object) -> object:
    """Return the value of a pair of a type and a value; what was bytes stays text."""
    match tagged:
        case ["dict", [*pairs]]:
            return dict(_untag_item(pair) for pair in pairs)
        case ["list" | "tuple", [*items]]:
            return [_untag(item) for item in items]
        case [str(), value]:
            return value
    raise ValueError(f"{str(tagged)[:40]!r} is no pair of a type and a value")


def _untag_item(pair: object) -> tuple[object, object]:
    match pair:
        case [key, item]:
            return _untag(key), _untag(item)
    raise ValueError(f"{str(pair)[:40]!r} is no pair of a key and a value")


def _as_text(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, dict):
        return {_as_text(key): _as_text(item) for key, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list) else value


def _sha1(name: str) -> bytes:
    return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest().encode()
