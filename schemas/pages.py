"""The types of a page on its way: one per step, each made from the one before."""

from __future__ import annotations  # its arrays are annotations alone: who needs none does not load numpy

from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, IntFlag, StrEnum
from typing import TYPE_CHECKING

from dehusk.schemas.pickled import PickledByFields, PickledWithArrays, PickledWithBytes

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    import numpy.typing as npt

    from dehusk.schemas.markup import DocumentTree, Markup
    from dehusk.schemas.metadata import Metadata


@dataclass(frozen=True, slots=True)
class Message(PickledWithBytes):
    """A Kafka record as it was read."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic: str = ""
    partition: int = 0
    offset: int = 0

    def header(self, name: str) -> bytes | None:
        """Return the value of the last header of this name, compared without case, or None."""
        wanted = name.lower()
        return next((value for key, value in reversed(self.headers) if key.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class RawPage:
    """A crawled HTML page, from any crawler."""

    url: str
    html: bytes
    """The document in UTF-8, never with a byte order mark; malformed input holds U+FFFD instead."""
    id: str | None = None
    """Crawler's own identifier of the page, if any."""
    fetched_at: datetime | None = None
    """Time of the crawl, with a time zone."""
    language: str | None = None
    """Content-Language that the server declared, if any."""
    encoding: str = "utf-8"
    """WHATWG name of the encoding that the page was decoded from."""
    source: str = "html"
    """Crawler format that was recognised (a name in `dehusk.streams.sources`)."""

    @property
    def name(self) -> str:
        """Crawler's own identifier, else the URL."""
        return self.id or self.url


@dataclass(frozen=True, slots=True)
class PageIdentity(PickledByFields):
    """Identity of a page, which its document repeats: all that is kept once the HTML is segmented."""

    id: str
    """Crawler's own identifier, else the URL."""
    url: str
    site: str
    """Name that the page's texts are counted under: the URL's host, as a rule."""
    fetched_at: datetime | None
    language: str | None
    """Language that the server declared, e.g. `en-GB`."""
    raw_length: int
    """Bytes of the page's HTML in UTF-8."""


class Boundary(IntFlag):
    """Separation that a reader sees between a block and the one before it; several may meet."""

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
    """Nothing: hidden text begins or ends within a line."""
    SPACE = 32
    """White space, where hidden text begins or ends within a line."""


class ElementFlag(IntFlag):
    """Elements around a block, by tags and ARIA roles."""

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
    """Not shown at first: by `hidden`, an inline style, a closed dialog or popover."""
    CODE = 2048
    FIGURE = 4096
    LINK = 8192


class TagCount(IntEnum):
    """Index in `Structure.counts` of a count of elements."""

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
    """Declarations of a page for machines; empty where there are none."""

    og_title: str
    og_description: str
    og_type: str
    description: str
    site_name: str
    """Name of the site in Open Graph."""
    json_ld: str
    """Texts of all JSON-LD, the first 200,000 characters of each."""
    noscript_words: int
    """Number of words in `<noscript>` that is not hidden."""


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """The E elements of a page that hold blocks, parents first, and the places of its T blocks in them."""

    parents: npt.NDArray[np.int32]
    """Shape [E]: the element that holds each; -1 for the root."""
    tokens: npt.NDArray[np.uint32]
    """Shape [K]: the crc32 of each element's `t:<tag>` and of `c:<part>` for parts of its class, id, role and
    microdata."""
    token_counts: npt.NDArray[np.uint8]
    """Shape [E]: number of `tokens` of each element: 1 to 8."""
    class_hashes: npt.NDArray[np.uint32]
    """Shape [E]: hash of tag and class, all numbers in it being equal: the same for elements that repeat."""
    flags: npt.NDArray[np.uint16]
    """Shape [E]: `ElementFlag`s of the element and all around it."""
    headings: npt.NDArray[np.uint8]
    """Shape [E]: level of the innermost heading that it is or stands in, else 0."""
    depths: npt.NDArray[np.int32]
    """Shape [E]: depth of the element; 1 for the root."""
    images: npt.NDArray[np.int32]
    """Shape [E]: number of `<img>` within it, but within none of its elements that hold blocks."""
    elements: npt.NDArray[np.int32]
    """Shape [T]: the innermost element that holds each block and is not part of a line."""
    leaves: npt.NDArray[np.uint16]
    """Shape [T]: number of texts of the document in each block."""
    counts: npt.NDArray[np.int32]
    """One number per `TagCount`."""
    declared: Declarations
    links: tuple[str | None, ...]
    """Shape [T]: address of the link that holds most of each block's linked characters, as the page has it;
    None for none."""
    base: str
    """Base that the page declares for its relative addresses; empty without one."""
    url: str
    """URL of the page, else the one that it declares; empty where neither is known."""


@dataclass(frozen=True, slots=True)
class HeadlineSources(PickledByFields):
    """Places of a page that may name its headline, beside `<title>`; empty where there are none."""

    og_title: str = ""
    site_name: str = ""
    """Name of the site in Open Graph."""
    json_ld: str = ""
    """The only headline in JSON-LD."""
    headings: tuple[tuple[int, int, int], ...] = ()
    """The level of each of the first headings, its first block, and the block after its last."""


BULLET = -(2**31)
"""Number of an item with a bullet."""


@dataclass(frozen=True, slots=True)
class SegmentedPage(PickledByFields):
    """The text blocks of a page in DOM order, as columns of equal length T (T may be 0)."""

    title: str
    """Text of `<title>`, white space folded."""
    language: str | None
    """Language that the document declares (`<html lang>`), e.g. `en-GB`."""
    texts: tuple[str, ...]
    """Text of each block, white space folded but for the line breaks of `<pre>`; never empty."""
    paths: tuple[str, ...]
    """Tags from the root to the innermost element that holds the whole block, e.g. `html/body/p`; of more
    than 64 the innermost."""
    linked: tuple[int, ...]
    """Number of characters of the block's text inside links, without white space at a link's ends."""
    boundaries: tuple[int, ...]
    """`Boundary` flags between each block and the one before it."""
    hidden: tuple[bool, ...]
    """True for blocks not shown at first: a tab, an answer to unfold, a dialog."""
    lists_and_tables: npt.NDArray[np.int32] | None = field(default=None, compare=False, repr=False)
    """Shape [2, T]: 1 + the index in `items` of the innermost list item that holds each block, 0 for none;
    and the column of its table cell, from 1 on, 0 for none or where the row is not one line of text."""
    items: npt.NDArray[np.int32] | None = field(default=None, compare=False, repr=False)
    """Shape [2, I]: 1 + the index of the item around each list item, which comes before it, 0 for none; and
    its number, or `BULLET`."""
    struck: npt.NDArray[np.int32] | None = field(default=None, compare=False, repr=False)
    """Shape [3, S]: the block of each struck text, and the characters of its text where it begins and ends;
    None for none."""
    xpaths: tuple[str | None, ...] | None = field(default=None, compare=False, repr=False)
    """XPath of the innermost element that holds each whole block, where blocks are asked for; None for those
    deeper than 64, and of all if the page is not read as it is."""
    structure: Structure | None = field(default=None, compare=False, repr=False)
    """Elements around the blocks, needed to encode; dropped afterwards."""
    headline_sources: HeadlineSources | None = field(default=None, compare=False, repr=False)
    """Sources of the headline beside title and texts."""
    metadata: Metadata | None = None
    """Metadata of the page, where asked for."""
    markup: Markup | None = field(default=None, compare=False, repr=False)
    """Source of the page's Markdown and HTML; None where neither is wanted."""
    tree: DocumentTree | None = field(default=None, compare=False, repr=False)
    """Whole document, where an `Encoding` is made of it; dropped afterwards."""

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True, eq=False)
class StructureTensors(PickledWithArrays):
    """Input of the default model for a page of T blocks in E elements."""

    word_ids: npt.NDArray[np.uint32]
    """Shape [W]: hashed words of each block; the first 18 and the last 6 of more than 24, a 0 for none."""
    word_lengths: npt.NDArray[np.uint8]
    """Shape [T]: number of `word_ids` of each block, at least 1."""
    heading: npt.NDArray[np.int32]
    """Shape [T]: 1 + the index of the heading above each block, or of itself; 0 for none."""
    element: npt.NDArray[np.int32]
    """Shape [T]: 1 + the index of the innermost element that holds each block and is not part of a line."""
    parent: npt.NDArray[np.int32]
    """Shape [E]: 1 + the index of each element's parent, which comes before it; 0 for the root."""
    element_tokens: npt.NDArray[np.uint32]
    """Shape [K]: hashed tag and parts of class, id, role and microdata of each element."""
    element_token_lengths: npt.NDArray[np.uint8]
    """Shape [E]: number of `element_tokens` of each element, at least 1."""
    alike: npt.NDArray[np.int32]
    """Shape [T]: the first block whose four innermost elements have the same tags and classes, or itself."""
    features: npt.NDArray[np.uint8]
    """Shape [T, len(BLOCK_FEATURES)]: see `dehusk.inference.encoding.features`."""
    page_features: npt.NDArray[np.uint8]
    """Shape [len(PAGE_FEATURES)]."""
    links: npt.NDArray[np.uint8]
    """Shape [T, len(LINK_FEATURES)]."""
    address: npt.NDArray[np.uint8]
    """Shape [len(ADDRESS_FEATURES)]."""


@dataclass(frozen=True, slots=True, eq=False)
class Web2TextTensors(PickledWithArrays):
    """Input of Web2Text for a page of T blocks."""

    block_features: npt.NDArray[np.float16]
    """Shape [T, 128]: see `dehusk.inference.encoding.web2text.features`."""
    edge_features: npt.NDArray[np.float16]
    """Shape [T, 21]: of each block with the one before it, without their distance; zeros for the first."""
    distances: npt.NDArray[np.uint8]
    """Shape [T]: the hops from each block to the one before it, 2 to 4, or 5 for more; 0 for the first."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenTensors(PickledWithArrays):
    """Input of BoilerNet for a page of T blocks of N tokens in all."""

    ids: npt.NDArray[np.uint32]
    """Shape [N]: tokens (tags, words, punctuation) of all blocks, one block after the other."""
    block_lengths: npt.NDArray[np.uint16]
    """Shape [T]: number of `ids` of each block; at least 1; sums to N."""


@dataclass(frozen=True, slots=True, eq=False)
class SiteKeys(PickledWithArrays):
    """Keys by which a page of T blocks is counted for its site."""

    texts: npt.NDArray[np.uint64]
    """Shape [T]: 64-bit hash of each block's normalised text."""
    structures: npt.NDArray[np.uint64]
    """Shape [T]: 64-bit hash of the tags and classes around each block, equal where these repeat."""
    title_parts: npt.NDArray[np.uint64]
    """Shape [P]: 64-bit hashes of the parts of the page's title."""


class Encoding(StrEnum):
    """Optional part of an `EncodedPage`, the field of this name, computed only where it is read."""

    TOKENS = "tokens"
    BOILERPIPE = "boilerpipe"
    DECLUTTER = "declutter"
    WEB2TEXT = "web2text"
    SITE_KEYS = "site_keys"


OF_TREE = frozenset((Encoding.BOILERPIPE, Encoding.DECLUTTER, Encoding.WEB2TEXT))
"""Encodings made of `SegmentedPage.tree`."""


def needs_tree(encodings: Collection[Encoding]) -> bool:
    """Return True if one of the encodings is made of `SegmentedPage.tree`."""
    return not OF_TREE.isdisjoint(encodings)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPage(PickledWithArrays):
    """A segmented page as the tensors of labelers; T blocks."""

    words: npt.NDArray[np.uint32]
    """Shape [T]: words per block."""
    linked_words: npt.NDArray[np.uint32]
    """Shape [T]: words per block inside links, at most `words`."""
    hidden: npt.NDArray[np.bool_]
    """Shape [T]: `SegmentedPage.hidden`."""
    repeat: npt.NDArray[np.int32]
    """Shape [T]: earlier block that each repeats, within a run of at least 30 words; -1 for none, and for
    cells that repeat a cell of the same kind."""
    structure: StructureTensors | None = None
    """None if only the texts and paths of the page are known."""
    alike: npt.NDArray[np.int32] | None = field(default=None, kw_only=True)
    """Shape [T]: `StructureTensors.alike`, kept when the other tensors are dropped."""
    headings: npt.NDArray[np.bool_] | None = field(default=None, kw_only=True)
    """Shape [T]: True for headings, as `StructureTensors.heading` has them; None if only texts and paths are
    known."""
    link_lists: npt.NDArray[np.int32] | None = field(default=None, kw_only=True)
    """Shape [2, L]: first block, and the one after the last, of each list of links alone that follows a block
    in the same element; None where there is none."""
    site_keys: SiteKeys | None = field(default=None, kw_only=True)
    """Keys of its counts; None where the site's pages are not counted."""
    tokens: TokenTensors | None = field(default=None, kw_only=True)
    """Input of BoilerNet; None where it was not asked for."""
    web2text: Web2TextTensors | None = field(default=None, kw_only=True)
    """Input of Web2Text; None where it was not asked for."""
    boilerpipe: npt.NDArray[np.float32] | None = field(default=None, kw_only=True)
    """Shape [2, T], `Encoding.BOILERPIPE`: share of each block in content, by number of words and by text
    density."""
    declutter: npt.NDArray[np.float32] | None = field(default=None, kw_only=True)
    """Shape [T], `Encoding.DECLUTTER`: share of each block that decluttering leaves."""

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True)
class ModelVersion(PickledByFields):
    """Model that answered."""

    name: str
    version: str


PAGE_KINDS = ("article", "collection", "documentation", "forum", "listing", "product", "service")
"""Kinds of page that a model may tell, in the order of their probabilities; part of its signature."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction(PickledWithArrays):
    """A labeler's answer for one page."""

    probabilities: npt.NDArray[np.float32]
    """Shape [T]: probability that each block is content, in [0, 1]."""
    model: ModelVersion
    labeler: str
    """`triton`, `onnx`, or the name of a labeler without a model, as `rules`."""
    comments: npt.NDArray[np.float32] | None = None
    """Shape [T]: probability that each block is a user comment that is no content; None if the labeler does
    not predict it."""
    page_kinds: npt.NDArray[np.float32] | None = None
    """Shape [len(PAGE_KINDS)]: probability of each kind of page; None if the labeler does not predict it, or
    the page has no blocks."""
    uncorrected: npt.NDArray[np.float32] | None = None
    """Shape [T]: the labeler's own probabilities, if `probabilities` are corrected by the statistics of the
    site; else None."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPage(PickledByFields):
    """A page ready to be labeled, without its HTML."""

    identity: PageIdentity
    segmented: SegmentedPage
    encoded: EncodedPage
