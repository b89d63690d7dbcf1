"""Pages as an offline run sends them to its pool, and the output lines of documents and failures."""

import pickle
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from html import escape
from itertools import compress
from typing import Any

import orjson

from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.sources.source import Decoded
from dehusk.streams.topics.formats import FORMATS, Format, front_matter

Input = RawPage | Skipped | Broken
WriteFailure = Callable[[Input, Skipped | Broken], bytes]
"""Writer of the output of a page without a document."""
_HEADERS = ("url", "id", "fetched-at", "language")
FIELDS = (
    "site",
    "fetched_at",
    "title",
    "headline",
    "language",
    "declared_language",
    "language_probability",
    "text",
    "comments",
    "model",
    "labeler",
    "content_hash",
    "simhash",
    "minhash",
    "metadata",
    "expected_f1",
    "page_kind",
    "page_kind_probability",
)
"""Fields of a document that each line has, beside `id` and `url`."""
FIELDS_BY_OPTION: Mapping[str, object] = {
    "template": None,
    "markdown": None,
    "html": None,
    "blocks": [],
    "links": [],
}
"""Fields of lines by option, with what they are without a document.

The options are `--site-statistics`, `--with-markdown`, `--with-html`, not `--no-blocks`, and `--with-links`.
"""
BLOCK_FIELDS: tuple[str, ...] = ("text", "path", "probability", "content", "comment", "xpath")
"""Fields that each block of a line has; with `--site-statistics`, it has `frequency`, too."""


class DecodedPages:
    """Source of decoded pages, as they are sent to a preparation process."""

    name = "decoded"

    def recognises(self, message: Message) -> bool:  # noqa: ARG002 nothing else is sent
        """Return True, as nothing else is sent."""
        return True

    def decode(self, message: Message) -> Sequence[Decoded]:
        """Return the page of a message."""
        url, id_, fetched_at, language = (
            (message.header(name) or b"").decode("utf-8", "surrogatepass") for name in _HEADERS
        )
        fetched = datetime.fromisoformat(fetched_at) if fetched_at else None
        return (RawPage(url, message.value or b"", id_, fetched, language or None),)


def message_of(page: RawPage) -> Message:
    """Return a page as `DecodedPages` reads it: its HTML, and in headers what else its document says."""
    fetched_at = page.fetched_at.isoformat() if page.fetched_at else ""
    texts = (page.url, page.name, fetched_at, page.language or "")
    encoded = (text.encode("utf-8", "surrogatepass") for text in texts)
    return Message(None, page.html, tuple(zip(_HEADERS, encoded, strict=True)))


def failure_writer(
    document_format: str = "json", options: DocumentOptions = DEFAULT_OPTIONS, *, with_template: bool = False
) -> WriteFailure:
    """Return the writer of pages without a document, in the format of the others."""
    match document_format:
        case "markdown":
            return _fail_in_markdown
        case "html":
            return _fail_in_html
        case "datatrove":
            return _fail_in_datatrove
        case "dolma":
            return _fail_in_dolma
        case _:
            rendered = (options.rendering.markdown, options.rendering.html)
            wanted = (with_template, *rendered, options.with_blocks, options.with_links)
            return partial(_fail_in_json, names=list(compress(FIELDS_BY_OPTION, wanted)))


def _fail_in_markdown(page: Input, outcome: Skipped | Broken) -> bytes:
    return front_matter({"url": page.url, "error": str(outcome)})


def _fail_in_html(page: Input, outcome: Skipped | Broken) -> bytes:
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title></title>\n'
        f'<link rel="canonical" href="{escape(page.url or "")}">'
        f'<meta name="dehusk-error" content="{escape(str(outcome))}"></head><body>\n</body></html>\n'
    ).encode("utf-8", "replace")


def failure_fields(names: Iterable[str] = ()) -> dict[str, Any]:
    """Return the fields of the line of a page without a document, of the optional ones those named."""
    optional = {name: FIELDS_BY_OPTION[name] for name in names}
    return {**dict.fromkeys(FIELDS), "title": "", "text": "", **optional}


def _fail_in_json(page: Input, outcome: Skipped | Broken, *, names: Collection[str]) -> bytes:
    known = {"id": page.id or page.url, "url": page.url}
    return _line({**known, **failure_fields(names), "error": str(outcome)})


def _fail_in_datatrove(page: Input, outcome: Skipped | Broken) -> bytes:
    """Write a document without text, which datatrove's reader leaves out; its metadata have the error."""
    return orjson.dumps({"text": "", **_without_text(page, outcome)}, option=orjson.OPT_APPEND_NEWLINE)


def _fail_in_dolma(page: Input, outcome: Skipped | Broken) -> bytes:
    unknown = {"text": "", "source": "dehusk", "added": None, "created": None}
    return orjson.dumps(unknown | _without_text(page, outcome), option=orjson.OPT_APPEND_NEWLINE)


def _without_text(page: Input, outcome: Skipped | Broken) -> dict[str, Any]:
    return {"id": page.id or page.url or "", "metadata": {"url": page.url, "error": str(outcome)}}


def _write_line(document: CleanedDocument) -> bytes:
    fields: dict[str, Any] = {"id": document.id or document.url, "url": document.url}
    fields |= {name: getattr(document, name) for name in FIELDS}
    if document.fetched_at is not None:
        fields["fetched_at"] = document.fetched_at.astimezone(UTC)
    block_fields = BLOCK_FIELDS
    if document.template is not None:
        fields["template"] = document.template
        block_fields += ("frequency",)
    for name in ("markdown", "html"):
        if (rendered := getattr(document, name)) is not None:
            fields[name] = rendered
    if document.blocks is not None:
        fields["blocks"] = [
            {name: getattr(block, name) for name in block_fields} for block in document.blocks
        ]
    if document.links is not None:
        fields["links"] = document.links
    return _line({**fields, "error": None})


def _line(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def pickle_document(document: CleanedDocument) -> bytes:
    """Write a document for the process that has asked for it."""
    return pickle.dumps(document, pickle.HIGHEST_PROTOCOL)


def unpickle_document(written: bytes) -> CleanedDocument:
    """Read a document that a process of the pool has written so."""
    document: CleanedDocument = pickle.loads(written)  # noqa: S301 it comes from a process of one's own
    return document


def _line_of(document_format: str) -> Format:
    """Return a format of the worker whose documents are lines."""
    return replace(FORMATS[document_format], write=partial(_end_line, FORMATS[document_format]))


def _end_line(document_format: Format, document: CleanedDocument) -> bytes:
    return document_format.write(document) + b"\n"


OFFLINE_FORMATS = {
    "json": Format("application/x-ndjson", write=_write_line),
    "datatrove": _line_of("datatrove"),
    "dolma": _line_of("dolma"),
    "markdown": FORMATS["markdown"],
    "html": FORMATS["html"],
}
"""Values of `dehusk clean --format`."""
PICKLED = Format("application/octet-stream", write=pickle_document)
"""Form of documents that become rows."""
