"""`norconex`: what Norconex's Kafka committer writes: flat objects whose `id` is the URL."""

from collections.abc import Sequence

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import Fields, field, json_in, message_object, shown_names, text
from dehusk.streams.sources.page import html_page, looks_like_html, page_url
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time

_OWN_FIELDS = ("document.", "collector.", "crawler.", "importer.")
"""What the names of the fields that the crawler itself adds begin with."""


class Norconex:
    """Objects whose `content` is a page only where the importer keeps its markup; by default it is text."""

    name = "norconex"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the value is a flat object with a URL as `id` and fields that the crawler adds."""
        fields = json_in(message.value or b"")
        if not isinstance(fields, dict):
            return False
        return _has_own_fields(fields) and (text(fields, "id") or "").startswith(("http://", "https://"))

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of the object."""
        try:
            return [self._page(_fields(message.value or b""))]
        except PageError as error:
            return [Broken(error.reason, str(error))]

    def encode(self, page: RawPage) -> Record:
        """The object of an importer that keeps the markup; the key is the URL."""
        fields = {
            "id": page.url,
            "document.reference": page.url,
            "document.contentType": "text/html",
            "content": page.html.decode("utf-8", "replace"),
        }
        if page.fetched_at:
            fields["crawler.fetchDate"] = page.fetched_at.isoformat()
        if page.language:
            fields["document.language"] = page.language
        return Record(page.url.encode(), orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))

    def _page(self, fields: Fields) -> Decoded:
        url, content = page_url(field(fields, "id")), field(fields, "content")
        if not isinstance(url, str):
            return url
        if isinstance(content, str) and not looks_like_html(content[:4096].encode("utf-8", "replace")):
            detail = "content is text without markup: let the importer keep the page as it is"
            return Skipped(SkipReason.NOT_HTML, detail, url)
        return html_page(
            url=url,
            body=content,
            fetched_at=parse_time(text(fields, "crawler.fetchDate") or text(fields, "collector.fetchDate")),
            language=text(fields, "document.language"),
            source=self.name,
            max_bytes=self._max_bytes,
        )


def _fields(value: bytes) -> Fields:
    """The object, whose `id` is never an array; PageError where it is none of this format."""
    fields = message_object(value, "id")
    if isinstance(fields["id"], list) or not ("content" in fields or _has_own_fields(fields)):
        detail = f"an object with the fields {shown_names(fields)}, without content"
        raise PageError(BrokenReason.WRONG_FORMAT, detail)
    return fields


def _has_own_fields(fields: Fields) -> bool:
    return any(name.startswith(_OWN_FIELDS) for name in fields)
