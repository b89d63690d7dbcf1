"""`nutch`: what Apache Nutch's indexer-kafka writes: objects whose fields are arrays, even of one value."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import (
    Fields,
    base64_or_text,
    expect_json,
    expect_object,
    field,
    first,
    has_keys,
    text,
)
from dehusk.streams.sources.page import html_page, known_url
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time

_MARKS = ("binaryContent", "segment", "digest", "boost")
_HEAD = re.compile(r"Version: -?\d+\n(?P<head>.*?)\nContent:\n", re.DOTALL)
_CONTENT_TYPE = re.compile(r"^contentType:[ \t]*(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Content:
    """What `binaryContent` says."""

    body: object
    content_type: str | None = None


class Nutch:
    """Index documents, which hold their page only where Nutch indexes with `-addBinaryContent`."""

    name = "nutch"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the value has the fields that Nutch's indexer itself gives every document."""
        return has_keys(message.value or b"", "segment", "digest", "boost")

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of the document; of each, where a producer of one's own sends arrays of documents."""
        try:
            parsed = expect_json(message.value or b"")
        except PageError as error:
            return [Broken(error.reason, str(error))]
        documents = parsed if isinstance(parsed, list) else [parsed]
        if not documents:
            return [Skipped(SkipReason.NOT_A_PAGE, "an empty array of documents")]
        return [self._outcome(document) for document in documents]

    def encode(self, page: RawPage) -> Record:
        """A document with its binary content, as of `-addBinaryContent`; Nutch sets no key."""
        html = page.html.decode("utf-8", "replace")
        head = (
            f"Version: -1\nurl: {page.url}\nbase: {page.url}\ncontentType: text/html\nmetadata: \nContent:\n"
        )
        document = {
            "id": page.url,
            "url": page.url,
            "digest": "",
            "boost": "1.0",
            "segment": "0",
            "binaryContent": head + html,
        }
        if page.fetched_at:
            document["tstamp"] = page.fetched_at.astimezone(UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
        if page.language:
            document["lang"] = page.language
        return Record(None, orjson.dumps({name: [value] for name, value in document.items()}))

    def _outcome(self, content: object) -> Decoded:
        try:
            return self._page(expect_object(content, *_MARKS))
        except PageError as error:
            return Broken(error.reason, str(error))

    def _page(self, document: Fields) -> Decoded:
        url = text(document, "id") or field(document, "url")
        binary = first(document.get("binaryContent"))
        if binary is None:
            detail = "no binaryContent: index with -addBinaryContent"
            return Skipped(SkipReason.NO_BODY, detail, known_url(url))
        content = _content(binary) if isinstance(binary, str) else _Content(binary)
        return html_page(
            url=url,
            body=content.body,
            content_type=content.content_type or _media_type(document),
            fetched_at=parse_time(first(document.get("tstamp"))),
            language=text(document, "lang"),
            source=self.name,
            max_bytes=self._max_bytes,
        )


def _content(binary: str) -> _Content:
    """The page: text behind a head of its properties, or with `-base64` the bytes as they were fetched."""
    head = _HEAD.match(binary)
    if head:
        declared = _CONTENT_TYPE.search(head["head"])
        return _Content(binary[head.end() :], declared[1] if declared else None)
    return _Content(base64_or_text(binary))


def _media_type(document: Fields) -> str | None:
    """What index-more found the document to be; other plugins use the field for other things."""
    value = text(document, "type")
    return value if value and "/" in value else None
