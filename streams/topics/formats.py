"""Formats of a cleaned document: dehusk's own JSON, or what corpus tools and readers expect.

The same document gives the same bytes, whatever the format.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from html import escape
from types import MappingProxyType

import orjson

from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.metadata import Metadata
from dehusk.schemas.options import Rendering

_JSON = "application/json"
_NO_YAML = re.compile(r"[\x7f-\x9f\ufffe\uffff]")
"""Characters of JSON that YAML escapes."""


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a cleaned document."""

    content_type: str
    write: Callable[[CleanedDocument], bytes]
    markdown: bool = False
    """True if the document must come with its Markdown."""
    html: bool = False
    """True if the document must come with its HTML."""

    def rendering(self, wanted: Rendering) -> Rendering:
        """Add to what is wanted what this format needs."""
        return replace(wanted, markdown=wanted.markdown or self.markdown, html=wanted.html or self.html)


def _write_datatrove(document: CleanedDocument) -> bytes:
    """Write what datatrove's JsonlReader reads by default: `text`, `id`, `metadata`."""
    return orjson.dumps({"text": document.text, "id": document.id, "metadata": _provenance(document)})


def _write_dolma(document: CleanedDocument) -> bytes:
    """Write Dolma's document: from the crawl's topic, added when fetched, created when published."""
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
    """Return what corpus tools filter and attribute by, with keys as in FineWeb if it has them."""
    return {
        "url": document.url,
        "date": _milliseconds(document.fetched_at),
        "language": document.language,
        "declared_language": document.declared_language,
        "language_score": document.language_probability,
        "title": document.title,
        "headline": document.headline,
        "comments": document.comments,
        "site": document.site,
        "labeler": document.labeler,
        "model": f"{document.model.name}/{document.model.version}",
        "degraded": list(document.degraded),
        "revision": document.revision,
        "content_hash": document.content_hash,
        "simhash": document.simhash,
        "minhash": document.minhash,
        "expected_f1": document.expected_f1,
        "page_kind": document.page_kind,
        "page_kind_probability": document.page_kind_probability,
        **_declared(document.metadata or Metadata()),
    }


def _declared(metadata: Metadata) -> dict[str, object]:
    return {
        "author": metadata.author,
        "published": metadata.published.isoformat().replace("+00:00", "Z") if metadata.published else None,
        "published_day": metadata.published_day.isoformat() if metadata.published_day else None,
        "canonical_url": metadata.canonical_url,
        "license": metadata.license,
        "tags": list(metadata.tags),
        "robots": list(metadata.robots),
    }


def _written_at(document: CleanedDocument) -> datetime | None:
    """Return the time when the content was published; of a day, its beginning."""
    published = document.metadata.published if document.metadata else None
    if published is None or isinstance(published, datetime):
        return published
    return datetime.combine(published, time(), UTC)


def _milliseconds(when: datetime | None) -> str | None:
    if when is None:
        return None
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _write_markdown(document: CleanedDocument) -> bytes:
    """Write the content after front matter in YAML, as makers of web sites have it.

    Raises:
        ValueError: the document came without its Markdown.
    """
    if document.markdown is None:
        raise ValueError("the document came without its Markdown")
    known = {"title": document.title, "url": document.url, "language": document.language}
    return front_matter({**known, "revision": document.revision}) + _encoded(f"\n{document.markdown}\n\n")


def front_matter(fields: Mapping[str, object]) -> bytes:
    """Write fields in YAML, of which JSON is a part, as Markdown has them at its beginning."""
    lines = (
        f"{name}: {_NO_YAML.sub(_escaped, orjson.dumps(value).decode())}" for name, value in fields.items()
    )
    return "\n".join(["---", *lines, "---\n"]).encode()


def _escaped(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


def _write_html(document: CleanedDocument) -> bytes:
    """Write a page of the content alone.

    Raises:
        ValueError: the document came without its HTML.
    """
    if document.html is None:
        raise ValueError("the document came without its HTML")
    canonical = (document.metadata and document.metadata.canonical_url) or document.url
    tag = _language_tag(document)
    language = f' lang="{escape(tag)}"' if tag else ""
    return _encoded(
        f"<!DOCTYPE html>\n"
        f'<html{language}><head><meta charset="utf-8"><title>{escape(document.title)}</title>\n'
        f'<link rel="canonical" href="{escape(canonical)}">'
        f'<meta name="dehusk-revision" content="{document.revision}"></head><body>\n'
        f"{document.html}\n</body></html>\n"
    )


def _language_tag(document: CleanedDocument) -> str | None:
    """Return the language of the text, with the script and region that the page declares for it."""
    declared = document.declared_language
    is_declared = declared is not None and declared.split("-")[0] == document.language
    return declared if is_declared else document.language


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "document": Format(_JSON, write=CleanedDocument.to_json_bytes),
        "datatrove": Format(_JSON, write=_write_datatrove),
        "dolma": Format(_JSON, write=_write_dolma),
        "markdown": Format("text/markdown; charset=utf-8", write=_write_markdown, markdown=True),
        "html": Format("text/html; charset=utf-8", write=_write_html, html=True),
    }
)
"""The values of `--format`."""
