"""Labeled blocks as a cleaned document."""

from collections.abc import Sequence

import numpy as np

from inference.cleaning import PreparedPage
from inference.plain_text import plain_text
from inference.selection import select
from schemas.documents import CleanedBlock, CleanedDocument, Origin, Template
from schemas.pages import BlockFrequencies, Prediction, SegmentedPage

_DIGITS = 4
"""Decimals of a published probability: fewer than a labeler's, so that the same page gives the same bytes."""


def extract(
    page: PreparedPage,
    labels: Prediction,
    frequencies: BlockFrequencies | None,
    *,
    origin: Origin | None = None,
    degraded: tuple[str, ...] = (),
    with_blocks: bool = False,
    drop_hidden: bool = False,
) -> CleanedDocument:
    """The document of a page: the blocks that are selected as its content, or only the shown ones of them."""
    identity, segmented = page.identity, page.segmented
    probabilities = labels.probabilities.astype(np.float64).round(_DIGITS)
    shown = ~page.encoded.hidden if drop_hidden else np.ones(len(probabilities), np.bool_)
    content = (shown & select(probabilities * shown, page.encoded.words, page.encoded.repeat)).tolist()
    text = plain_text(segmented, content)
    return CleanedDocument(
        id=identity.id,
        url=identity.url,
        site=identity.site,
        fetched_at=identity.fetched_at,
        title=segmented.title,
        text=text,
        language=segmented.language or identity.language,
        raw_length=identity.raw_length,
        text_length=len(text),
        model=labels.model,
        labeler=labels.labeler,
        degraded=degraded,
        template=_template(frequencies),
        source=origin,
        blocks=_blocks(segmented, probabilities.tolist(), content, frequencies) if with_blocks else None,
    )


def _blocks(
    segmented: SegmentedPage,
    probabilities: Sequence[float],
    content: Sequence[bool],
    frequencies: BlockFrequencies | None,
) -> tuple[CleanedBlock, ...]:
    counts = [None] * len(segmented) if frequencies is None else frequencies.counts.tolist()
    columns = zip(segmented.texts, segmented.paths, probabilities, content, counts, strict=True)
    return tuple(CleanedBlock(*column) for column in columns)


def _template(frequencies: BlockFrequencies | None) -> Template | None:
    if frequencies is None:
        return None
    return Template(frequencies.pages_seen, int(np.count_nonzero(frequencies.counts > 1)))
