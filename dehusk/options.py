"""Options of `dehusk.extract` and `dehusk.extract_many`: those of `dehusk.Extractor`, as a type."""

from pathlib import Path
from typing import Literal, TypedDict

from dehusk.schemas.documents import Comments, HeadlineTreatment
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import Duplicates, Favor


class Options(TypedDict, total=False):
    """Options of an `Extractor`, whose documentation explains them."""

    labeler: str
    model: str
    model_version: str
    model_repository: Path | str
    comments: Comments | Literal["separate", "include", "drop"]
    hidden_text: Literal["model", "drop"]
    headline: HeadlineTreatment | Literal["separate", "include"]
    metadata: MetadataLevel | Literal["none", "fast", "full"]
    duplicates: Duplicates | Literal["simhash", "minhash", "none"]
    favor: Favor | Literal["balance", "precision", "recall"]
    exclude: str
    with_blocks: bool
    with_links: bool
    with_markdown: bool
    with_html: bool
    links: bool
    images: bool
    tables: bool
    max_page_bytes: int
    max_page_blocks: int
