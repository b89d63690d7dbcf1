"""Pages with gold texts, as the data have them, and pages that are rebuilt from labeled blocks."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from dehusk.inference.markup.elements import INLINE, LINK, MAX_PATH, SKIPPED, TIGHT, traits
from dehusk.inference.segmentation.segmentation import segment
from dehusk.inference.sites import site_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import PAGE_KINDS, SegmentedPage
from dehusk.streams.files.inflating import inflated
from dehusk.streams.files.page_lines import identity_of, parse_line
from dehusk.streams.sources.compression import DAMAGE
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.fields import Fields
from dehusk.streams.sources.page import known_url, offline_url
from dehusk.training.arrays import Bools, Integers
from dehusk.training.pages.alignment import content_blocks
from dehusk.training.scores import Words, block_words, score_words

_PART = re.compile(r"-(train|val|dev|test)$")
_WITHIN_LINES = (INLINE, LINK, TIGHT)
_WRAPPER = "text"
"""Element that CleanEval puts each page into; it is none of HTML."""
Item = TypeVar("Item")
_KINDS = {
    **{kind: kind for kind in PAGE_KINDS},
    **dict.fromkeys(("blog", "news", "recipe"), "article"),
    **dict.fromkeys(("docs", "wiki"), "documentation"),
}
"""Kind of page by what data say of its type, or of the kind of its site."""
_INDEX = "index"
"""Page of a site that leads to others, whose kind that of its site does not tell."""
_ACTIVE = ("<script", "<style", "<noscript", "<svg", "<!--")


class Block(msgspec.Struct, frozen=True):
    """Block of a page that comes cut into blocks."""

    path: tuple[str, ...]
    """Tags from the root to the text."""
    text: str

    @property
    def has_text(self) -> bool:
        """True if it holds more than white space; BoilerNet knows no others."""
        return bool(self.text.strip())


class LabeledBlock(Block, frozen=True):
    """Block that is known to be content or not."""

    label: int
    """1 for content."""

    @property
    def is_content(self) -> bool:
        """True for content."""
        return self.label == 1


def segmented(blocks: Sequence[Block]) -> SegmentedPage:
    """Return the blocks, which all have text, as the segments of a page of which nothing else is known."""
    unknown = (0,) * len(blocks)
    return SegmentedPage(
        title="",
        language=None,
        texts=tuple(block.text for block in blocks),
        paths=tuple("/".join(block.path[-MAX_PATH:]) for block in blocks),
        linked=unknown,
        boundaries=unknown,
        hidden=(False,) * len(blocks),
    )


@dataclass(frozen=True, slots=True, eq=False)
class RebuiltPage:
    """HTML that was made of blocks."""

    html: str
    texts: Integers
    """Shape [blocks]: which of the texts that the page shows holds each block; -1 for none."""


def rebuilt(blocks: Sequence[Block]) -> RebuiltPage:
    """Return elements around the blocks' texts by their paths: what two paths in a row share stays open.

    Where a path comes again and ends in an inline tag, its element goes on; others begin anew.
    """
    html: list[str] = []
    texts: list[int] = []
    opened: list[str] = []
    shown = -1
    goes_on = False
    for block in blocks:
        path = [tag for tag in block.path if tag != _WRAPPER]
        kept = _shared(opened, path)
        html += [f"</{tag}>" for tag in reversed(opened[kept:])]
        html += [f"<{tag}>" for tag in path[kept:]]
        html.append(f"{escape(block.text)} ")
        is_shown = block.has_text and not any(traits(tag).kind == SKIPPED for tag in path)
        goes_on = goes_on and kept == len(opened) == len(path)
        shown += is_shown and not goes_on
        goes_on = goes_on or is_shown
        texts.append(shown if is_shown else -1)
        opened = path
    return RebuiltPage("".join(html), np.array(texts, np.int64))


def _shared(opened: Sequence[str], path: Sequence[str]) -> int:
    """Return the number of open elements that hold the next text, too."""
    pairs = zip(opened, path, strict=False)
    shared = next((depth for depth, (one, other) in enumerate(pairs) if one != other), None)
    if shared is not None:
        return shared
    again = len(opened) == len(path) > 0 and traits(path[-1]).kind not in _WITHIN_LINES
    return min(len(opened), len(path)) - again


@dataclass(frozen=True, slots=True)
class GoldPage:
    """A page as the data has it: its HTML and its main content."""

    id: str
    site: str
    page_type: str
    """Empty where it is not known."""
    html: str
    text: str | None
    """None where it is not known."""
    collection: str = ""
    """Name of the file that it is in."""
    comments: str | None = None
    """Text of its user comments; None where it is not known."""
    url: str = ""
    """Empty where it is not known."""
    kind: str = ""
    """Kind of its site, such as `blog`; empty where it is not known."""
    is_index: bool = False
    """True for a page that leads to others of its site, as far as it is known."""
    blocks: tuple[LabeledBlock, ...] = ()
    """Labeled blocks that the HTML was rebuilt from; none of a page that came as HTML."""

    @property
    def key(self) -> str:
        """Name that no page of another collection has."""
        return f"{collection_of(self.collection)}/{self.id}"

    @property
    def utf8(self) -> bytes:
        """HTML as a worker reads it."""
        return encode_text(self.html)

    @property
    def page_kind(self) -> str:
        """One of PAGE_KINDS, by its type or the kind of its site; empty where these tell none."""
        return _KINDS.get(self.page_type or ("" if self.is_index else self.kind), "")

    @property
    def may_call_posts_comments(self) -> bool:
        """True for a forum or a listing, where what is called a comment may be content."""
        return not {"forum", "listing"}.isdisjoint((self.page_type, self.kind))

    @property
    def stripped(self) -> bool:
        """True if scripts, styles and comments were taken out before the page came here."""
        return not any(mark in self.html for mark in _ACTIVE)


@dataclass(frozen=True, slots=True, eq=False)
class AlignedPage:
    """A segmented page of T blocks, labeled by its gold text."""

    segmented: SegmentedPage
    words: Words
    gold: tuple[str, ...]
    """Words of the gold text; none where it is not known."""
    content: Bools
    """Shape [T]: the blocks that are part of the gold text."""


def align(page: GoldPage, share: float) -> AlignedPage:
    """Label the blocks of which the gold text has this share of the words.

    Raises:
        PageError: the page cannot be segmented.
    """
    whole = segment(page.utf8, url=page.url)
    words, gold = block_words(whole.texts), tuple(score_words(page.text or ""))
    return AlignedPage(whole, words, gold, content_blocks(words, gold, share))


def collection_of(file: str) -> str:
    """Return the collection that a file holds pages of, e.g. `cleaneval` of `cleaneval-val.jsonl.xz`."""
    return _PART.sub("", file.partition(".")[0])


class PageOfBlocks(msgspec.Struct):
    """Line of a data file whose pages come cut into labeled blocks."""

    id: str | int
    blocks: tuple[LabeledBlock, ...]

    @property
    def name(self) -> str:
        """Id as text."""
        return encode_text(str(self.id)).decode()


class _PageOfHtml(msgspec.Struct):
    """Line of a data file whose pages come as HTML; its id and URL are read as `dehusk label` reads them."""

    html: str
    main_content: str | msgspec.UnsetType | None = msgspec.UNSET
    expected_text: str | msgspec.UnsetType | None = msgspec.UNSET
    comments: str | None = None
    site: str | None = None
    page_type: str | None = None
    kind: str | None = None
    page_kind: str | None = None

    def gold_page(self, collection: str, name: str, url: str, *, needs_text: bool) -> GoldPage:
        """Return the page with this id and URL, either of which may be empty.

        Raises:
            ValueError: it has neither an id nor a URL, or needs a gold text and has none.
        """
        name = name or offline_url(url)
        if not name:
            raise ValueError("it has neither an id nor a url")
        text = self.expected_text if self.main_content is msgspec.UNSET else self.main_content
        if text is msgspec.UNSET and needs_text:
            raise ValueError("it has no field main_content or expected_text")
        return GoldPage(
            id=name,
            collection=collection,
            site=encode_text(self.site or site_of(url) or name).decode(),
            page_type=self.page_type or "",
            html=self.html,
            text=None if text is msgspec.UNSET else text,
            comments=self.comments,
            url=known_url(url) or "",
            kind=self.kind or "",
            is_index=self.page_kind == _INDEX,
        )


def read_gold(files: Iterable[Path], *, needs_text: bool = True) -> Iterator[GoldPage]:
    """Read the pages of JSON lines: id, url, html, main_content or expected_text; or id and blocks.

    Optional fields are page_type or kind, site and comments, and without `needs_text` the gold text, too. A
    page without an id has its URL for one.
    """
    for file in files:
        read = partial(_gold_page, file.name.partition(".")[0], needs_text=needs_text)
        yield from read_objects([file], read)


def read_objects(files: Iterable[Path], read: Callable[[Fields, bytes], Item]) -> Iterator[Item]:
    """Read each object in JSON lines, plain or compressed; `read` raises ValueError where it is no page.

    It gets the object and its line.

    Raises:
        ConfigurationError: a line is no page, or the file is not whole.
    """
    for file in files:
        number = 0
        try:
            with file.open("rb") as raw:
                for number, line in enumerate(inflated(raw), 1):  # noqa: B007 -- the errors name it
                    if not line.isspace():
                        yield read(parse_line(line), line)
        except DAMAGE as error:
            raise ConfigurationError(f"{file} cannot be read to its end: {error}") from error
        except (ValueError, PageError) as error:
            raise ConfigurationError(f"line {number} of {file} is no page: {error}") from error


def _gold_page(collection: str, fields: Fields, line: bytes, *, needs_text: bool) -> GoldPage:
    if "blocks" in fields:
        return _from_blocks(collection, msgspec.convert(fields, PageOfBlocks))
    page, (name, url) = msgspec.convert(fields, _PageOfHtml), identity_of(fields, line)
    return page.gold_page(collection, name or "", url or "", needs_text=needs_text)


def _from_blocks(collection: str, page: PageOfBlocks) -> GoldPage:
    return GoldPage(
        id=page.name,
        collection=collection,
        site=page.name,
        page_type="",
        html=rebuilt(page.blocks).html,
        text="\n".join(block.text for block in page.blocks if block.is_content),
        blocks=page.blocks,
    )


def each_labeled(
    pages: Iterable[GoldPage], label: Callable[[GoldPage], Item], processes: int, broken: list[Broken]
) -> Iterator[Item]:
    """Label pages in several processes, in order; `broken` gets those that cannot be labeled."""
    with get_context("spawn").Pool(processes) as pool:
        for page in pool.imap(partial(_or_broken, label), pages, chunksize=4):
            if isinstance(page, Broken):
                broken.append(page)
            else:
                yield page


def _or_broken(label: Callable[[GoldPage], Item], page: GoldPage) -> Item | Broken:
    try:
        return label(page)
    except PageError as error:
        return Broken(error.reason, str(error), page.site)
