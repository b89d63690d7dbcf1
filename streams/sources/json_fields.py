"""`json`: an object whose fields are named by paths, e.g. `url=page.address html=page.body`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import orjson

from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.fields import (
    ABSENT,
    Fields,
    decode_base64,
    expect_text,
    json_in,
    number_in,
    parse_time,
    quote_names,
    value_at,
)
from dehusk.streams.sources.page import Answer, Outcome, known_url
from dehusk.streams.sources.source import JsonFormat, Record

FieldName = Literal[
    "url",
    "html",
    "html_base64",
    "id",
    "status",
    "content_type",
    "content_encoding",
    "fetched_at",
    "language",
    "reference",
]
FieldPaths = tuple[tuple[FieldName, str], ...]
"""For each field the path to it, as `value_at` takes it."""

NAMES: tuple[FieldName, ...] = get_args(FieldName)
DEFAULT_PATHS: FieldPaths = tuple((name, name) for name in NAMES)


class JsonFields(JsonFormat):
    """Objects that hold the page as text in `html`, or its bytes in `html_base64`."""

    name = "json"

    def __init__(self, max_bytes: int, fields: FieldPaths = DEFAULT_PATHS) -> None:
        super().__init__(max_bytes)
        self._paths = dict(fields)

    def recognises(self, message: Message) -> bool:
        """Return True if the value is an object with a URL, and a page or null, where they are to be."""
        content = json_in(message.value or b"")
        if not isinstance(content, dict):
            return False
        bodies = (self._field(content, "html", ABSENT), self._field(content, "html_base64", ABSENT))
        return self._field(content, "url") is not None and any(each is not ABSENT for each in bodies)

    def _read_object(self, fields: Fields) -> Outcome:
        self._expect_page(fields)
        url = self._expected_text(fields, "url")
        try:
            body = self._body(fields)
        except PageError as error:
            return Broken(error.reason, str(error), known_url(url))
        outcome = self._page(self._answer(url, body, fields))
        return self._advise(outcome, body) if isinstance(outcome, Skipped) else outcome

    def _answer(self, url: object, body: bytes | str | None, fields: Fields) -> Answer:
        """Return the answer of a server with this body, as an object tells it."""
        language = self._field(fields, "language")
        return Answer(
            url,
            body,
            content_type=self._field(fields, "content_type"),
            status=number_in(self._field(fields, "status")),
            content_encoding=self._field(fields, "content_encoding"),
            id=_identifier(self._field(fields, "id")),
            fetched_at=parse_time(self._field(fields, "fetched_at")),
            language=language if isinstance(language, str) else None,
        )

    def _advise(self, skipped: Skipped, body: bytes | str | None) -> Skipped:
        """Name the fields of a body that is JSON, for one of them may hold the page."""
        content = json_in(encode_text(body)) if isinstance(body, str) else None
        if skipped.reason is not SkipReason.NOT_HTML or not isinstance(content, dict):
            return skipped
        path = self._paths["html"]
        detail = f"JSON with the fields {quote_names(content)}: --field html={path}.NAME reads one of them"
        return replace(skipped, detail=detail)

    def encode(self, page: RawPage) -> Record:
        """Return an object with the fields where the paths say."""
        content: dict[str, object] = {}
        values: dict[FieldName, object] = {
            "url": page.url,
            "html": page.html.decode("utf-8", "replace"),
            "content_type": "text/html",
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
            return decode_base64(encoded)
        except ValueError as error:
            path = self._paths["html_base64"]
            advice = f", but HTML as it is: --field html={path}" if "<" in encoded else f": {error}"
            raise PageError(BrokenReason.MALFORMED_MESSAGE, f"{path} is no base64{advice}") from error

    def _expect_page(self, content: Fields) -> None:
        """Raise PageError unless there is a page, if only null, or a status that says why there is none."""
        names: tuple[FieldName, ...] = ("html", "html_base64", "status")
        if all(self._field(content, name, ABSENT) is ABSENT for name in names):
            paths = " or ".join(self._paths[name] for name in names if name in self._paths)
            detail = f"an object with the fields {quote_names(content)}, without {paths}: --field html=PATH"
            raise PageError(BrokenReason.WRONG_FORMAT, detail)

    def _field(self, content: Fields, name: FieldName, absent: object = None) -> object:
        return value_at(content, self._paths[name], absent) if name in self._paths else absent

    def _expected_text(self, content: Fields, name: FieldName) -> str | None:
        return expect_text(self._field(content, name), self._paths.get(name, name))


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
