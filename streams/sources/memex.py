"""`cdr` and `ache`: what the crawlers of the Memex program write.

CDR is its Common Data Repository format, version 3.1, which scrapy-cdr and ACHE write. ACHE's Kafka sink has
formats of its own, too.
"""

import hashlib
from base64 import b64encode
from urllib.parse import quote_plus

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.fields import Fields, decode_base64, field, parse_time, text
from dehusk.streams.sources.page import Answer, Outcome, known_url
from dehusk.streams.sources.source import JsonFormat, Record, fetch_time


class Cdr(JsonFormat):
    """Documents of CDR 3.1; their text is Unicode whatever its markup declares, and they keep no status.

    CDR 2 has a `timestamp` in place of `timestamp_crawl`.
    """

    name = "cdr"
    marks = ("raw_content", "timestamp_crawl", "url")
    required = ("raw_content", "timestamp_crawl")

    def encode(self, page: RawPage) -> Record:
        """Return the document as scrapy-cdr builds it; the key is its `_id`."""
        timestamp = f"{fetch_time(page).replace(tzinfo=None).isoformat()}Z"
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

    def _read_object(self, fields: Fields) -> Outcome:
        return self._page(_cdr_answer(fields))


class Ache(JsonFormat):
    """Objects with the page's bytes in base64 (format JSON), or with text (formats ELASTIC and CDR31).

    Only the first has marks of its own: `auto` reads the others as `json` and as `cdr`.
    """

    name = "ache"
    marks = ("url", "content", "fetch_time", "response_headers")
    required = ("fetch_time", "retrieved", "raw_content")
    """A field of each of the formats JSON, ELASTIC and CDR31."""

    def encode(self, page: RawPage) -> Record:
        """Return the object of format JSON; the key is the URL as Java's URLEncoder writes it."""
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
            "fetch_time": int(fetch_time(page).timestamp() * 1000),
            "relevance": {"isRelevant": True, "relevance": 1.0},
            "crawler_id": "dehusk",
        }
        key = quote_plus(page.url, safe="*").replace("~", "%7E")
        return Record(key.encode(), orjson.dumps(fields))

    def _read_object(self, fields: Fields) -> Outcome:
        """Return the page of the object, whose final URL counts if the request was redirected."""
        if "raw_content" in fields:
            return self._page(_cdr_answer(fields))
        url = text(fields, "redirected_url") or field(fields, "url")
        headers = field(fields, "response_headers") or field(fields, "responseHeaders")
        try:
            body = _ache_body(fields)
        except PageError as error:
            return Broken(error.reason, str(error), known_url(url))
        return self._page(
            Answer(
                url,
                body,
                content_type=text(fields, "content_type") or text(headers, "content-type"),
                content_encoding=text(headers, "content-encoding"),
                fetched_at=parse_time(field(fields, "fetch_time") or field(fields, "retrieved")),
                language=text(headers, "content-language"),
            )
        )


def _cdr_answer(document: Fields) -> Answer:
    """Return the answer of a document, whose URL and content type may be lists of several."""
    return Answer(
        field(document, "url"),
        field(document, "raw_content"),
        content_type=field(document, "content_type"),
        id=text(document, "_id"),
        fetched_at=parse_time(field(document, "timestamp_crawl")),
        language=text(document.get("response_headers"), "content-language"),
    )


def _ache_body(fields: Fields) -> object:
    """Return the bytes of `content`; else the text of format ELASTIC, or of the time before `content`."""
    content = field(fields, "content")
    if content is None:
        return field(fields, "html") or field(fields, "response_body")
    if not isinstance(content, str):
        return content
    try:
        return decode_base64(content)
    except ValueError as error:
        detail = f"content is not base64: {error}"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error
