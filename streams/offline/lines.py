"""What a page becomes: a line of JSON, also if it cannot be cleaned."""

from typing import Any

import orjson

from dehusk.schemas.documents import CleanedDocument, Comments
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.streams.offline.decoded import Input
from dehusk.streams.preparation.extraction import Writing

_OF_BLOCKS: tuple[str, ...] = ("text", "path", "probability", "content", "comment")


def writing(
    max_bytes: int,
    *,
    with_blocks: bool,
    drop_hidden: bool = False,
    comments: Comments = Comments.SEPARATE,
    metadata: MetadataLevel = MetadataLevel.FAST,
    with_samples: bool = False,
) -> Writing:
    """How the pool of `clean_lines` makes documents: a line of JSON for each."""
    return Writing(_write_line, with_blocks, drop_hidden, comments, metadata, 2 * max_bytes, with_samples)


def failure_line(page: Input, outcome: Skipped | Broken, *, with_blocks: bool, with_template: bool) -> bytes:
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
    if with_blocks:
        fields["blocks"] = []
    return _line({**fields, "error": f"{outcome.reason}: {outcome.detail}"})


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
    if document.blocks is not None:
        fields["blocks"] = [{name: getattr(block, name) for name in of_blocks} for block in document.blocks]
    return _line({**fields, "error": None})


def _line(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)
