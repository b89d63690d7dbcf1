"""JSON as crawlers write it: parsed leniently, read by fields whose types are not taken for granted."""

import json
import re
from base64 import b64decode
from collections.abc import Mapping
from functools import lru_cache

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.sources.compression import GZIP

Fields = Mapping[str, object]
_JSON_BEGINS = (b"{", b"[")
_BLANK = b"\xef\xbb\xbf\t\n\r "
_SHOWN = 40
_NAMES_SHOWN = 300
_NUMBER = re.compile(r"\s*(-?[0-9]{1,18})(?!\S)")


def parse_json(value: bytes) -> object:
    """The JSON value; lone surrogates, which some crawlers write and orjson refuses, are let through.

    Raises:
        PageError: it is no JSON, or nests too deep.
    """
    parsed = _parse(value)
    if isinstance(parsed, PageError):
        raise parsed
    return parsed


@lru_cache(maxsize=1)
def _parse(value: bytes) -> object:
    """The JSON value, which is not to be changed, or a PageError; formats ask for the same one in turn."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as refusal:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return PageError(BrokenReason.MALFORMED_MESSAGE, f"it is no JSON: {refusal}")


def parse_object(value: bytes) -> Fields:
    """The JSON object.

    Raises:
        PageError: it is no JSON, or no object.
    """
    parsed = parse_json(value)
    if not isinstance(parsed, dict):
        raise PageError(BrokenReason.MALFORMED_MESSAGE, f"a JSON {_kind(parsed)} where an object is expected")
    return parsed


def message_object(value: bytes, *marks: str) -> Fields:
    """The object that a message is, with one at least of the fields that mark its format.

    Raises:
        PageError: it is of another format, or it is damaged or nests too deep.
    """
    return expect_object(expect_json(value), *marks)


def expect_json(value: bytes) -> object:
    """The JSON object or array that a message is.

    Raises:
        PageError: it is of another format, or it is damaged or nests too deep.
    """
    if not value.lstrip(_BLANK).startswith(_JSON_BEGINS):
        raise PageError(BrokenReason.WRONG_FORMAT, f"no JSON begins with {value[:_SHOWN]!r}")
    return parse_json(value)


def expect_object(content: object, *marks: str) -> Fields:
    """The object that a JSON value is, with one at least of the fields that mark its format.

    Raises:
        PageError: it is of another format.
    """
    if not isinstance(content, dict):
        raise PageError(BrokenReason.WRONG_FORMAT, f"a JSON {_kind(content)} where an object is expected")
    if marks and not any(mark in content for mark in marks):
        missing = f"an object with the fields {shown_names(content)}, without {' or '.join(marks)}"
        raise PageError(BrokenReason.WRONG_FORMAT, missing)
    return content


def shown_names(content: Fields) -> str:
    """The names of an object's fields, as far as a line has room for them."""
    return repr(", ".join(content)[:_NAMES_SHOWN])


def has_keys(value: bytes, *keys: str) -> bool:
    """Whether a value is a JSON object, or an array that begins with one, that has these keys."""
    content = first(json_in(value))
    return isinstance(content, dict) and all(key in content for key in keys)


def json_in(value: bytes) -> object:
    """The JSON object or array that a value is, else None."""
    if not value.lstrip(_BLANK).startswith(_JSON_BEGINS):
        return None
    parsed = _parse(value)
    return None if isinstance(parsed, PageError) else parsed


def field(content: object, name: str) -> object:
    """The field of an object, its keys compared without case, the first value of a list; else None."""
    if not isinstance(content, Mapping):
        return None
    value = content.get(name)
    if value is None:
        wanted = name.lower()
        value = next((item for key, item in content.items() if str(key).lower() == wanted), None)
    return first(value)


def text(content: object, name: str) -> str | None:
    """A field that is text; None where it is missing or anything else."""
    value = field(content, name)
    return value if isinstance(value, str) else None


def expect_text(value: object, name: str) -> str | None:
    """The value of a field that is to be text; None where there is none.

    Raises:
        PageError: it is anything else.
    """
    if value is None or isinstance(value, str):
        return value
    raise PageError(BrokenReason.MALFORMED_MESSAGE, f"field {name!r}: {no_string(value)}")


def no_string(value: object) -> str:
    """What a value is that was to be a string."""
    return f"a JSON {_kind(value)} where a string is expected"


def number(content: object, name: str) -> int | None:
    """A field that is a whole number, or the digits of one."""
    return number_in(field(content, name))


def number_in(value: object) -> int | None:
    """A value that is a whole number, or text that begins with one, e.g. `404 Not Found`."""
    if isinstance(value, str):
        digits = _NUMBER.match(value)
        return int(digits[1]) if digits else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def base64_or_text(value: str) -> bytes | str:
    """The bytes that a value stands for in base64, wrapped or not, else the text that it is.

    No flag says which: base64 has no `<`, and a page has one, as bytes or as text, if it is not in gzip.
    """
    if "<" in value:
        return value
    try:
        content = b64decode("".join(value.split()), validate=True)
    except ValueError:
        return value
    return content if b"<" in content or content.startswith(GZIP) else value


def first(value: object) -> object:
    """The first value of a list, None of an empty one, anything else as it is."""
    if isinstance(value, list):
        return value[0] if value else None
    return value


def _kind(value: object) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return kinds.get(type(value), "null")
