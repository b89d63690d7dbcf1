"""`json`: an object whose fields are named by paths, e.g. `url=page.address html=page.body`."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import orjson

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.fields import (
    Fields,
    expect_text,
    json_in,
    message_object,
    number_in,
    shown_names,
)
from dehusk.streams.sources.page import html_page, known_url
from dehusk.streams.sources.source import Decoded, Record
from dehusk.streams.sources.times import parse_time

FieldName = Literal[
    "url", "html", "html_base64", "id", "status", "content_type", "content_encoding", "fetched_at", "language"
]
FieldPaths = tuple[tuple[FieldName, str], ...]
"""For each field the dotted path to it; a number in a path is a place in an array."""

NAMES: tuple[FieldName, ...] = get_args(FieldName)
DEFAULT_FIELDS: FieldPaths = tuple((name, name) for name in NAMES)
_ABSENT = object()
"""What is where a path leads nowhere."""


class JsonFields:
    """Objects that hold the page as text in `html`, or its bytes in `html_base64`."""

    name = "json"

    def __init__(self, max_bytes: int, fields: FieldPaths = DEFAULT_FIELDS) -> None:
        self._max_bytes = max_bytes
        self._paths = dict(fields)

    def recognises(self, message: Message) -> bool:
        """Whether the value is an object that holds a URL, and a page or null, where they are to be."""
        content = json_in(message.value or b"")
        if not isinstance(content, dict):
            return False
        bodies = (self._at(content, "html"), self._at(content, "html_base64"))
        return self._field(content, "url") is not None and any(each is not _ABSENT for each in bodies)

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page of the object."""
        url: str | None = None
        try:
            content = message_object(message.value or b"")
            self._expect_page(content)
            url = self._expected_text(content, "url")
            body = self._body(content)
        except PageError as error:
            return [Broken(error.reason, str(error), known_url(url))]
        return [
            html_page(
                url=url,
                body=body,
                content_type=self._field(content, "content_type"),
                status=number_in(self._field(content, "status")),
                content_encoding=self._field(content, "content_encoding"),
                id=_identifier(self._field(content, "id")),
                fetched_at=parse_time(self._field(content, "fetched_at")),
                language=self._text(content, "language"),
                source=self.name,
                max_bytes=self._max_bytes,
            )
        ]

    def encode(self, page: RawPage) -> Record:
        """An object with the fields where the paths say."""
        content: dict[str, object] = {}
        values: dict[FieldName, object] = {
            "url": page.url,
            "html": page.html.decode("utf-8", "replace"),
            "id": page.id,
            "fetched_at": page.fetched_at,
            "language": page.language,
        }
        for name, value in values.items():
            if value is not None and name in self._paths:
                _put(content, self._paths[name].split("."), value)
        return Record(page.url.encode(), orjson.dumps(content))

    def _body(self, content: Fields) -> bytes | str | None:
        encoded = self._expected_text(content, "html_base64")
        if encoded is None:
            return self._expected_text(content, "html")
        try:
            return b64decode(encoded, validate=True)
        except ValueError as error:
            raise PageError(BrokenReason.MALFORMED_MESSAGE, f"html_base64 is no base64: {error}") from error

    def _expect_page(self, content: Fields) -> None:
        """Raises PageError unless there is a page, if only null, or a status that says why there is none."""
        names: tuple[FieldName, ...] = ("html", "html_base64", "status")
        if all(self._at(content, name) is _ABSENT for name in names):
            paths = " or ".join(self._paths[name] for name in names if name in self._paths)
            detail = f"an object with the fields {shown_names(content)}, without {paths}: --field html=PATH"
            raise PageError(BrokenReason.WRONG_FORMAT, detail)

    def _field(self, content: Fields, name: FieldName) -> object:
        value = self._at(content, name)
        return None if value is _ABSENT else value

    def _at(self, content: Fields, name: FieldName) -> object:
        """What is where the path of a field leads."""
        if name not in self._paths:
            return _ABSENT
        value: object = content
        for step in self._paths[name].split("."):
            if isinstance(value, Mapping):
                value = value.get(step, _ABSENT)
            elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
                value = value[int(step)]
            else:
                return _ABSENT
        return value

    def _expected_text(self, content: Fields, name: FieldName) -> str | None:
        return expect_text(self._field(content, name), self._paths.get(name, name))

    def _text(self, content: Fields, name: FieldName) -> str | None:
        value = self._field(content, name)
        return value if isinstance(value, str) else None


def field_paths(assignments: Sequence[str]) -> FieldPaths:
    """The default paths with those of assignments such as `url=page.address` in their place.

    Raises:
        ConfigurationError: an assignment names no field, or no path.
    """
    paths = dict(DEFAULT_FIELDS)
    for assignment in assignments:
        name, _, path = assignment.partition("=")
        known = next((each for each in NAMES if each == name), None)
        if known is None or not all(path.split(".")):
            raise ConfigurationError(f"{assignment!r} is not FIELD=PATH with a field of {', '.join(NAMES)}")
        paths[known] = path
    return tuple(paths.items())


def _identifier(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _put(content: dict[str, object], path: Sequence[str], value: object) -> None:
    """Put a value where a path leads, making objects on the way."""
    *steps, last = path
    for step in steps:
        inner = content.setdefault(step, {})
        if not isinstance(inner, dict):
            raise ConfigurationError(f"two fields of json meet at {step!r}")
        content = inner
    content[last] = value
