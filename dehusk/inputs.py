"""Pages as a program has them, and errors in the words of the Python interface."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from numbers import Integral
from typing import Any

from dehusk.schemas.errors import ExtractionError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.pages import RawPage
from dehusk.streams.sources.page import offline_page

Html = str | bytes | bytearray | memoryview
"""A page: text, or bytes as a server sent them."""
Page = Html | tuple[Html, str | None] | Mapping[str, Any]
"""A page alone, with its URL, or as a mapping of `html` and perhaps `url`, `id`, `content_type`,
`fetched_at` and `language`. Of all these, None, NaN, NaT and NA stand for what is missing."""
_URL = re.compile(r"\s*https?://[^\s<]+\s*", re.IGNORECASE)
_MAX_KEYS = 200
"""Characters of the keys of a mapping that an error names."""
_ARGUMENTS = {"--max-page-mib": "max_page_bytes", "--page-seconds": "page_seconds"}
"""Arguments by the options of the commands that details of failures name."""


def page_of(html: Html, url: str | None, content_type: str, max_bytes: int, id: str | None = None) -> RawPage:  # noqa: A002 the field's name
    """Return a page that can be cleaned.

    Raises:
        ExtractionError: it is no HTML page; `reason` says why.
        TypeError: an argument has another type.
    """
    if not isinstance(html, Html):
        raise TypeError(f"html is {type(html).__name__}, neither str nor bytes")
    for name, value in (("url", url), ("content_type", content_type), ("id", id)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is {type(value).__name__}, not str")
    if isinstance(html, str) and _URL.fullmatch(html):
        detail = "html is the URL of a page, which is not fetched: give what its server answers"
        raise ExtractionError(SkipReason.NOT_HTML, detail)
    body = html if isinstance(html, str) else bytes(html)
    page = offline_page(
        url=url or "", body=body, content_type=content_type, id=id, source="python", max_bytes=max_bytes
    )
    if not isinstance(page, RawPage):
        raise error_of(page)
    return page


def read_page(page: object, max_bytes: int) -> RawPage | ExtractionError:
    """Return a page that can be cleaned, of any form of `Page`, or the error that says why there is none."""
    try:
        read = page_of(*_arguments(page, max_bytes))
        return replace(read, **_crawled(page)) if isinstance(page, Mapping) else read
    except ExtractionError as error:
        return error
    except TypeError as error:
        return ExtractionError(BrokenReason.MALFORMED_MESSAGE, str(error))


def _arguments(page: Any, max_bytes: int) -> tuple[Any, Any, Any, int, Any]:  # noqa: ANN401 a page of any form
    """Return the arguments of `page_of`, which checks them.

    Raises:
        TypeError: it has no form of a page.
    """
    if isinstance(page, Mapping):
        if "html" not in page:
            keys = ", ".join(map(repr, page))[:_MAX_KEYS]
            raise TypeError(f"the page has no key 'html', only {keys or 'none at all'}")
        content_type, id_ = _given(page, "content_type") or "text/html", _given(page, "id")
        if isinstance(id_, float) and id_.is_integer():
            id_ = int(id_)  # of a column of pandas that lacks another one
        number = isinstance(id_, Integral) and not isinstance(id_, bool)
        return _html(page["html"]), _given(page, "url"), content_type, max_bytes, str(id_) if number else id_
    if isinstance(page, tuple) and len(page) != 2:
        raise TypeError(f"a page is html, or a pair of html and URL, not a tuple of {len(page)}")
    html, url = page if isinstance(page, tuple) else (page, None)
    return _html(html), _value(url), "text/html", max_bytes, None


def _html(value: Any) -> Any:  # noqa: ANN401 a value of any type
    """Return HTML, which is empty where it is missing."""
    return b"" if _value(value) is None else value


def _given(page: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 a value of any type
    """Return the value of a key, or None where it is missing."""
    return _value(page.get(key))


def _value(value: Any) -> Any:  # noqa: ANN401 a value of any type
    """Return a value, or None where it is missing, for which pandas has NaN, NaT and NA."""
    try:
        return None if value != value else value  # noqa: PLR0124 NaN and NaT do
    except TypeError:  # of NA, which is neither true nor false
        return None
    except ValueError:  # of an array, whose values are compared
        return value


def _crawled(page: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a mapping tells of the crawl: its time in UTC, and the language.

    Raises:
        TypeError: one of them has another type.
    """
    fetched_at, language = _given(page, "fetched_at"), _given(page, "language") or None
    if fetched_at is not None and not isinstance(fetched_at, datetime):
        raise TypeError(f"fetched_at is {type(fetched_at).__name__}, not datetime")
    if language is not None and not isinstance(language, str):
        raise TypeError(f"language is {type(language).__name__}, not str")
    return {"fetched_at": fetched_at and _in_utc(fetched_at), "language": language}


def _in_utc(time: datetime) -> datetime | None:
    """Return a time in UTC, which it is in where it has no zone; None for one that UTC does not have."""
    try:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        return None


def error_of(outcome: Broken | Skipped) -> ExtractionError:
    """Return the error of a page without a document; its message names arguments, not options of commands."""
    detail = outcome.detail
    for option, argument in _ARGUMENTS.items():
        detail = detail.replace(option, argument)
    return ExtractionError(outcome.reason, detail)
