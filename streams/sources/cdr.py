"""`cdr`: Memex's Common Data Repository format, version 3.1, as scrapy-cdr and ACHE write it."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import Fields, field, has_keys, message_object, text
from dehusk.streams.sources.page import html_page
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time


class Cdr:
    """Documents of CDR 3.1; their text is Unicode whatever its markup declares, and they keep no status."""

    name = "cdr"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the value has the fields of a document of CDR 3; CDR 2 has a `timestamp` only."""
        return has_keys(message.value or b"", "raw_content", "timestamp_crawl", "url")

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The one page of a document."""
        try:
            document = message_object(message.value or b"", "raw_content", "timestamp_crawl")
        except PageError as error:
            return [Broken(error.reason, str(error))]
        return [cdr_page(document, self.name, self._max_bytes)]

    def encode(self, page: RawPage) -> Record:
        """The document as scrapy-cdr builds it; the key is its `_id`."""
        crawled = (page.fetched_at or datetime.now(UTC)).astimezone(UTC).replace(tzinfo=None)
        timestamp = f"{crawled.isoformat()}Z"
        _id = hashlib.sha256(f"{page.url}-{timestamp}".encode()).hexdigest().upper()
        document = {
            "_id": _id,
            "crawler": "dehusk",
            "team": "dehusk",
            "timestamp_crawl": timestamp,
            "url": page.url,
            "version": 3.1,
            "content_type": "text/html",
            "raw_content": page.html.decode(),
            "response_headers": {"Content-Language": page.language} if page.language else {},
            "objects": [],
        }
        return Record(_id.encode(), orjson.dumps(document))


def cdr_page(document: Fields, source: str, max_bytes: int) -> Decoded:
    """The page of a document; its URL and content type may be lists of several."""
    return html_page(
        url=field(document, "url"),
        body=field(document, "raw_content"),
        content_type=field(document, "content_type"),
        id=text(document, "_id"),
        fetched_at=parse_time(field(document, "timestamp_crawl")),
        language=text(document.get("response_headers"), "content-language"),
        source=source,
        max_bytes=max_bytes,
    )
