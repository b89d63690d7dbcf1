"""Pages that somebody else cut into text blocks: lines of `{"id", "blocks": [{"path", "text", "label"}]}`."""

from collections.abc import Mapping, Sequence
from typing import Any

from dehusk.inference.elements import MAX_PATH
from dehusk.schemas.pages import SegmentedPage

Block = Mapping[str, Any]
"""Its `path`, the tags from the root to the text, its `text`, and 1 as its `label` where it is content."""

CONTENT_PROBABILITY = 0.5
"""The probability from which a block is labeled as content."""


def has_text(block: Block) -> bool:
    """Whether a block holds more than white space; BoilerNet knows no others."""
    return bool(block["text"].strip())


def segmented(blocks: Sequence[Block]) -> SegmentedPage:
    """The blocks, each of which has text, as the segments of a page of which nothing else is known."""
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
