"""Pages with gold texts, as the data have them, and pages that are rebuilt from labeled blocks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson

from dehusk.inference.elements import INLINE, LINK, MAX_PATH, SKIPPED, TIGHT, traits
from dehusk.inference.segmentation.segmentation import segment
from dehusk.inference.sites import site_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import SegmentedPage
from dehusk.streams.files.readers import DAMAGE, inflated
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.sources.page import known_url
from dehusk.training.arrays import Bools, Integers
from dehusk.training.pages.alignment import content_blocks
from dehusk.training.scores import Words, block_words, score_words

Block = Mapping[str, Any]
"""Block of a page: its `path` of tags from the root to the text, its `text`, and `label`, 1 for content."""

CONTENT_PROBABILITY = 0.5
"""Probability from which a block is labeled as content."""
_WITHIN_LINES = (INLINE, LINK, TIGHT)
_WRAPPER = "text"
"""Element that CleanEval puts each page into; it is none of HTML."""
Item = TypeVar("Item")
_ACTIVE = ("<script", "<style", "<noscript", "<svg", "<!--")


def has_text(block: Block) -> bool:
    """Return True if a block holds more than white space; BoilerNet knows no others."""
    return bool(block["text"].strip())


def segmented(blocks: Sequence[Block]) -> SegmentedPage:
    """Return the blocks, which all have text, as the segments of a page of which nothing else is known."""
    unknown = (0,) * len(blocks)
    return SegmentedPage(
        title="",
        language=None,
        texts=tuple(block["text"] for block in blocks),
        paths=tuple("/".join(block["path"][-MAX_PATH:]) for block in blocks),
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


def rebuilt(blocks: Sequence[Mapping[str, Any]]) -> RebuiltPage:
    """Return elements around the blocks' texts by their paths: what two paths in a row share stays open.

    Where a path comes again and ends in an inline tag, its element goes on; others begin anew.
    """
    html: list[str] = []
    texts: list[int] = []
    opened: list[str] = []
    shown = -1
    goes_on = False
    for block in blocks:
        path = [tag for tag in block["path"] if tag != _WRAPPER]
        kept = _shared(opened, path)
        html += [f"</{tag}>" for tag in reversed(opened[kept:])]
        html += [f"<{tag}>" for tag in path[kept:]]
        html.append(f"{escape(block['text'])} ")
        is_shown = bool(block["text"].strip()) and not any(traits(tag).kind == SKIPPED for tag in path)
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
    kind: str = ""
    """Kind of its site, such as `blog`; empty where it is not known."""
    blocks: tuple[Block, ...] = ()
    """Labeled blocks that the HTML was rebuilt from; none of a page that came as HTML."""

    @property
    def utf8(self) -> bytes:
        """HTML as a worker reads it."""
        return encode_text(self.html)

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
    whole = segment(page.utf8)
    words, gold = block_words(whole.texts), tuple(score_words(page.text or ""))
    return AlignedPage(whole, words, gold, content_blocks(words, gold, share))


def read_gold(files: Iterable[Path], *, needs_text: bool = True) -> Iterator[GoldPage]:
    """Read the pages of JSON lines: id, url, html, main_content or expected_text; or id and blocks.

    Optional fields are page_type or kind, site and comments, and without `needs_text` the gold text, too. A
    page without an id has its URL for one.
    """
    for file in files:
        read = partial(_gold_page, file.name.partition(".")[0], needs_text=needs_text)
        yield from read_objects([file], read)


def read_objects(files: Iterable[Path], read: Callable[[dict[str, Any]], Item]) -> Iterator[Item]:
    """Read each object in JSON lines, plain or compressed.

    Raises:
        ConfigurationError: a line is no object, or lacks what is read of it; or the file is not whole.
    """
    for file in files:
        number = 0
        try:
            with file.open("rb") as raw:
                for number, line in enumerate(inflated(raw), 1):  # noqa: B007 -- the errors name it
                    yield read(orjson.loads(line))
        except DAMAGE as error:
            raise ConfigurationError(f"{file} cannot be read to its end: {error}") from error
        except KeyError as error:
            raise ConfigurationError(f"line {number} of {file} has no field {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigurationError(f"line {number} of {file} is no page: {error}") from error


def _gold_page(collection: str, fields: Mapping[str, Any], *, needs_text: bool) -> GoldPage:
    if "blocks" in fields:
        return _from_blocks(collection, fields)
    name = "main_content" if "main_content" in fields else "expected_text"
    return _from_html(collection, fields, fields[name] if needs_text else fields.get(name))


def _from_html(collection: str, fields: Mapping[str, Any], text: str | None) -> GoldPage:
    name = str(fields.get("id") or "") or known_url(fields["url"]) or fields["id"]
    return GoldPage(
        id=name,
        collection=collection,
        site=fields.get("site") or site_of(fields["url"] or "") or name,
        page_type=fields.get("page_type", ""),
        html=fields["html"],
        text=text,
        comments=fields.get("comments"),
        kind=fields.get("kind") or "",
    )


def _from_blocks(collection: str, fields: Mapping[str, Any]) -> GoldPage:
    return GoldPage(
        id=fields["id"],
        collection=collection,
        site=fields["id"],
        page_type="",
        html=rebuilt(fields["blocks"]).html,
        text="\n".join(block["text"] for block in fields["blocks"] if block["label"] == 1),
        blocks=tuple(fields["blocks"]),
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
