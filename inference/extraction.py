"""Labeled blocks as a cleaned document."""

import numpy as np
import numpy.typing as npt

from inference.cleaning import PreparedPage
from inference.native.choosing import rounded
from inference.plain_text import plain_text
from inference.selection import likely_comments, select
from schemas.documents import CleanedBlock, CleanedDocument, Comments, Origin, Template
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
    comments: Comments = Comments.SEPARATE,
) -> CleanedDocument:
    """The document of a page: the blocks that are selected as its content, or only the shown ones of them."""
    identity, segmented = page.identity, page.segmented
    probabilities = rounded(labels.probabilities, _DIGITS)
    encoded = page.encoded
    likely = probabilities * ~encoded.hidden if drop_hidden else probabilities
    alike = encoded.alike
    content = select(likely, encoded.words, encoded.repeat, labels.comments, alike)
    is_comment = likely_comments(probabilities, labels.comments, encoded.words, alike) & ~content
    if drop_hidden:
        content &= ~encoded.hidden
        is_comment &= ~encoded.hidden
    if comments is Comments.INCLUDE:
        content |= is_comment
    text = plain_text(segmented, content)
    tells_comments = comments is Comments.SEPARATE and labels.comments is not None
    return CleanedDocument(
        id=identity.id,
        url=identity.url,
        site=identity.site,
        fetched_at=identity.fetched_at,
        title=segmented.title,
        text=text,
        comments=plain_text(segmented, is_comment) if tells_comments else None,
        language=segmented.language or identity.language,
        raw_length=identity.raw_length,
        text_length=len(text),
        model=labels.model,
        labeler=labels.labeler,
        degraded=degraded,
        template=_template(frequencies),
        source=origin,
        blocks=_blocks(segmented, probabilities, content, is_comment, frequencies) if with_blocks else None,
    )


def _blocks(
    segmented: SegmentedPage,
    probabilities: npt.NDArray[np.float64],
    content: npt.NDArray[np.bool_],
    comment: npt.NDArray[np.bool_],
    frequencies: BlockFrequencies | None,
) -> tuple[CleanedBlock, ...]:
    counts = [None] * len(segmented) if frequencies is None else frequencies.counts.tolist()
    labels = (each.tolist() for each in (probabilities, content, comment))
    columns = zip(segmented.texts, segmented.paths, *labels, counts, strict=True)
    return tuple(CleanedBlock(*column) for column in columns)


def _template(frequencies: BlockFrequencies | None) -> Template | None:
    if frequencies is None:
        return None
    return Template(frequencies.pages_seen, int(np.count_nonzero(frequencies.counts > 1)))
