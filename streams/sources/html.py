"""`html`: the page's bytes as the value, its URL as the key or in the header `url`."""

from collections.abc import Sequence
from dataclasses import replace

from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.compression import coding_of
from dehusk.streams.sources.fields import first, json_in, number_in, parse_time, quote_names
from dehusk.streams.sources.page import JSON, Answer, Outcome, is_html_type
from dehusk.streams.sources.sniffing import MARKUP, looks_like_html, other_format
from dehusk.streams.sources.source import CrawlerFormat, Decoded, Record, named_url, named_urls

_SNIFFED = 4096
_WEB_TYPES = ("text/", "image/", "audio/", "video/", "font/", "application/pdf", "application/javascript")
"""Beginnings of the content types of a web server's answers, which no crawler's messages have."""
_UTF16 = (b"<\x00", b"\x00<", b"\xff\xfe", b"\xfe\xff")


class Html(CrawlerFormat):
    """Pages as they are; the headers of the answer may stand in the headers of the message."""

    name = "html"

    def recognises(self, message: Message) -> bool:
        """Return True if the headers say so, or the value begins with the markup of a page in any encoding.

        A picture, a text or a feed is recognised, too, as a crawler that sends pages as they are sends these.
        A value in gzip or zstd may be a WARC record, and one in JSON a page of another format.
        """
        value = message.value or b""
        head = value[:_SNIFFED]
        declared = (_text(message.header("content-type")) or "").lower()
        if (is_html_type(declared) or declared.startswith(_WEB_TYPES)) and json_in(value) is None:
            return True
        if other_format(head) and coding_of(head) is None:
            return True
        if head.startswith(_UTF16):
            head = head.replace(b"\x00", b"").lstrip(b"\xff\xfe")
        start = head.lstrip(b"\xef\xbb\xbf\t\n\r\x0c \x00")
        return start.startswith(b"<") and looks_like_html(start)

    def _read(self, message: Message) -> Sequence[Decoded]:
        answer = Answer(
            next(named_urls(message), None),
            message.value,
            content_type=_text(message.header("content-type")),
            status=number_in(_text(message.header("status"))),
            content_encoding=_text(message.header("content-encoding")),
            fetched_at=parse_time(_text(message.header("fetched-at"))),
            language=_text(message.header("content-language")),
        )
        return [_advise(self._page(answer), message.value or b"")]

    def encode(self, page: RawPage) -> Record:
        """Return the page keyed by its URL."""
        headers = [("content-type", b"text/html; charset=utf-8")]
        if page.language:
            headers.append(("content-language", page.language.encode()))
        if page.fetched_at:
            headers.append(("fetched-at", page.fetched_at.isoformat().encode()))
        return Record(page.url.encode(), page.html, tuple(headers))


def _advise(outcome: Outcome, value: bytes) -> Outcome:
    """Name the source that reads a value of JSON, for it may hold a page; reject JSON that none reads."""
    if not isinstance(outcome, Skipped) or (outcome.reason, outcome.detail) != (SkipReason.NOT_HTML, JSON):
        return outcome
    content = json_in(value)
    if content is None:
        if not MARKUP.search(value):
            return outcome
        detail = (
            "JSON that is cut off, or of several values, with markup in it: "
            "--source json reads one whole object in a message"
        )
        return Broken(BrokenReason.WRONG_FORMAT, detail, outcome.url)
    item = first(content)
    if not isinstance(item, dict):
        return outcome
    kind = "a JSON array of objects" if isinstance(content, list) else JSON
    advice = "--source json --field url=NAME --field html=NAME reads a page in them"
    if isinstance(content, list):
        advice = f"send each as a message: {advice}"
    return replace(outcome, detail=f"{kind} with the fields {quote_names(item)}: {advice}")


def is_answer(message: Message) -> bool:
    """Return True if the headers are of a web server's answer, whatever it holds: a content type and a URL.

    Avro is what messages are made of, not answers.
    """
    declared = message.header("content-type") or b""
    return declared != b"" and b"avro" not in declared and named_url(message) is not None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", "replace")
