"""Pages in lines of JSON, `{"id", "url", "html"}`, and in rows of Parquet with such columns."""

import codecs
import json
from dataclasses import dataclass, fields, replace

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.fields import ABSENT, Fields, expect_text, parse_object, quote_names, value_at
from dehusk.streams.sources.page import Outcome, offline_page, page_url


@dataclass(frozen=True, slots=True)
class LineFields:
    """Paths of the fields of a line or row that holds a page, as `value_at` takes them."""

    id: str = "id"
    url: str = "url"
    html: str = "html"


LINE_FIELDS = tuple(each.name for each in fields(LineFields))
"""Names of these fields."""
DEFAULT_FIELDS = LineFields()


def read_page_line(
    line: bytes, max_bytes: int, names: LineFields = DEFAULT_FIELDS, *, needs_url: bool = False
) -> Outcome:
    """Return the page of a line `{"id", "url", "html"}`.

    Its URL may be anything, also empty; with `needs_url`, as for a topic, what is no URL of a page is Broken.
    """
    try:
        return read_page(parse_line(line), line, max_bytes, names, needs_url=needs_url)
    except PageError as error:
        return Broken(error.reason, str(error))


def read_page(
    fields: Fields, line: bytes | None, max_bytes: int, names: LineFields, *, needs_url: bool
) -> Outcome:
    """Return the page of a line, or of a row of Parquet, which has no line, and HTML as text or bytes."""
    outcome = _page(fields, line, max_bytes, names)
    return _keyed(fields, outcome, names) if needs_url else outcome


def _keyed(fields: Fields, outcome: Outcome, names: LineFields) -> Outcome:
    """Return a page, or what is wrong with its URL."""
    if isinstance(outcome, Broken):
        return outcome
    try:
        expect_text(value_at(fields, names.url), names.url)
    except PageError as error:
        return Broken(error.reason, str(error), outcome.url, outcome.id)
    if not isinstance(outcome, RawPage):
        return outcome
    address = page_url(outcome.url) if outcome.url else _no_url(names)
    if isinstance(address, str):
        return outcome
    reason = address.reason if isinstance(address, Broken) else BrokenReason.MISSING_URL
    return Broken(reason, address.detail, outcome.url or None, outcome.id)


def is_page_line(line: bytes, names: LineFields) -> bool:
    """Return True if a line is an object with a page."""
    try:
        return value_at(parse_line(line), names.html, ABSENT) is not ABSENT
    except PageError:
        return False


def parse_line(line: bytes) -> Fields:
    """Parse the object of a line, which may begin with a byte order mark.

    Raises:
        PageError: it is no JSON, or no object.
    """
    return parse_object(line.removeprefix(codecs.BOM_UTF8))


def identity_of(
    fields: Fields, line: bytes | None, names: LineFields = DEFAULT_FIELDS
) -> tuple[str | None, str | None]:
    """Return the id and the URL that the line of a page gives, or a row, which has no line.

    Raises:
        PageError: they nest too deep.
    """
    return _text(fields, names.id, line), _text(fields, names.url, line)


def is_page_list(line: bytes) -> bool:
    """Return True if a line begins the list of pages of a WACZ, which holds none of them."""
    try:
        return str(parse_line(line).get("format")).startswith("json-pages-")
    except PageError:
        return False


def _page(fields: Fields, line: bytes | None, max_bytes: int, names: LineFields) -> Outcome:
    name, url = identity_of(fields, line, names)
    html = value_at(fields, names.html, ABSENT)
    if html is ABSENT:
        detail = (
            f"an object with the fields {quote_names(fields)}, without {names.html!r}: "
            "`dehusk clean` and `feed` take the page from another one by --field html=PATH, and "
            "dehusk.arrow.read by `fields`"
        )
        return Broken(BrokenReason.WRONG_FORMAT, detail, url, name)
    try:
        body = html if isinstance(html, bytes) else expect_text(html, names.html)
    except PageError as error:
        return Broken(error.reason, str(error), url, name)
    outcome = offline_page(url=url or "", body=body, id=name, source="json", max_bytes=max_bytes)
    return outcome if isinstance(outcome, RawPage) else replace(outcome, id=name, url=url)


def _no_url(names: LineFields) -> Broken:
    detail = f"it has no {names.url!r}, which tells a worker the document's key and site"
    return Broken(BrokenReason.MISSING_URL, detail)


def _text(fields: Fields, path: str, line: bytes | None) -> str | None:
    """Return a value as encodable text, None if null or empty; what is no string is JSON in a line's text."""
    value = value_at(fields, path)
    if value in (None, ""):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    is_plain = line is None or isinstance(value, str) or type(value) is int
    return encode_text(str(value) if is_plain else _json(path, line or b"")).decode()


def _json(path: str, line: bytes) -> str:
    """Return a field in compact JSON; `json` parses it anew, as it alone keeps all digits of numbers."""
    try:
        value = json.loads(line.removeprefix(codecs.BOM_UTF8))
        fields = json.loads(value) if isinstance(value, str) else value  # encoded twice
        return json.dumps(value_at(fields, path), ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        detail = f"field {path!r}: its JSON nests too deep"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error
