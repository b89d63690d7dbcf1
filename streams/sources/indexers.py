"""`nutch` and `norconex`: what Nutch's indexer and Norconex's committer write, as for a search index."""

import re
from collections.abc import Sequence
from datetime import UTC

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import (
    Fields,
    expect_json,
    expect_object,
    field,
    first,
    json_in,
    parse_time,
    quote_names,
    text,
)
from dehusk.streams.sources.page import Answer, Outcome, known_url, page_url
from dehusk.streams.sources.sniffing import looks_like_html
from dehusk.streams.sources.source import Decoded, JsonFormat, Record

_NUTCH_HEAD = re.compile(r"Version: -?\d+\n(?P<head>.*?)\nContent:\n", re.DOTALL)
_CONTENT_TYPE = re.compile(r"^contentType:[ \t]*(.*)$", re.MULTILINE)
_NORCONEX_FIELDS = ("document.", "collector.", "crawler.", "importer.")
"""Beginnings of the names of the fields that Norconex itself adds."""


class Nutch(JsonFormat):
    """Index documents, which hold their page only if Nutch indexes with `-addBinaryContent`.

    Their fields are arrays, even of one value. Nutch's indexer itself gives every document the marks.
    """

    name = "nutch"
    marks = ("segment", "digest", "boost")
    required = ("binaryContent", *marks)

    def encode(self, page: RawPage) -> Record:
        """Return a document with its binary content, as of `-addBinaryContent`; Nutch sets no key."""
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

    def _read(self, message: Message) -> Sequence[Decoded]:
        """Return the page of a document, or of each in an array, which producers of one's own send."""
        parsed = expect_json(message.value or b"")
        documents = parsed if isinstance(parsed, list) else [parsed]
        if not documents:
            return [Skipped(SkipReason.NOT_A_PAGE, "an empty array of documents")]
        return [self._read_document(document) for document in documents]

    def _read_document(self, document: object) -> Outcome:
        try:
            return self._read_object(expect_object(document, *self.required))
        except PageError as error:
            return Broken(error.reason, str(error))

    def _read_object(self, fields: Fields) -> Outcome:
        url = text(fields, "id") or field(fields, "url")
        body = first(fields.get("binaryContent"))
        if body is None:
            detail = "no binaryContent: index with -addBinaryContent"
            return Skipped(SkipReason.NO_BODY, detail, known_url(url))
        declared = None
        if isinstance(body, str):
            body, declared = _split_binary_content(body)
        return self._page(
            Answer(
                url,
                body,
                content_type=declared or _media_type(fields),
                fetched_at=parse_time(first(fields.get("tstamp"))),
                language=text(fields, "lang"),
            )
        )


def _split_binary_content(binary: str) -> tuple[str, str | None]:
    """Return the page and its content type: text after a head, or with `-base64` that of the bytes."""
    head = _NUTCH_HEAD.match(binary)
    if head is None:
        return binary, None
    declared = _CONTENT_TYPE.search(head["head"])
    return binary[head.end() :], declared[1] if declared else None


def _media_type(document: Fields) -> str | None:
    """Return the type that index-more found; other plugins use the field for other things."""
    value = text(document, "type")
    return value if value and "/" in value else None


class Norconex(JsonFormat):
    """Flat objects whose `id` is the URL.

    Their `content` is a page only if the importer keeps its markup; by default it is text.
    """

    name = "norconex"
    required = ("id",)

    def recognises(self, message: Message) -> bool:
        """Return True if the value is a flat object with a URL as `id` and fields that the crawler adds."""
        fields = json_in(message.value or b"")
        if not isinstance(fields, dict):
            return False
        url = (text(fields, "id") or "").lower()
        return _has_norconex_fields(fields) and url.startswith(("http://", "https://"))

    def encode(self, page: RawPage) -> Record:
        """Return the object of an importer that keeps the markup; the key is the URL."""
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

    def _read_object(self, fields: Fields) -> Outcome:
        """Return the page of the object, whose `id` is never an array."""
        if isinstance(fields["id"], list) or not ("content" in fields or _has_norconex_fields(fields)):
            detail = f"an object with the fields {quote_names(fields)}, without content"
            raise PageError(BrokenReason.WRONG_FORMAT, detail)
        url, content = page_url(field(fields, "id")), field(fields, "content")
        if not isinstance(url, str):
            return url
        if isinstance(content, str) and not looks_like_html(content[:4096].encode("utf-8", "replace")):
            detail = "content is text without markup: let the importer keep the page as it is"
            return Skipped(SkipReason.NOT_HTML, detail, url)
        return self._page(
            Answer(
                url,
                content,
                fetched_at=parse_time(
                    text(fields, "crawler.fetchDate") or text(fields, "collector.fetchDate")
                ),
                language=text(fields, "document.language"),
            )
        )


def _has_norconex_fields(fields: Fields) -> bool:
    return any(name.startswith(_NORCONEX_FIELDS) for name in fields)
