"""Pages that the benchmarks measure on: JSON lines with `html` and `url`, perhaps `main_content`, `title`."""

import json
import lzma
import re
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

_COMMENT = re.compile("<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was crawled."""

    url: str
    html: bytes
    content: str | None = None
    """Content of the page, where the file has it."""
    title: str | None = None
    """Headline of the page, where the file has it."""


def load_pages(path: Path, every: int = 1) -> list[Page]:
    """Read every n-th page of a JSON lines file, which may be xz-compressed."""
    open_lines = lzma.open if path.suffix == ".xz" else open
    with open_lines(path, "rt", encoding="utf-8") as lines:
        rows = map(json.loads, islice(lines, 0, None, every))
        return [_page(row) for row in rows]


def _page(row: dict[str, Any]) -> Page:
    html = row["html"].encode("utf-8", "replace")
    return Page(row["url"] or "", html, row.get("main_content"), row.get("title"))


def stripped(page: Page) -> Page:
    """Return the page without scripts, styles, comments, `<noscript>` and drawings, as in many data sets."""
    document = LexborHTMLParser(page.html)
    document.strip_tags(["script", "style", "noscript", "svg"], recursive=True)
    return replace(page, html=_COMMENT.sub("", document.html or "").encode("utf-8", "replace"))
