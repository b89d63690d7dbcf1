"""Pages in lines of JSON: `{"id", "url", "html"}`."""

import codecs
import json
from dataclasses import replace

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.fields import Fields, expect_text, parse_object
from dehusk.streams.sources.page import Outcome, offline_page, page_url

_NO_URL = Broken(
    BrokenReason.MISSING_URL, "it has no 'url', which tells a worker the document's key and site"
)


def read_page_line(line: bytes, max_bytes: int) -> Outcome:
    """Return the page of a line `{"id", "url", "html"}`, whose URL may be anything, also empty."""
    try:
        return _page(parse_line(line), line, max_bytes)
    except PageError as error:
        return Broken(error.reason, str(error))


def read_keyed_line(line: bytes, max_bytes: int) -> Outcome:
    """Return the page of a line that is to be put on a topic, where a page without a URL is a dead letter."""
    try:
        fields = parse_line(line)
        outcome = _page(fields, line, max_bytes)
    except PageError as error:
        return Broken(error.reason, str(error))
    if isinstance(outcome, Broken):
        return outcome
    try:
        expect_text(fields.get("url"), "url")
    except PageError as error:
        return Broken(error.reason, str(error), outcome.url, outcome.id)
    if not isinstance(outcome, RawPage):
        return outcome
    address = page_url(outcome.url) if outcome.url else _NO_URL
    if isinstance(address, str):
        return outcome
    reason = address.reason if isinstance(address, Broken) else BrokenReason.MISSING_URL
    return Broken(reason, address.detail, outcome.url or None, outcome.id)


def parse_line(line: bytes) -> Fields:
    """Parse the object of a line, which may begin with a byte order mark.

    Raises:
        PageError: it is no JSON, or no object.
    """
    return parse_object(line.removeprefix(codecs.BOM_UTF8))


def identity_of(fields: Fields, line: bytes) -> tuple[str | None, str | None]:
    """Return the id and the URL that the line of a page gives.

    Raises:
        PageError: they nest too deep.
    """
    return _text(fields, "id", line), _text(fields, "url", line)


def is_page_list(line: bytes) -> bool:
    """Return True if a line begins the list of pages of a WACZ, which holds none of them."""
    try:
        return str(parse_line(line).get("format")).startswith("json-pages-")
    except PageError:
        return False


def _page(fields: Fields, line: bytes, max_bytes: int) -> Outcome:
    name, url = identity_of(fields, line)
    try:
        body = expect_text(fields.get("html"), "html")
    except PageError as error:
        return Broken(error.reason, str(error), url, name)
    outcome = offline_page(url=url or "", body=body, id=name, source="json", max_bytes=max_bytes)
    return outcome if isinstance(outcome, RawPage) else replace(outcome, id=name, url=url)


def _text(fields: Fields, name: str, line: bytes) -> str | None:
    """Return a field as encodable text: strings as they are, other values as JSON; None if null or empty."""
    value = fields.get(name)
    if value in (None, ""):
        return None
    if type(value) is int:
        return str(value)
    return encode_text(value if isinstance(value, str) else _json(name, line)).decode()


def _json(name: str, line: bytes) -> str:
    """Return a field in compact JSON; `json` parses it anew, as it alone keeps all digits of numbers."""
    try:
        value = json.loads(line.removeprefix(codecs.BOM_UTF8))
        fields = json.loads(value) if isinstance(value, str) else value  # encoded twice
        return json.dumps(fields[name], ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        detail = f"field {name!r}: its JSON nests too deep"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error
