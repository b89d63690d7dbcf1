"""Pages of two sites: on one, teasers of other articles stand in the article and look like it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.page_labels import PageLabels, blocks_hash, html_hash
from dehusk.schemas.pages import EncodedPage
from dehusk.streams.labeling.labels_file import open_labels_file

SENTENCES = (
    "The mill grinds slowly, but it grinds very fine indeed",
    "A river turns the wheel at night, and nobody hears it",
    "Nobody counts the sacks that the carts bring down to the harbour",
    "In spring the millpond freezes no more, and the weir is opened again",
)
TEASER = "Read as well how"


def encoded(html: str) -> EncodedPage:
    return encode(segment(html.encode()))


def mill_html(number: int) -> str:
    """A page whose article has teasers among its paragraphs."""
    paragraphs = "".join(
        f"<div class=text><p>{SENTENCES[(k + number) % 4]}, as page {number} says in part {k}.</p></div>"
        f"<div class=teaser><p>{TEASER} {SENTENCES[(k + number + 1) % 4].lower()}, in part {k}.</p></div>"
        for k in range(3 + number % 3)
    )
    return (
        f"<html><head><title>Mill {number}</title></head><body><ul class=menu><li><a href=/>Home</a></ul>"
        f"<article class=story><h1>Mill number {number}</h1>{paragraphs}</article>"
        f"<div class=footer>Imprint</div></body></html>"
    )


def harbour_html(number: int) -> str:
    """A page of another site."""
    paragraphs = "".join(f"<p>{SENTENCES[(k + number) % 4]}, says number {number}.</p>" for k in range(4))
    return f"<body><main><section class=body>{paragraphs}</section></main><footer>Contact</footer></body>"


def labels_of(html: str) -> list[int]:
    """Label a page of the mill as a reader does."""
    return [int("part" in text and TEASER not in text) for text in segment(html.encode()).texts]


def line_of(name: str, html: str) -> bytes:
    url = f"https://mill.example/{name}"
    return orjson.dumps({"id": name, "url": url, "html": html}, option=orjson.OPT_APPEND_NEWLINE)


def page_labels(name: str, html: str, labels: Sequence[int | None]) -> PageLabels:
    return PageLabels(
        id=name,
        url=f"https://mill.example/{name}",
        html_hash=html_hash(html.encode()),
        blocks_hash=blocks_hash(segment(html.encode()).texts),
        labels=tuple(labels),
        labeled_at=datetime(2026, 11, 23, 3, 30, tzinfo=UTC),
    )


class Crawl:
    """A file of pages and one of labels."""

    def __init__(self, folder: Path) -> None:
        self.pages = folder / "pages.jsonl"
        self.labels = folder / "labels.jsonl"
        self.pages.touch()

    def add(self, name: str, html: str, labels: Sequence[int | None] | None = None) -> None:
        with self.pages.open("ab") as file:
            file.write(line_of(name, html))
        if labels is not None:
            self.label(name, html, labels)

    def label(self, name: str, html: str, labels: Sequence[int | None]) -> None:
        with open_labels_file(self.labels) as file:
            file.save(page_labels(name, html, labels))


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


@pytest.fixture
def mill(crawl: Crawl) -> Crawl:
    """A crawl of twelve labeled pages of the mill and three without labels."""
    for number in range(15):
        html = mill_html(number)
        crawl.add(f"m{number}", html, labels_of(html) if number < 12 else None)
    return crawl
