"""What a cleaned document is written as: dehusk's own JSON, or what corpus tools and readers expect.

The same document gives the same bytes, whatever the format.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from html import escape
from types import MappingProxyType

import orjson

from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.metadata import Metadata

_JSON = "application/json"
_HOLDERS = frozenset({"ul", "ol", "dl", "figure"})
_STRUCTURE = _HOLDERS | {
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "pre", "blockquote"),
    *("li", "dt", "dd", "figcaption", "address", "summary"),
}
"""Tags whose meaning a block's path carries alone; a table's would need to know where its rows begin."""


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a cleaned document."""

    content_type: str
    needs_blocks: bool
    """Whether the document must come with its blocks."""
    write: Callable[[CleanedDocument], bytes]


def write(document: CleanedDocument, name: str) -> bytes:
    """The document in the format of this name, one of `FORMATS`."""
    return FORMATS[name].write(document)


def content_type(name: str) -> str:
    """The media type of the format of this name."""
    return FORMATS[name].content_type


def _write_datatrove(document: CleanedDocument) -> bytes:
    """What datatrove's JsonlReader reads by default: `text`, `id`, `metadata`."""
    return orjson.dumps({"text": document.text, "id": document.id, "metadata": _provenance(document)})


def _write_dolma(document: CleanedDocument) -> bytes:
    """Dolma's document: its source is the crawl's topic; it is added when fetched, created when published."""
    fetched = _milliseconds(document.fetched_at)
    return orjson.dumps(
        {
            "id": document.id,
            "text": document.text,
            "source": document.source.topic if document.source else "dehusk",
            "added": fetched,
            "created": _milliseconds(_written_at(document)) or fetched,
            "metadata": _provenance(document),
        }
    )


def _provenance(document: CleanedDocument) -> dict[str, object]:
    """What corpus tools filter and attribute by; keys as in FineWeb where it has them."""
    return {
        "url": document.url,
        "date": _milliseconds(document.fetched_at),
        "language": document.language,
        "title": document.title,
        "comments": document.comments,
        "site": document.site,
        "labeler": document.labeler,
        "model": f"{document.model.name}/{document.model.version}",
        "degraded": list(document.degraded),
        "revision": document.revision,
        "content_hash": document.content_hash,
        "simhash": document.simhash,
        **_declared(document.metadata or Metadata()),
    }


def _declared(metadata: Metadata) -> dict[str, object]:
    """What corpora keep of a page's metadata."""
    return {
        "author": metadata.author,
        "published": metadata.published.isoformat().replace("+00:00", "Z") if metadata.published else None,
        "canonical_url": metadata.canonical_url,
        "license": metadata.license,
        "tags": list(metadata.tags),
        "robots": list(metadata.robots),
    }


def _written_at(document: CleanedDocument) -> datetime | None:
    """When the content was published; of a day, its beginning."""
    published = document.metadata.published if document.metadata else None
    if published is None or isinstance(published, datetime):
        return published
    return datetime.combine(published, time(), UTC)


def _milliseconds(when: datetime | None) -> str | None:
    if when is None:
        return None
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _write_html(document: CleanedDocument) -> bytes:
    """A page of the content blocks alone, their headings, paragraphs, lists and quotations kept.

    Raises:
        ValueError: the document came without its blocks.
    """
    if document.blocks is None:
        raise ValueError("purified HTML is made of a document's blocks, which this one came without")
    language = f' lang="{escape(document.language)}"' if document.language else ""
    lines = [
        "<!DOCTYPE html>",
        f'<html{language}><head><meta charset="utf-8"><title>{escape(document.title)}</title>',
        f'<link rel="canonical" href="{escape(document.url)}">'
        f'<meta name="dehusk-revision" content="{document.revision}"></head><body>',
    ]
    opened: list[str] = []
    for block in document.blocks:
        if block.content:
            wanted = _structure(block.path)
            shared = _shared(opened, wanted)
            lines.append(
                _closing(opened[shared:]) + _opening(wanted[shared:]) + escape(block.text, quote=False)
            )
            opened = wanted
    lines.append(_closing(opened) + "</body></html>\n")
    return "\n".join(lines).encode("utf-8", "replace")


def _structure(path: str) -> list[str]:
    """The elements that stand for a block's path; the last one holds its text."""
    tags = [tag for tag in path.split("/") if tag in _STRUCTURE]
    return tags if tags and tags[-1] not in _HOLDERS else [*tags, "p"]


def _shared(opened: list[str], wanted: list[str]) -> int:
    """How many open elements the next block stands in too; the last one is always its own."""
    pairs = zip(opened, wanted[:-1], strict=False)
    differing = (depth for depth, (left, right) in enumerate(pairs) if left != right)
    return next(differing, min(len(opened), len(wanted) - 1))


def _opening(tags: list[str]) -> str:
    return "".join(f"<{tag}>" for tag in tags)


def _closing(tags: list[str]) -> str:
    return "".join(f"</{tag}>" for tag in reversed(tags))


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "document": Format(_JSON, needs_blocks=False, write=CleanedDocument.to_json),
        "datatrove": Format(_JSON, needs_blocks=False, write=_write_datatrove),
        "dolma": Format(_JSON, needs_blocks=False, write=_write_dolma),
        "html": Format("text/html; charset=utf-8", needs_blocks=True, write=_write_html),
    }
)
"""The values of `--format`."""
