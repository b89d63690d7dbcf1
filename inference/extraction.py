"""Labeled blocks as a cleaned document."""

import numpy as np

from dehusk.inference.choice import Choice, choose
from dehusk.inference.cleaning import PreparedPage
from dehusk.inference.duplicates import content_hash, similarity_hash
from dehusk.inference.html import html
from dehusk.inference.language import language_of
from dehusk.inference.markdown import markdown
from dehusk.inference.outline import outline
from dehusk.inference.plain_text import plain_text
from dehusk.schemas.documents import CleanedBlock, CleanedDocument, Comments, Origin, Template
from dehusk.schemas.pages import BlockFrequencies, Prediction, SegmentedPage
from dehusk.schemas.rendering import NO_RENDERING, Rendering


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
    rendering: Rendering = NO_RENDERING,
) -> CleanedDocument:
    """The document of a page: the blocks that are chosen as its content, or only the shown ones of them."""
    choice = choose(page.encoded, labels, drop_hidden=drop_hidden, comments=comments)
    return document_of(
        page,
        labels,
        choice,
        frequencies,
        origin=origin,
        degraded=degraded,
        with_blocks=with_blocks,
        comments=comments,
        rendering=rendering,
    )


def document_of(
    page: PreparedPage,
    labels: Prediction,
    choice: Choice,
    frequencies: BlockFrequencies | None,
    *,
    origin: Origin | None,
    degraded: tuple[str, ...],
    with_blocks: bool,
    comments: Comments,
    rendering: Rendering = NO_RENDERING,
) -> CleanedDocument:
    """The document of a page whose blocks are chosen."""
    identity, segmented = page.identity, page.segmented
    tree = outline(segmented, choice.content, identity.url, rendering) if rendering.needs_markup else None
    text = plain_text(segmented, choice.content)
    declared = segmented.language or identity.language
    tells_comments = comments is Comments.SEPARATE and labels.comments is not None
    return CleanedDocument(
        id=identity.id,
        url=identity.url,
        site=identity.site,
        fetched_at=identity.fetched_at,
        title=segmented.title,
        text=text,
        comments=plain_text(segmented, choice.comment) if tells_comments else None,
        language=language_of(text, declared),
        raw_length=identity.raw_length,
        text_length=len(text),
        model=labels.model,
        labeler=labels.labeler,
        degraded=degraded,
        template=_template(choice, frequencies),
        source=origin,
        declared_language=declared,
        content_hash=content_hash(text),
        simhash=similarity_hash(text),
        metadata=segmented.metadata,
        blocks=_blocks(segmented, choice, frequencies) if with_blocks else None,
        markdown=markdown(tree) if rendering.markdown and tree is not None else None,
        html=html(tree) if rendering.html and tree is not None else None,
    )


def _blocks(
    segmented: SegmentedPage, choice: Choice, frequencies: BlockFrequencies | None
) -> tuple[CleanedBlock, ...]:
    counts = [None] * len(segmented) if frequencies is None else frequencies.counts.tolist()
    labels = (each.tolist() for each in (choice.probabilities, choice.content, choice.comment))
    columns = zip(segmented.texts, segmented.paths, *labels, counts, strict=True)
    return tuple(CleanedBlock(*column) for column in columns)


def _template(choice: Choice, frequencies: BlockFrequencies | None) -> Template | None:
    if frequencies is None:
        return None
    matched, dropped, saved = (
        int(np.count_nonzero(each)) for each in (frequencies.counts > 1, choice.dropped, choice.saved)
    )
    return Template(frequencies.pages_seen, matched, dropped, saved)
