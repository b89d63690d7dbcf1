"""Pages in lines of JSON: `{"id", "url", "html"}`."""

import codecs
import json
from dataclasses import replace

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped
from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.fields import Fields, expect_text, parse_object
from dehusk.streams.sources.page import offline_page, page_url

Outcome = RawPage | Skipped | Broken


def read_page_line(line: bytes, max_bytes: int) -> Outcome:
    """The page of a line `{"id", "url", "html"}`; its URL is what the line says, empty where it says none."""
    fields = _fields(line)
    return fields if isinstance(fields, Broken) else _outcome(fields, line, max_bytes)


def read_keyed_line(line: bytes, max_bytes: int) -> Outcome:
    """The page of a line that is to be put on a topic, where a page without a URL is a dead letter."""
    fields = _fields(line)
    outcome = fields if isinstance(fields, Broken) else _outcome(fields, line, max_bytes)
    if isinstance(fields, Broken) or isinstance(outcome, Broken):
        return outcome
    try:
        expect_text(fields.get("url"), "url")
    except PageError as error:
        return Broken(error.reason, str(error), outcome.url, outcome.id)
    if not isinstance(outcome, RawPage):
        return outcome
    if not outcome.url:
        detail = "it has no 'url', which tells a worker the document's key and site"
        return Broken(BrokenReason.MISSING_URL, detail, id=outcome.id)
    address = page_url(outcome.url)
    if isinstance(address, str):
        return outcome
    reason = address.reason if isinstance(address, Broken) else BrokenReason.MISSING_URL
    return Broken(reason, address.detail, outcome.url, outcome.id)


def _fields(line: bytes) -> Fields | Broken:
    try:
        return parse_object(line.removeprefix(codecs.BOM_UTF8))
    except PageError as error:
        return Broken(error.reason, str(error))


def _outcome(fields: Fields, line: bytes, max_bytes: int) -> Outcome:
    try:
        name, url = _said(fields, "id", line), _said(fields, "url", line)
    except PageError as error:
        return Broken(error.reason, str(error))
    outcome = _page(fields, name, url or "", max_bytes)
    return outcome if isinstance(outcome, RawPage) else replace(outcome, id=name, url=url)


def _page(fields: Fields, name: str | None, url: str, max_bytes: int) -> Outcome:
    try:
        body = expect_text(fields.get("html"), "html")
    except PageError as error:
        return Broken(error.reason, str(error))
    return offline_page(url=url, body=body, id=name, source="json", max_bytes=max_bytes)


def _said(fields: Fields, name: str, line: bytes) -> str | None:
    """What a line says in a field, as UTF-8 can say it: text, or the JSON of anything else; else None."""
    value = fields.get(name)
    if value in (None, ""):
        return None
    if type(value) is int:
        return str(value)
    return encode_text(value if isinstance(value, str) else _json(name, line)).decode()


def _json(name: str, line: bytes) -> str:
    """A field's value in compact JSON; read anew by `json`, which alone keeps all digits of whole numbers."""
    try:
        value = json.loads(line.removeprefix(codecs.BOM_UTF8))[name]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        detail = f"field {name!r}: its JSON nests too deep"
        raise PageError(BrokenReason.MALFORMED_MESSAGE, detail) from error
