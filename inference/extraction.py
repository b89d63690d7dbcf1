"""Labelled blocks as a cleaned document."""

from collections.abc import Sequence

import numpy as np

from schemas.documents import CleanedBlock, CleanedDocument, Origin, Template
from schemas.pages import BlockFrequencies, Boundary, Labels, PageIdentity, SegmentedPage

CONTENT_THRESHOLD = 0.5
"""The probability from which a block is content."""

_DIGITS = 4
"""Decimals of a published probability: fewer than a labeler's, so that the same page gives the same bytes."""


def extract(
    page: PageIdentity,
    segmented: SegmentedPage,
    labels: Labels,
    frequencies: BlockFrequencies | None,
    *,
    origin: Origin | None = None,
    degraded: tuple[str, ...] = (),
    with_blocks: bool = False,
    threshold: float = CONTENT_THRESHOLD,
) -> CleanedDocument:
    """The document of a page: its blocks whose probability is at least the threshold."""
    blocks = _blocks(segmented, labels, frequencies, threshold)
    text = plain_text(blocks, segmented.boundaries)
    return CleanedDocument(
        id=page.id,
        url=page.url,
        site=page.site,
        fetched_at=page.fetched_at,
        title=segmented.title,
        text=text,
        language=segmented.language or page.language,
        raw_length=page.raw_length,
        text_length=len(text),
        model=labels.model,
        labeler=labels.labeler,
        degraded=degraded,
        template=_template(frequencies),
        source=origin,
        blocks=tuple(blocks) if with_blocks else None,
    )


def plain_text(blocks: Sequence[CleanedBlock], boundaries: Sequence[int]) -> str:
    """The content blocks as lines: blank lines between paragraphs, tabs between cells, `- ` before items."""
    parts: list[str] = []
    passed = 0
    for block, boundary in zip(blocks, boundaries, strict=True):
        passed |= boundary
        if block.content:
            if parts:
                parts.append(_separator(passed))
            if passed & Boundary.ITEM:
                parts.append("- ")
            parts.append(block.text)
            passed = 0
    return "".join(parts)


def _separator(passed: int) -> str:
    if passed & Boundary.CELL and not passed & Boundary.ROW:
        return "\t"
    return "\n\n" if passed & Boundary.PARAGRAPH else "\n"


def _blocks(
    segmented: SegmentedPage, labels: Labels, frequencies: BlockFrequencies | None, threshold: float
) -> list[CleanedBlock]:
    probabilities = np.round(labels.probabilities.astype(np.float64), _DIGITS).tolist()
    counts = [None] * len(segmented) if frequencies is None else frequencies.counts.tolist()
    return [
        CleanedBlock(text, path, probability, probability >= threshold, count)
        for text, path, probability, count in zip(
            segmented.texts, segmented.paths, probabilities, counts, strict=True
        )
    ]


def _template(frequencies: BlockFrequencies | None) -> Template | None:
    if frequencies is None:
        return None
    return Template(frequencies.pages_seen, int(np.count_nonzero(frequencies.counts > 1)))
