"""A page on its way: one type per step, each made from the one before."""

from __future__ import annotations  # its arrays are annotations alone: who needs none does not load numpy

from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, IntFlag, StrEnum
from typing import TYPE_CHECKING

from dehusk.schemas.pickled import PickledByFields

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dehusk.schemas.markup import Markup
    from dehusk.schemas.metadata import Metadata
    from dehusk.schemas.tree import DocumentTree


@dataclass(frozen=True, slots=True)
class Message(PickledByFields):
    """A Kafka record as it was read."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic: str = ""
    partition: int = 0
    offset: int = 0

    def header(self, name: str) -> bytes | None:
        """The value of the last header of this name, compared without case, or None."""
        wanted = name.lower()
        return next((value for key, value in reversed(self.headers) if key.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class RawPage:
    """A crawled HTML page, whatever crawler it came from."""

    url: str
    html: bytes
    """The document in UTF-8, never with a byte order mark; malformed input holds U+FFFD instead."""
    id: str | None = None
    """The crawler's own identifier of the page, where it gives one."""
    fetched_at: datetime | None = None
    """When the crawler fetched the page, with a time zone."""
    language: str | None = None
    """The Content-Language the server declared, if any."""
    encoding: str = "utf-8"
    """The WHATWG name of the encoding that the page was decoded from."""
    source: str = "html"
    """The crawler format that was recognised (a name in `dehusk.streams.sources`)."""

    @property
    def name(self) -> str:
        """The crawler's own identifier, else the URL."""
        return self.id or self.url


@dataclass(frozen=True, slots=True)
class PageIdentity(PickledByFields):
    """What a cleaned document says of its page: all that is kept once the HTML is segmented."""

    id: str
    """The crawler's own identifier, else the URL."""
    url: str
    site: str
    """What the page's texts are counted under: the URL's host, as a rule."""
    fetched_at: datetime | None
    language: str | None
    """The primary language that the server declared, e.g. `en`."""
    raw_length: int
    """Bytes of the page's HTML in UTF-8."""


class Boundary(IntFlag):
    """What a reader sees between a block and the one before it; several may meet in one place."""

    LINE = 1
    """A line break: `<br>`, the edge of a `<div>`."""
    CELL = 2
    """The edge of a table cell."""
    ROW = 4
    """The edge of a table row."""
    PARAGRAPH = 8
    """A blank line: the edge of a paragraph, heading, table, preformatted text, or list that is in no other,
    or two `<br>`."""
    VISIBILITY = 16
    """None: hidden text begins or ends within a line."""
    SPACE = 32
    """White space, where hidden text begins or ends within a line."""


class ElementFlag(IntFlag):
    """Among what a block stands, by the tags and ARIA roles of the elements around it."""

    ARTICLE = 1
    MAIN = 2
    NAV = 4
    HEADER = 8
    FOOTER = 16
    ASIDE = 32
    FORM = 64
    ITEM = 128
    CELL = 256
    BUTTON = 512
    HIDDEN = 1024
    """Not shown at first: by `hidden`, an inline style or a closed dialog."""
    CODE = 2048
    FIGURE = 4096
    LINK = 8192


class TagCount(IntEnum):
    """What is counted on a page, by the place of its number in `Structure.counts`."""

    ARTICLES = 0
    MAINS = 1
    FORMS = 2
    CODES = 3
    """`<pre>` and `<code>`"""
    ITEMS = 4
    TABLES = 5
    CONTROLS = 6
    """`<input>` and `<button>`"""
    IMAGES = 7


@dataclass(frozen=True, slots=True)
class Declarations:
    """What a page says of itself to machines; empty where it says nothing."""

    og_title: str
    og_description: str
    og_type: str
    description: str
    json_ld: str
    """The texts of all JSON-LD, of each the first 200,000 characters."""
    noscript_words: int
    """How many words stand in `<noscript>` that is not hidden."""


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The E elements of a page that hold blocks, parents first, and where its T blocks stand in them."""

    parents: npt.NDArray[np.int32]
    """Shape [E]: the element that holds each; -1 for the root."""
    tokens: npt.NDArray[np.uint32]
    """Shape [K]: the crc32 of each element's `t:<tag>` and of `c:<part>` for parts of its class, id, role and
    microdata."""
    token_counts: npt.NDArray[np.uint8]
    """Shape [E]: how many of `tokens` belong to each element: 1 to 8."""
    class_hashes: npt.NDArray[np.uint32]
    """Shape [E]: the hash of tag and class, each number in it the same: equal for elements that repeat."""
    flags: npt.NDArray[np.uint16]
    """Shape [E]: the `ElementFlag`s of the element and all around it."""
    headings: npt.NDArray[np.uint8]
    """Shape [E]: the level of the innermost heading that it is or stands in, else 0."""
    depths: npt.NDArray[np.int32]
    """Shape [E]: how many elements it stands in, itself included."""
    images: npt.NDArray[np.int32]
    """Shape [E]: how many `<img>` stand in it and in none of its elements that hold blocks."""
    elements: npt.NDArray[np.int32]
    """Shape [T]: the innermost element that holds each block and is not part of a line."""
    leaves: npt.NDArray[np.uint16]
    """Shape [T]: how many texts of the document make up each block."""
    counts: npt.NDArray[np.int32]
    """One number per `TagCount`."""
    declared: Declarations


BULLET = -(2**31)
"""The number of an item that is marked by a bullet."""


@dataclass(frozen=True, slots=True)
class SegmentedPage(PickledByFields):
    """The text blocks of a page in DOM order, as columns of equal length T (T may be 0)."""

    title: str
    """The text of `<title>`, white space folded."""
    language: str | None
    """The primary language that the document declares (`<html lang>`), e.g. `en`."""
    texts: tuple[str, ...]
    """The text of each block, white space folded but for the line breaks of `<pre>`; never empty."""
    paths: tuple[str, ...]
    """The tags from the root to the innermost element that holds the whole block, e.g. `html/body/p`;
    of more than 64 the innermost."""
    linked: tuple[int, ...]
    """How many characters of the block's text stand inside links, white space at a link's ends left out."""
    boundaries: tuple[int, ...]
    """The `Boundary` flags between each block and the one before it."""
    hidden: tuple[bool, ...]
    """Whether each block is not shown at first: a tab, an answer to unfold, a dialog."""
    lists_and_tables: npt.NDArray[np.int32] | None = field(default=None, compare=False, repr=False)
    """Shape [2, T]: 1 + the index in `items` of the innermost list item that holds each block, 0 for none;
    and the column of its table cell, from 1 on, 0 for none or where the row is not one line of text."""
    items: npt.NDArray[np.int32] | None = field(default=None, compare=False, repr=False)
    """Shape [2, I]: 1 + the index of the item around each list item, which comes before it, 0 for none; and
    its number, or `BULLET`."""
    structure: Structure | None = field(default=None, compare=False, repr=False)
    """The elements around the blocks, needed to encode; dropped when the page travels on."""
    metadata: Metadata | None = None
    """What the page says of itself, where it was asked for."""
    markup: Markup | None = field(default=None, compare=False, repr=False)
    """What the page's Markdown and HTML are written from; None where neither is wanted."""
    tree: DocumentTree | None = field(default=None, compare=False, repr=False)
    """The whole document, where an `Encoding` is made of it; dropped when the page travels on."""

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True, eq=False)
class StructureTensors(PickledByFields):
    """What the default model reads of a page of T blocks in E elements."""

    word_ids: npt.NDArray[np.uint32]
    """Shape [W]: the hashed words of each block, of more than 24 the first 18 and the last 6, of none a 0."""
    word_lengths: npt.NDArray[np.uint8]
    """Shape [T]: how many of `word_ids` belong to each block, at least 1."""
    heading: npt.NDArray[np.int32]
    """Shape [T]: 1 + the index of the heading that each block stands under, or is; 0 for none."""
    element: npt.NDArray[np.int32]
    """Shape [T]: 1 + the index of the innermost element that holds each block and is not part of a line."""
    parent: npt.NDArray[np.int32]
    """Shape [E]: 1 + the index of each element's parent, which comes before it; 0 for the root."""
    element_tokens: npt.NDArray[np.uint32]
    """Shape [K]: the hashed tag and the parts of class, id, role and microdata of each element."""
    element_token_lengths: npt.NDArray[np.uint8]
    """Shape [E]: how many of `element_tokens` belong to each element, at least 1."""
    alike: npt.NDArray[np.int32]
    """Shape [T]: the first block whose four innermost elements have the same tags and classes, or itself."""
    features: npt.NDArray[np.uint8]
    """Shape [T, len(BLOCK_FEATURES)]: see `dehusk.inference.features`."""
    page_features: npt.NDArray[np.uint8]
    """Shape [len(PAGE_FEATURES)]."""


@dataclass(frozen=True, slots=True, eq=False)
class Web2TextTensors(PickledByFields):
    """What Web2Text reads of a page of T blocks."""

    block_features: npt.NDArray[np.float16]
    """Shape [T, 128]: see `dehusk.inference.web2text.features`."""
    edge_features: npt.NDArray[np.float16]
    """Shape [T, 21]: of each block with the one before it, without their distance; zeros for the first."""
    distances: npt.NDArray[np.uint8]
    """Shape [T]: the hops from each block to the one before it, 2 to 4, or 5 for more; 0 for the first."""


class Encoding(StrEnum):
    """What an `EncodedPage` has only where a labeler reads it: it takes time."""

    BOILERPIPE = "boilerpipe"
    DECLUTTER = "declutter"
    WEB2TEXT = "web2text"


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPage:
    """A segmented page as the tensors that labelers read; T blocks, N tokens in all."""

    ids: npt.NDArray[np.uint32]
    """Shape [N]: the tokens (tags, words, punctuation) of all blocks, one block after the other."""
    block_lengths: npt.NDArray[np.uint16]
    """Shape [T]: how many of `ids` belong to each block; at least 1; sums to N."""
    words: npt.NDArray[np.uint32]
    """Shape [T]: words per block."""
    linked_words: npt.NDArray[np.uint32]
    """Shape [T]: words per block inside links, at most `words`."""
    fingerprints: npt.NDArray[np.uint64]
    """Shape [T]: the 64-bit hash of each block's normalised text, the key of its frequency."""
    hidden: npt.NDArray[np.bool_]
    """Shape [T]: `SegmentedPage.hidden`."""
    repeat: npt.NDArray[np.int32]
    """Shape [T]: the earlier block that each repeats, in a run of blocks with 30 words at least; else -1, and
    for cells that repeat a cell of the same kind."""
    structure: StructureTensors | None = None
    """None where only the texts and paths of the page are known."""
    structures: npt.NDArray[np.uint64] = field(kw_only=True)
    """Shape [T]: the 64-bit hash of the tags and classes around each block, equal where these repeat."""
    alike: npt.NDArray[np.int32] | None = field(default=None, kw_only=True)
    """Shape [T]: `StructureTensors.alike`, which is needed when the other tensors were dropped."""
    web2text: Web2TextTensors | None = field(default=None, kw_only=True)
    """What Web2Text reads; None where it was not asked for."""
    boilerpipe: npt.NDArray[np.float32] | None = field(default=None, kw_only=True)
    """Shape [2, T], `Encoding.BOILERPIPE`: the share of each block in what is content by the tree of the
    number of words, and by that of text density."""
    declutter: npt.NDArray[np.float32] | None = field(default=None, kw_only=True)
    """Shape [T], `Encoding.DECLUTTER`: the share of each block that decluttering leaves."""

    def __len__(self) -> int:
        return len(self.block_lengths)


@dataclass(frozen=True, slots=True, eq=False)
class SiteObservation:
    """What the statistics of a site are told of one page of T blocks."""

    site: str
    page: str
    """What makes the page distinct on its site: its URL."""
    texts: npt.NDArray[np.uint64]
    """Shape [T]: `EncodedPage.fingerprints`, repetitions included."""
    structures: npt.NDArray[np.uint64]
    """Shape [T]: `EncodedPage.structures`."""
    probabilities: npt.NDArray[np.float32]
    """Shape [T]: what the model answered of content."""


@dataclass(frozen=True, slots=True, eq=False)
class SiteStatistics:
    """What was known of a site before a page of T blocks came: other pages of it, counted once each."""

    pages: int
    """Pages counted."""
    texts: npt.NDArray[np.uint32]
    """Shape [T]: pages that have the block's text."""
    structure_pages: npt.NDArray[np.uint32]
    """Shape [T]: pages that have a block in the block's structure."""
    structure_blocks: npt.NDArray[np.uint32]
    """Shape [T]: blocks of those pages in it."""
    structure_likely: npt.NDArray[np.float32]
    """Shape [T]: the mean of what the model answered for those blocks; 0 where there are none."""
    is_counted: bool = False
    """Whether the page itself had been counted before."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockFrequencies(PickledByFields):
    """On how many distinct pages of the site each block of a page was seen, this page included."""

    pages_seen: int
    """Distinct pages of the site counted so far, this one included; 0 where frequencies are unknown."""
    counts: npt.NDArray[np.uint32]
    """Shape [T]: distinct pages that hold the block; at most `pages_seen`."""


@dataclass(frozen=True, slots=True)
class ModelVersion(PickledByFields):
    """Which model answered."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, eq=False)
class Prediction(PickledByFields):
    """A labeler's answer for one page."""

    probabilities: npt.NDArray[np.float32]
    """Shape [T]: the probability that each block is content, in [0, 1]."""
    model: ModelVersion
    labeler: str
    """`triton`, `onnx`, or the name of a labeler without a model, as `rules`."""
    comments: npt.NDArray[np.float32] | None = None
    """Shape [T]: the probability that each block is a user comment, and no content; None where the labeler
    does not say."""
    uncorrected: npt.NDArray[np.float32] | None = None
    """Shape [T]: the labeler's own probabilities, where `probabilities` are corrected by what is known of the
    site; else None."""
