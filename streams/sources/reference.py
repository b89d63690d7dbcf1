"""`reference`: messages that name the file or object of a page by a key, a path or a URL (claim checks)."""

import re
from collections.abc import Iterator, Sequence

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import Message
from dehusk.streams.sources.fields import Fields, json_in
from dehusk.streams.sources.json_fields import DEFAULT_PATHS, FieldPaths, JsonFields
from dehusk.streams.sources.page import ABSOLUTE, Outcome, describe_excess, known_url
from dehusk.streams.sources.source import Decoded, named_url
from dehusk.streams.stores.errors import shown
from dehusk.streams.stores.roots import Root
from dehusk.streams.stores.stored import CLOUDS

NO_ROOT = "set the folder of what messages name, or its URL in a store: --reference-root"
_NAMES = (
    "reference",
    *("key", "s3_key", "object_key", "storage_key", "html_key", "body_key", "content_key", "blob_key"),
    *("path", "s3_path", "file_path", "html_path", "body_path", "content_path", "storage_path", "blob_path"),
    *("uri", "s3_uri", "s3_url", "gcs_uri", "object_url", "html_uri", "storage_url", "blob_url", "html_url"),
    *("file", "filename", "location", "object"),
)
"""Fields that name the place of a page, unless `--field reference=PATH` does."""
_BODIES = ("html", "html_base64", "content", "body")
"""Fields of objects that hold more than a reference."""
_MOST_BYTES = 4096
"""Bytes of the longest reference, without what stands around it."""
_NONE_OF = r"\s\x00-\x1f\x7f<>{}\"'|"
_TEXT = f"[^{_NONE_OF}]"
_PLACE = re.compile(
    rf"[a-z][a-z0-9+]*://{_TEXT}+|{_TEXT}[^/{_NONE_OF}]*/{_TEXT}+|{_TEXT}+\.x?html?(?:\.\w{{2,4}})?",
    re.IGNORECASE,
)
"""A URL, a path with a folder in it, or the name of a file of HTML, matched in linear time."""


class Reference(JsonFields):
    """Objects, or plain texts, that name the place of a page; an object may hold a small page itself.

    Only what lies below one of the roots is read. A name that is no URL is looked up below the first one.
    """

    name = "reference"

    def __init__(self, max_bytes: int, roots: Sequence[Root], fields: FieldPaths = DEFAULT_PATHS) -> None:
        super().__init__(max_bytes, fields)
        self._roots = roots

    def recognises(self, message: Message) -> bool:
        """Return True if the value is a reference, or an object with one and without a page."""
        value = message.value or b""
        return self._reference(value, json_in(value)) is not None

    def _read(self, message: Message) -> Sequence[Decoded]:
        value = message.value or b""
        content = json_in(value)
        reference = self._reference(value, content)
        if reference is None:
            if isinstance(content, dict):
                return super()._read(message)
            detail = "neither a key, path or URL, nor an object with one: --field reference=PATH"
            raise PageError(BrokenReason.WRONG_FORMAT, detail)
        fields = content if isinstance(content, dict) else {}
        url = self._field(fields, "url") or named_url(message) or known_url(reference)
        return [self._open(reference, url, fields)]

    def _reference(self, value: bytes, content: object) -> str | None:
        """Return the reference of a value, given what it holds as JSON; None if it is none."""
        if isinstance(content, dict):
            is_named = self._paths.get("reference", self.name) != self.name
            names = iter([self._field(content, "reference")]) if is_named else _named(content)
            return next((each for each in names if isinstance(each, str) and each), None)
        text = value[: _MOST_BYTES + 1].strip()
        if content is not None or len(text) > _MOST_BYTES:
            return None
        reference = text.decode("utf-8", "replace")
        return reference if _PLACE.fullmatch(reference) else None

    def _open(self, reference: str, url: object, fields: Fields) -> Outcome:
        address = known_url(url)
        if not self._roots:
            detail = (
                f"it names {shown(reference)!r}, and holds no page: "
                "--source reference --reference-root reads it"
            )
            return Broken(BrokenReason.HOLDS_ONLY_A_REFERENCE, detail, address)
        root, name = self._locate(reference, fields)
        if root is None:
            bucket = fields.get("bucket")
            of_bucket = f" of bucket {bucket!r}" if isinstance(bucket, str) else ""
            detail = f"{shown(reference)!r}{of_bucket} lies below no --reference-root"
            return Broken(BrokenReason.RECORD_NOT_FOUND, detail, address)
        named = root.shown(reference)
        try:
            with root.open(name) as file:
                body = file.read(self._max_bytes + 1)
        except (OSError, ValueError) as error:
            return Broken(BrokenReason.RECORD_NOT_FOUND, f"cannot read {named!r}: {error}", address)
        if len(body) > self._max_bytes:
            detail = f"{named!r}: {describe_excess(self._max_bytes)}"
            return Broken(BrokenReason.PAGE_TOO_LARGE, detail, address)
        return self._page(self._answer(url, body, fields))

    def _locate(self, reference: str, fields: Fields) -> tuple[Root | None, str]:
        """Return the root that a reference lies below, and its name there."""
        bucket = fields.get("bucket")
        absolute = [reference]
        if isinstance(bucket, str) and not ABSOLUTE.match(reference):
            absolute = [f"{scheme}://{bucket}/{reference.lstrip('/')}" for scheme in CLOUDS]
        for root in self._roots:
            for each in absolute:
                if (name := root.below(each)) is not None:
                    return root, name
        if absolute != [reference] or ABSOLUTE.match(reference):
            return None, ""
        return self._roots[0], reference.removeprefix("./").lstrip("/")


def _named(content: Fields) -> Iterator[object]:
    """Yield the values of fields that name a place, unless there is a field that holds a page."""
    if all(content.get(name) is None for name in _BODIES):
        yield from (content[name] for name in _NAMES if name in content)
