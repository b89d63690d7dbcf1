"""`ache`: what the Kafka sink of the ACHE crawler writes, in each of its formats."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote_plus

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.cdr import cdr_page
from dehusk.streams.sources.fields import Fields, field, has_keys, message_object, text
from dehusk.streams.sources.page import html_page, known_url
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time

_MARKS = ("fetch_time", "retrieved", "raw_content")
"""A field of each of the formats JSON, ELASTIC and CDR31."""


class Ache:
    """Objects with the page's bytes in base64 (format JSON), or with text (formats ELASTIC and CDR31).

    Only the first has marks of its own: `auto` reads the others as `json` and as `cdr`.
    """

    name = "ache"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the value has the fields of format JSON."""
        return has_keys(message.value or b"", "url", "content", "fetch_time", "response_headers")

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of the object; the final URL counts, where the request was redirected."""
        try:
            fields = message_object(message.value or b"", *_MARKS)
        except PageError as error:
            return [Broken(error.reason, str(error))]
        is_cdr = "raw_content" in fields
        return [cdr_page(fields, self.name, self._max_bytes) if is_cdr else self._page(fields)]

    def encode(self, page: RawPage) -> Record:
        """The object of format JSON; the key is the URL as Java's URLEncoder writes it."""
        content_type = "text/html; charset=utf-8"
        headers = {"content-type": [content_type]}
        if page.language:
            headers["content-language"] = [page.language]
        fields = {
            "url": page.url,
            "redirected_url": None,
            "content": b64encode(page.html).decode(),
            "content_type": content_type,
            "response_headers": headers,
            "fetch_time": int((page.fetched_at or datetime.now(UTC)).timestamp() * 1000),
            "relevance": {"isRelevant": True, "relevance": 1.0},
            "crawler_id": "dehusk",
        }
        return Record(_key(page.url), orjson.dumps(fields))

    def _page(self, fields: Fields) -> Decoded:
        url = text(fields, "redirected_url") or field(fields, "url")
        headers = field(fields, "response_headers") or field(fields, "responseHeaders")
        try:
            body = _body(fields)
        except PageError as error:
            return Broken(error.reason, str(error), known_url(url))
        return html_page(
            url=url,
            body=body,
            content_type=text(fields, "content_type") or text(headers, "content-type"),
            content_encoding=text(headers, "content-encoding"),
            fetched_at=parse_time(field(fields, "fetch_time") or field(fields, "retrieved")),
            language=text(headers, "content-language"),
            source=self.name,
            max_bytes=self._max_bytes,
        )


def _body(fields: Fields) -> object:
    """The bytes of `content`; else the text of format ELASTIC, or of the time before `content`."""
    content = field(fields, "content")
    if content is None:
        return field(fields, "html") or field(fields, "response_body")
    if not isinstance(content, str):
        return content
    try:
        return b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:
        detail = f"content is not base64: {error}"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error


def _key(url: str) -> bytes:
    return quote_plus(url, safe="*").replace("~", "%7E").encode()
