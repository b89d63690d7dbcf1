"""What a page becomes: a line of JSON, also if it cannot be cleaned."""

from collections.abc import Callable
from functools import partial
from html import escape
from typing import Any

import orjson

from dehusk.schemas.documents import CleanedDocument, Comments
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.rendering import NO_RENDERING, Rendering
from dehusk.streams.formats import FORMATS, front_matter
from dehusk.streams.offline.decoded import Input
from dehusk.streams.preparation.extraction import Write, Writing

LINES = "json"
"""The format that is a line of JSON for each page."""

_OF_BLOCKS: tuple[str, ...] = ("text", "path", "probability", "content", "comment")


Fail = Callable[[Input, Skipped | Broken], bytes]
"""Writes what stands for a page that has no document."""


def writing(
    max_bytes: int,
    *,
    with_blocks: bool,
    drop_hidden: bool = False,
    comments: Comments = Comments.SEPARATE,
    metadata: MetadataLevel = MetadataLevel.FAST,
    document_format: str = LINES,
    rendering: Rendering = NO_RENDERING,
    with_samples: bool = False,
) -> Writing:
    """How the pool of `clean_lines` makes documents: a line of JSON for each, or one of `streams.formats`."""
    write: Write = _write_line
    if document_format != LINES:
        write = FORMATS[document_format].write
        rendering = FORMATS[document_format].rendering(rendering)
    return Writing(
        write,
        with_blocks,
        drop_hidden,
        comments,
        metadata,
        2 * max_bytes,
        with_samples,
        rendering=rendering,
    )


def failing(
    document_format: str = LINES,
    *,
    with_blocks: bool,
    with_markdown: bool = False,
    with_template: bool = False,
) -> Fail:
    """What writes the pages without a document, in the format of the others."""
    if document_format == "markdown":
        return _fail_in_markdown
    if document_format == "html":
        return _fail_in_html
    return partial(
        failure_line, with_blocks=with_blocks, with_markdown=with_markdown, with_template=with_template
    )


def _fail_in_markdown(page: Input, outcome: Skipped | Broken) -> bytes:
    return front_matter({"url": page.url, "error": _error(outcome)})


def _fail_in_html(page: Input, outcome: Skipped | Broken) -> bytes:
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title></title>\n'
        f'<link rel="canonical" href="{escape(page.url or "")}">'
        f'<meta name="dehusk-error" content="{escape(_error(outcome))}"></head><body>\n</body></html>\n'
    ).encode("utf-8", "replace")


def _error(outcome: Skipped | Broken) -> str:
    return f"{outcome.reason}: {outcome.detail}"


def failure_line(
    page: Input,
    outcome: Skipped | Broken,
    *,
    with_blocks: bool,
    with_markdown: bool = False,
    with_template: bool = False,
) -> bytes:
    """The line of a page without a document."""
    fields: dict[str, Any] = {
        "id": page.id or page.url,
        "url": page.url,
        "site": None,
        "title": "",
        "language": None,
        "declared_language": None,
        "text": "",
        "comments": None,
        "model": None,
        "labeler": None,
        "content_hash": None,
        "simhash": None,
        "metadata": None,
    }
    if with_template:
        fields["template"] = None
    if with_markdown:
        fields["markdown"] = None
    if with_blocks:
        fields["blocks"] = []
    return _line({**fields, "error": _error(outcome)})


def _write_line(document: CleanedDocument) -> bytes:
    fields: dict[str, Any] = {
        "id": document.id or document.url,
        "url": document.url,
        "site": document.site,
        "title": document.title,
        "language": document.language,
        "declared_language": document.declared_language,
        "text": document.text,
        "comments": document.comments,
        "model": document.model,
        "labeler": document.labeler,
        "content_hash": document.content_hash,
        "simhash": document.simhash,
        "metadata": document.metadata,
    }
    of_blocks = _OF_BLOCKS
    if document.template is not None:
        fields["template"] = document.template
        of_blocks += ("frequency",)
    if document.markdown is not None:
        fields["markdown"] = document.markdown
    if document.blocks is not None:
        fields["blocks"] = [{name: getattr(block, name) for name in of_blocks} for block in document.blocks]
    return _line({**fields, "error": None})


def _line(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)
