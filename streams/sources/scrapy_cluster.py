"""`scrapy-cluster`: what Scrapy Cluster's Kafka pipeline writes for each response."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import base64_or_text, field, has_keys, message_object, number, text
from dehusk.streams.sources.page import html_page
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time

_MARKS = ("response_url", "crawlid")
_FAILED = b"json failed to parse"
"""What the pipeline sends, as a whole message, for an item that its JSON writer refused."""


class ScrapyCluster:
    """Objects whose `body` is text that is Unicode already, or base64 of the bytes; no flag says which."""

    name = "scrapy-cluster"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the value has the fields of a response item, or is the pipeline's note of a failure."""
        value = message.value or b""
        return has_keys(value, "response_url", "status_code", "body") or value.strip(b'" \n') == _FAILED

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of the response; the final URL counts, where the request was redirected."""
        value = message.value or b""
        if value.strip(b'" \n') == _FAILED:
            detail = "scrapy-cluster could not write the item and sent only that; nothing of it is left"
            return [Broken(BrokenReason.MALFORMED_MESSAGE, detail)]
        try:
            item = message_object(value, *_MARKS)
        except PageError as error:
            return [Broken(error.reason, str(error))]
        headers = item.get("response_headers")
        return [
            html_page(
                url=text(item, "response_url") or field(item, "url"),
                body=_body(item.get("body")),
                content_type=field(headers, "content-type"),
                status=number(item, "status_code"),
                content_encoding=field(headers, "content-encoding"),
                fetched_at=parse_time(item.get("timestamp")),
                language=text(headers, "content-language"),
                source=self.name,
                max_bytes=self._max_bytes,
            )
        ]

    def encode(self, page: RawPage) -> Record:
        """The item of a response; the pipeline sets no key."""
        fetched = (page.fetched_at or datetime.now(UTC)).astimezone(UTC).replace(tzinfo=None)
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
            "timestamp": fetched.isoformat(),
        }
        return Record(None, json.dumps(item, sort_keys=True).encode())


def _body(body: object) -> object:
    """The bytes or the text of a body.

    The `encoding` beside it is left alone: it is the server's or the page's declaration, which are read here
    again, or a guess.
    """
    return base64_or_text(body) if isinstance(body, str) else body
