"""Labeled pages: what `prepare` makes of gold texts or of labeled blocks, and what everything else reads."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from dehusk.inference.segmentation import segment
from dehusk.schemas.pages import SegmentedPage
from dehusk.training.alignment import content_blocks
from dehusk.training.blocks import Block, has_text, segmented
from dehusk.training.boilernet.config import DataConfig
from dehusk.training.directory import written_whole
from dehusk.training.pages import GoldPage, read_objects
from dehusk.training.score import kept_words, score_words, word_f1


@dataclass(frozen=True, slots=True)
class LabeledPage:
    """A segmented page, which of its blocks are content, and the gold text that says so."""

    id: str
    site: str
    page_type: str
    stripped: bool
    text: str
    segmented: SegmentedPage
    content: tuple[bool, ...]
    oracle: float
    """Word-level F1 of the content blocks: the best that labels can do on this page."""
    validation: bool = False
    """Whether it is held out by name, whatever its site."""


def label(page: GoldPage, share: float) -> LabeledPage:
    """The page with its blocks labeled by its gold text.

    Raises:
        PageError: the page cannot be segmented.
    """
    whole = segment(page.html.encode("utf-8", "replace"))
    without_elements = replace(whole, lists_and_tables=None, items=None, structure=None)
    words = [score_words(text) for text in whole.texts]
    gold = score_words(page.text or "")
    content = content_blocks(words, gold, share)
    chosen = kept_words(words, content)
    return LabeledPage(
        id=page.id,
        site=page.site,
        page_type=page.page_type,
        stripped=page.stripped,
        text=page.text or "",
        segmented=without_elements,
        content=tuple(content.tolist()),
        oracle=word_f1(chosen, gold),
    )


def labeled_page(name: str, blocks: Sequence[Block]) -> LabeledPage:
    """A page of blocks with labels, without those that hold no text; its gold text is its content."""
    blocks = [block for block in blocks if has_text(block)]
    return LabeledPage(
        id=name,
        site=name,
        page_type="",
        stripped=True,
        text="\n".join(block["text"] for block in blocks if block["label"] == 1),
        segmented=segmented(blocks),
        content=tuple(block["label"] == 1 for block in blocks),
        oracle=1.0,
    )


def read_labeled_blocks(files: Iterable[Path]) -> Iterator[LabeledPage]:
    """The pages of xz-compressed JSON lines."""
    return read_objects(files, lambda fields: labeled_page(fields["id"], fields["blocks"]))


def held_out_pages(pages: Iterable[LabeledPage], config: DataConfig | None) -> list[LabeledPage]:
    """The validation pages, and those of the sites that are never trained on, good gold or not."""
    return [page for page in pages if _is_held_out(page, config)]


def training_pages(pages: Iterable[LabeledPage], config: DataConfig | None) -> list[LabeledPage]:
    """All other pages with blocks, but those whose gold text is missing or cannot be reproduced from them."""
    kept = (page for page in pages if not _is_held_out(page, config))
    return [page for page in kept if page.content and (config is None or reliable(page, config))]


def reliable(page: LabeledPage, config: DataConfig) -> bool:
    """Whether a page has a gold text and its blocks can reproduce it."""
    return any(page.content) and page.oracle >= config.least_oracle


def _is_held_out(page: LabeledPage, config: DataConfig | None) -> bool:
    """Whether a page is held out: its site's name decides, so that no other site's pages change it."""
    share = 0.0 if config is None else config.held_out
    return page.validation or zlib.crc32(page.site.encode()) % 1000 < 1000 * share


def write_pages(file: Path, pages: Iterable[LabeledPage]) -> None:
    """Write labeled pages as JSON lines."""
    with written_whole(file) as lines:
        for page in pages:
            lines.write(orjson.dumps(asdict(page), option=orjson.OPT_APPEND_NEWLINE))


def read_pages(file: Path) -> list[LabeledPage]:
    """The labeled pages of a file that `write_pages` wrote."""
    with file.open("rb") as lines:
        return [_page(orjson.loads(line)) for line in lines]


def _page(fields: dict[str, Any]) -> LabeledPage:
    segmented: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in fields.pop("segmented").items()
    }
    content = tuple(fields.pop("content"))
    return LabeledPage(segmented=SegmentedPage(**segmented), content=content, **fields)
