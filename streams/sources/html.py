"""`html`: the page's bytes as the value, its URL as the key or in the header `url`."""

from collections.abc import Sequence

from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.compression import GZIP
from dehusk.streams.sources.fields import json_in, number_in
from dehusk.streams.sources.keys import named_url, named_urls
from dehusk.streams.sources.page import html_page, is_html_type, looks_like_html, other_format
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time

_SNIFFED = 4096
_WEB_TYPES = ("text/", "image/", "audio/", "video/", "font/", "application/pdf", "application/javascript")
"""What the content types of a web server's answers begin with, and no crawler's messages."""
_UTF16 = (b"<\x00", b"\x00<", b"\xff\xfe", b"\xfe\xff")


class Html:
    """Pages as they are; the headers of the answer may stand in the headers of the message."""

    name = "html"

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def recognises(self, message: Message) -> bool:
        """Whether the headers say so, or the value begins with the markup of a page, in whatever encoding.

        So does a picture, a text or a feed, as a crawler that sends pages as they are sends these; a value in
        gzip may be a WARC record, and one in JSON a page of another format.
        """
        value = message.value or b""
        head = value[:_SNIFFED]
        declared = (_text(message.header("content-type")) or "").lower()
        if (is_html_type(declared) or declared.startswith(_WEB_TYPES)) and json_in(value) is None:
            return True
        if other_format(head) and not head.startswith(GZIP):
            return True
        if head.startswith(_UTF16):
            head = head.replace(b"\x00", b"").lstrip(b"\xff\xfe")
        start = head.lstrip(b"\xef\xbb\xbf\t\n\r\x0c \x00")
        return start.startswith(b"<") and looks_like_html(start)

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of the message."""
        return [
            html_page(
                url=next(named_urls(message), None),
                body=message.value,
                content_type=_text(message.header("content-type")),
                status=number_in(_text(message.header("status"))),
                content_encoding=_text(message.header("content-encoding")),
                fetched_at=parse_time(_text(message.header("fetched-at"))),
                language=_text(message.header("content-language")),
                source=self.name,
                max_bytes=self._max_bytes,
            )
        ]

    def encode(self, page: RawPage) -> Record:
        """The page keyed by its URL."""
        headers = [("content-type", b"text/html; charset=utf-8")]
        if page.language:
            headers.append(("content-language", page.language.encode()))
        if page.fetched_at:
            headers.append(("fetched-at", page.fetched_at.isoformat().encode()))
        return Record(page.url.encode(), page.html, tuple(headers))


def is_answer(message: Message) -> bool:
    """Whether the headers tell of a web server's answer, whatever it holds: its content type and its URL.

    Avro is what messages are made of, not answers.
    """
    declared = message.header("content-type") or b""
    return declared != b"" and b"avro" not in declared and named_url(message) is not None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
