"""Options of `dehusk.extract` and `dehusk.extract_many`: those of `dehusk.Extractor`, as a type."""

from pathlib import Path
from typing import Literal, TypedDict

from dehusk.schemas.documents import Comments, HeadlineTreatment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import Duplicates, Favor
from dehusk.streams.settings import MIB, MOST_COUNT

MOST_BYTES = MOST_COUNT * MIB
"""The largest limit of the size of a page, as the command line has it."""


def whole_number(option: str, value: int, most: int = MOST_COUNT) -> int:
    """Return the value of an option.

    Raises:
        ConfigurationError: it is no number from 1 to the most.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ConfigurationError(f"{option} is {value!r}; it is a number from 1 to {most:,}")
    return value


class Options(TypedDict, total=False):
    """Options of an `Extractor`, whose documentation explains them."""

    labeler: str
    model: str
    model_version: str | int
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
