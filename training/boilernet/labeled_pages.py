"""Labeled pages, prepared from gold texts or from labeled blocks."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import msgspec

from dehusk.inference.encoding.encoding import encode, tokens_of
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, SegmentedPage, TokenTensors
from dehusk.training.boilernet.config import BoilerNetConfig, DataConfig
from dehusk.training.pages.gold import (
    GoldPage,
    PageOfBlocks,
    align,
    each_labeled,
    read_gold,
    read_objects,
    segmented,
)
from dehusk.training.runs import Preparation, read_pages, write_pages
from dehusk.training.scores import kept_words, word_f1


@dataclass(frozen=True, slots=True)
class LabeledPage:
    """A segmented page, the labels of its blocks, and the gold text that they are of."""

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
    """True if it is held out by name, whatever its site."""

    @property
    def encoded(self) -> EncodedPage:
        """Page as a worker encodes it."""
        return encode(self.segmented, (Encoding.TOKENS,))

    @property
    def tokens(self) -> TokenTensors:
        """Tokens of the page as a worker encodes it."""
        return tokens_of(self.segmented)


def label(page: GoldPage, share: float) -> LabeledPage:
    """Label the blocks of a page by its gold text."""
    aligned = align(page, share)
    return LabeledPage(
        id=page.id,
        site=page.site,
        page_type=page.page_type,
        stripped=page.stripped,
        text=page.text or "",
        segmented=replace(aligned.segmented, lists_and_tables=None, items=None, structure=None),
        content=tuple(aligned.content.tolist()),
        oracle=word_f1(kept_words(aligned.words, aligned.content), aligned.gold),
    )


def labeled_page(page: PageOfBlocks) -> LabeledPage:
    """Return a page of labeled blocks, without those that hold no text; its gold text is its content."""
    blocks = [block for block in page.blocks if block.has_text]
    return LabeledPage(
        id=page.name,
        site=page.name,
        page_type="",
        stripped=True,
        text="\n".join(block.text for block in blocks if block.is_content),
        segmented=segmented(blocks),
        content=tuple(block.is_content for block in blocks),
        oracle=1.0,
    )


def read_labeled_blocks(files: Iterable[Path]) -> Iterator[LabeledPage]:
    """Read the pages of JSON lines, plain or compressed."""
    return read_objects(files, lambda fields, _: labeled_page(msgspec.convert(fields, PageOfBlocks)))


def held_out_pages(pages: Iterable[LabeledPage], config: DataConfig | None) -> list[LabeledPage]:
    """Return the validation pages, and those of the sites that are never trained on, good gold or not."""
    return [page for page in pages if _is_held_out(page, config)]


def training_pages(pages: Iterable[LabeledPage], config: DataConfig | None) -> list[LabeledPage]:
    """Return the other pages with blocks, but those without a gold text that their blocks reproduce."""
    kept = (page for page in pages if not _is_held_out(page, config))
    return [page for page in kept if page.content and (config is None or reliable(page, config))]


def reliable(page: LabeledPage, config: DataConfig) -> bool:
    """Return True if a page has a gold text and its blocks can reproduce it."""
    return any(page.content) and page.oracle >= config.least_oracle


def _is_held_out(page: LabeledPage, config: DataConfig | None) -> bool:
    """Return True if a page is held out: its site's name decides, so that no other site's pages change it."""
    share = 0.0 if config is None else config.held_out
    return page.validation or zlib.crc32(page.site.encode()) % 1000 < 1000 * share


def prepare_pages(options: Preparation, config: BoilerNetConfig) -> list[Broken]:
    """Label the pages of the files and write them to the directory; return those that cannot be segmented.

    Without a configuration of gold texts, the files hold labeled blocks. Pages whose gold text is not known
    are left out.
    """
    data, broken = config.data, list[Broken]()

    def read(some: Sequence[Path]) -> Iterator[LabeledPage]:
        if data is None:
            return read_labeled_blocks(some)
        known = (page for page in read_gold(some) if page.text is not None)
        return each_labeled(known, partial(label, share=data.content_share), options.processes, broken)

    held_out = (
        (replace(page, validation=True) for page in read(options.validation)) if options.validation else ()
    )
    write_pages(options, config, chain(read(options.files), held_out))
    return broken


def prepared_pages(directory: Path, config: BoilerNetConfig) -> list[LabeledPage]:
    """Read the pages that were labeled for a run of this configuration."""
    return list(read_pages(directory, config))
