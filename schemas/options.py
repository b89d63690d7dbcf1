"""Options of cleaned documents, as every command, the worker and the Python interface have them."""

from dataclasses import dataclass
from enum import StrEnum

from dehusk.schemas.documents import Comments, HeadlineTreatment
from dehusk.schemas.metadata import MetadataLevel


class Duplicates(StrEnum):
    """Key by which near-duplicates are found, beside the hash of the text, by which equal texts are."""

    SIMHASH = "simhash"
    """64 bits: little to store, and finds texts with few changes."""
    MINHASH = "minhash"
    """512 bytes: finds texts that share most of their runs of words."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Rendering:
    """Markdown and HTML of a document, and what is left out of them; its text has all."""

    markdown: bool = False
    html: bool = False
    links: bool = True
    """True if links have addresses; their texts are kept anyhow."""
    images: bool = True
    tables: bool = True
    """True if tables are kept; what a table lays out is no table."""

    @property
    def needs_markup(self) -> bool:
        """True if either is asked for."""
        return self.markdown or self.html


NO_RENDERING = Rendering()
"""Neither Markdown nor HTML."""


class Favor(StrEnum):
    """Bias of the choice of content, where the labeler is unsure."""

    BALANCE = "balance"
    """Text that is missed weighs as much as text that is wrong."""
    PRECISION = "precision"
    """Less text, and less of it wrong."""
    RECALL = "recall"
    """More text, and less of it missed."""

    @property
    def beta(self) -> float:
        """Weight of recall in the expected F-beta that the chosen blocks maximise."""
        return {Favor.BALANCE: 1.0, Favor.PRECISION: 0.5, Favor.RECALL: 2.0}[self]


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """Contents of the documents that pages become."""

    with_blocks: bool = False
    """True if documents list every block with its label."""
    with_links: bool = False
    """True if documents list the links of their text."""
    drop_hidden: bool = False
    """True if text that a page hides at first is left out, whatever the model says."""
    comments: Comments = Comments.SEPARATE
    """Treatment of user comments."""
    headline: HeadlineTreatment = HeadlineTreatment.SEPARATE
    """Treatment of the headline."""
    metadata: MetadataLevel = MetadataLevel.FULL
    """Depth of the search for metadata."""
    duplicates: Duplicates = Duplicates.SIMHASH
    """Key by which near-duplicates are found."""
    rendering: Rendering = NO_RENDERING
    """Markdown and HTML that documents have beside their text."""
    favor: Favor = Favor.BALANCE
    """Bias between missed and wrong text."""
    exclude: str = ""
    """CSS selector of elements that are taken for absent; empty for none."""

    @property
    def needs_markup(self) -> bool:
        """True if pages must come with their markup."""
        return self.with_links or self.rendering.needs_markup


DEFAULT_OPTIONS = DocumentOptions()
WITHOUT_METADATA = DocumentOptions(metadata=MetadataLevel.NONE)
