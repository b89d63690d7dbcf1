"""Values as crawlers write them: JSON, parsed leniently, fields of whatever type, numbers and times."""

import json
import re
from base64 import b64decode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache

import orjson

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.streams.sources.encoding import encode_text

Fields = Mapping[str, object]
ABSENT = object()
"""Value that no path leads to."""
_JSON_BEGINS = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\r ]*\"?[{\[]|\xff\xfe(?:[\t\n\r ]\0)*[{\[]\0|\xfe\xff(?:\0[\t\n\r ])*\0[{\[]"
)
"""Beginning of an object or array: in UTF-8, in UTF-16 with a byte order mark, or within a string."""
_BASE64_ALPHABET = str.maketrans("-_", "+/")
"""The URL-safe alphabet in terms of the usual one."""
_BASE64_WRAPPER = re.compile(r"""\s*(?:data:[^,]*;\s*base64\s*,|b(['"]))""", re.IGNORECASE)
_SHOWN = 40
_NAMES_SHOWN = 300
_NUMBER = re.compile(r"\s*(-?[0-9]{1,18})(?!\S)")
_JAVA = re.compile(r"\w{3} (\w{3} \d{1,2} \d\d:\d\d:\d\d) (\S+) (\d{4})", re.ASCII)
"""Java's `Date.toString()`, whose zone stands before the year."""
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d\d?):?(\d\d)", re.ASCII)
_ZONES = {
    **dict.fromkeys(("UTC", "GMT", "UT", "Z", "WET"), 0),
    **dict.fromkeys(("CET", "WEST"), 1),
    **dict.fromkeys(("EET", "CEST"), 2),
    **dict.fromkeys(("MSK", "EEST"), 3),
    **dict.fromkeys(("JST", "KST"), 9),
    **dict(zip(("EDT", "EST", "MDT", "PDT", "PST"), range(-4, -9, -1), strict=True)),
}
"""Hours from UTC of the zones that Java abbreviates without ambiguity."""
_FIRST_YEAR = 1990
"""Year of the first web page: a count from before is another number, 0 for none or the digits of a date."""
_DATE = re.compile(r"(?:19|20)\d{6}", re.ASCII)
_NAMED = re.compile(r"(.*\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ([A-Za-z]+)", re.ASCII)
"""A time with the name of its zone, or with AM or PM, behind it."""
_DIGITS = re.compile(r"\d{14}(?:\d{3})?", re.ASCII)
"""The times of crawl archives, to the second or the millisecond."""
_COUNT = re.compile(r"\d{1,16}(?:\.\d{1,9})?", re.ASCII)
_MILLISECONDS_FROM = 1e11
"""A count from here on is of milliseconds: as seconds it would be after the year 5000."""


def parse_json(value: bytes) -> object:
    """Parse JSON; lone surrogates, which some crawlers write and orjson refuses, are let through.

    Raises:
        PageError: it is no JSON, or nests too deep.
    """
    parsed = _parse(value)
    if isinstance(parsed, PageError):
        raise parsed
    return parsed


@lru_cache(maxsize=1)
def _parse(value: bytes) -> object:
    """Return a JSON value, not to be changed, or a PageError; formats ask for the same one in turn.

    Of a string that holds an object or array, as crawlers write that encode their messages twice, it is that.
    """
    parsed = _load(value)
    if not isinstance(parsed, str) or not parsed.startswith(("{", "[")):
        return parsed
    inner = _load(parsed.encode("utf-8", "surrogatepass"))
    return parsed if isinstance(inner, PageError) else inner


def _load(value: bytes) -> object:
    """Return a JSON value in UTF-8 or UTF-16, or a PageError."""
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as refusal:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return PageError(BrokenReason.MALFORMED_MESSAGE, f"it is no JSON: {refusal}")


def parse_object(value: bytes) -> Fields:
    """Parse a JSON object.

    Raises:
        PageError: it is no JSON, or no object.
    """
    return expect_object(parse_json(value), reason=BrokenReason.MALFORMED_MESSAGE)


def message_object(value: bytes, *marks: str) -> Fields:
    """Parse the object that a message is; it has at least one of the fields that mark its format.

    Raises:
        PageError: it is of another format, or it is damaged or nests too deep.
    """
    return expect_object(expect_json(value), *marks)


def expect_json(value: bytes) -> object:
    """Parse the JSON object or array that a message is.

    Raises:
        PageError: it is of another format, or it is damaged or nests too deep.
    """
    if not _JSON_BEGINS.match(value):
        raise PageError(BrokenReason.WRONG_FORMAT, f"no JSON begins with {value[:_SHOWN]!r}")
    return parse_json(value)


def expect_object(content: object, *marks: str, reason: BrokenReason = BrokenReason.WRONG_FORMAT) -> Fields:
    """Return the object that a JSON value is; it has at least one of the fields that mark its format.

    Raises:
        PageError: it is of another format, told as this reason if it is no object.
    """
    if not isinstance(content, dict):
        raise PageError(reason, f"a JSON {_kind(content)} where an object is expected")
    if marks and not any(mark in content for mark in marks):
        missing = f"an object with the fields {quote_names(content)}, without {' or '.join(marks)}"
        raise PageError(BrokenReason.WRONG_FORMAT, missing)
    return content


def quote_names(content: Fields) -> str:
    """Return the names of an object's fields, as far as a line has room for them."""
    return repr(", ".join(content)[:_NAMES_SHOWN])


def has_keys(value: bytes, *keys: str) -> bool:
    """Return True if a value is a JSON object, or an array that begins with one, that has these keys."""
    content = first(json_in(value))
    return isinstance(content, dict) and all(key in content for key in keys)


def json_in(value: bytes) -> object:
    """Return the JSON object or array that a value is, else None."""
    if not _JSON_BEGINS.match(value):
        return None
    parsed = _parse(value)
    return parsed if isinstance(parsed, dict | list) else None


def value_at(content: Fields, path: str, absent: object = None) -> object:
    """Return what a dotted path leads to; `absent` if it leads nowhere.

    A number in a path is a place in an array. A path leads on into a string that is JSON itself.
    """
    value: object = content
    for step in path.split("."):
        if isinstance(value, str):
            value = json_in(encode_text(value))
        if isinstance(value, Mapping):
            value = value.get(step, absent)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return absent
    return value


def field(content: object, name: str) -> object:
    """Return the field of an object, its keys compared without case; the first value of a list; else None."""
    if not isinstance(content, Mapping):
        return None
    value = content.get(name)
    if value is None:
        wanted = name.lower()
        value = next((item for key, item in content.items() if str(key).lower() == wanted), None)
    return first(value)


def text(content: object, name: str) -> str | None:
    """Return a field that is text; None if it is missing or anything else."""
    value = field(content, name)
    return value if isinstance(value, str) else None


def expect_text(value: object, name: str) -> str | None:
    """Return the value of a field that is to be text; None if there is none.

    Raises:
        PageError: it is anything else.
    """
    if value is None or isinstance(value, str):
        return value
    raise PageError(BrokenReason.MALFORMED_MESSAGE, f"field {name!r}: {describe_wrong_type(value)}")


def describe_wrong_type(value: object) -> str:
    """Describe a value that was to be a string."""
    return f"a JSON {_kind(value)} where a string is expected"


def number(content: object, name: str) -> int | None:
    """Return a field that is a whole number, or the digits of one; else None."""
    return number_in(field(content, name))


def number_in(value: object) -> int | None:
    """Return a value that is a whole number, or that text begins with, e.g. `404 Not Found`; else None."""
    if isinstance(value, str):
        digits = _NUMBER.match(value)
        return int(digits[1]) if digits else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def decode_base64(value: str) -> bytes:
    """Return the bytes of base64, of either alphabet, with or without padding, and with white space anywhere.

    It may be in a `data:` URL, or in Python's `b'…'`.

    Raises:
        ValueError: it is no base64.
    """
    wrapped = _BASE64_WRAPPER.match(value)
    if wrapped:
        value = value[wrapped.end() :].rstrip().removesuffix(wrapped[1] or "")
    digits = "".join(value.split()).translate(_BASE64_ALPHABET)
    return b64decode(digits + "=" * (-len(digits) % 4), validate=True)


def parse_time(value: object) -> datetime | None:
    """Parse a time, in UTC; None if a value tells none that is certain.

    It may be in ISO 8601, an HTTP date, Java's `Date.toString()`, the 14 or 17 digits of crawl archives, or
    seconds or milliseconds since 1970, but none before the web. A time without a zone is taken as UTC.
    """
    try:
        if isinstance(value, str):
            return _in_utc(_parse_text(value.strip()))
        return None if isinstance(value, bool) or not isinstance(value, int | float) else _since_1970(value)
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _since_1970(count: float) -> datetime:
    time = datetime.fromtimestamp(count / 1000 if count >= _MILLISECONDS_FROM else count, UTC)
    if time.year < _FIRST_YEAR:
        raise ValueError(count)
    return time


def _parse_text(value: str) -> datetime:
    if java := _JAVA.fullmatch(value):
        time = datetime.strptime(f"{java[1]} {java[3]}", "%b %d %H:%M:%S %Y")  # noqa: DTZ007 the zone follows
        return time.replace(tzinfo=_zone(java[2]))
    if _DIGITS.fullmatch(value):
        return datetime.strptime(value.ljust(20, "0"), "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    if _COUNT.fullmatch(value) and not _DATE.fullmatch(value):
        return _since_1970(float(value))
    if named := _NAMED.fullmatch(value):
        time = _parse_text(named[1])
        return time.replace(tzinfo=_zone(named[2])) if time.tzinfo is None else time
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return parsedate_to_datetime(value)


def _zone(name: str) -> timezone:
    """Return the zone of a name or an offset; raise ValueError for a name that could be several."""
    if name in _ZONES:
        return timezone(timedelta(hours=_ZONES[name]))
    offset = _OFFSET.fullmatch(name)
    if not offset:
        raise ValueError(name)
    sign = -1 if offset[1] == "-" else 1
    return timezone(sign * timedelta(hours=int(offset[2]), minutes=int(offset[3])))


def _in_utc(time: datetime) -> datetime:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def first(value: object) -> object:
    """Return the first value of a list, None of an empty one, anything else as it is."""
    if isinstance(value, list):
        return value[0] if value else None
    return value


def _kind(value: object) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
    return kinds.get(type(value), "null")
