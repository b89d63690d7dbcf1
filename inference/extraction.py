"""The cleaned document of a labeled page."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.document.addresses import Addresses
from dehusk.inference.document.blocks import Block, Group, Heading, Line, Paragraph
from dehusk.inference.document.duplicates import duplicate_keys
from dehusk.inference.document.html import html
from dehusk.inference.document.language import language_of
from dehusk.inference.document.markdown import markdown
from dehusk.inference.document.outline import outline
from dehusk.inference.document.text import plain_text
from dehusk.inference.labelers.labeler import LOCAL_LABELERS
from dehusk.inference.language_codes import primary_language
from dehusk.inference.metadata.headline import find_headline, heading_blocks
from dehusk.inference.metadata.titles import readable, same_text
from dehusk.inference.selection.selection import Choice, calibrate, choose
from dehusk.schemas.documents import (
    CleanedBlock,
    CleanedDocument,
    Comments,
    DocumentLink,
    HeadlineTreatment,
    Origin,
    Template,
)
from dehusk.schemas.markup import Mark
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.schemas.pages import PAGE_KINDS, Prediction, PreparedPage, SegmentedPage
from dehusk.schemas.sites import BlockFrequencies

_DIGITS = 3
"""Decimals of an expected F1, and of the probability of a kind."""

_MAX_LINKS = 5_000
"""Limit of the links of a document."""
_MAX_ADDRESS = 2_048
"""Characters of the longest address of one of them."""


def extract(
    page: PreparedPage,
    labels: Prediction,
    frequencies: BlockFrequencies | None = None,
    options: DocumentOptions = DEFAULT_OPTIONS,
    *,
    origin: Origin | None = None,
    degraded: tuple[str, ...] = (),
) -> CleanedDocument:
    """Return the document of a page, with the blocks that are chosen as its content."""
    choice = choose(page.encoded, labels, options)
    return document_of(page, labels, choice, frequencies, options, origin=origin, degraded=degraded)


def document_of(
    page: PreparedPage,
    labels: Prediction,
    choice: Choice,
    frequencies: BlockFrequencies | None = None,
    options: DocumentOptions = DEFAULT_OPTIONS,
    *,
    origin: Origin | None = None,
    degraded: tuple[str, ...] = (),
) -> CleanedDocument:
    """Return the document of a page whose blocks are chosen."""
    identity, segmented, rendering = page.identity, page.segmented, options.rendering
    tree = outline(segmented, choice.content, identity.url, rendering) if rendering.needs_markup else None
    headline = find_headline(segmented, identity.url, frequencies)
    text = plain_text(segmented, choice.content)
    if headline is not None and options.headline is HeadlineTreatment.INCLUDE:
        text = _text_with_headline(text, headline, segmented, choice.content)
    if headline is not None and tree is not None:
        _begin_with_headline(tree, headline)
    keys = duplicate_keys(text, options.duplicates)
    declared = segmented.language or identity.language
    language = language_of(text, primary_language(declared))
    tells_comments = options.comments is Comments.SEPARATE and labels.comments is not None
    kind, kind_probability = page_kind(labels)
    return CleanedDocument(
        id=identity.id,
        url=identity.url,
        site=identity.site,
        fetched_at=identity.fetched_at,
        title=readable(segmented.title),
        text=text,
        comments=plain_text(segmented, choice.comment) if tells_comments else None,
        language=language.code,
        raw_length=identity.raw_length,
        text_length=len(text),
        model=labels.model,
        labeler=labels.labeler,
        degraded=degraded,
        template=_template(choice, frequencies),
        source=origin,
        headline=headline,
        declared_language=declared,
        language_probability=language.probability,
        content_hash=keys.content_hash,
        simhash=keys.simhash,
        minhash=keys.minhash,
        metadata=segmented.metadata,
        expected_f1=_expected_f1(choice, labels, text),
        page_kind=kind,
        page_kind_probability=kind_probability,
        blocks=_blocks(segmented, choice, frequencies) if options.with_blocks else None,
        links=_links(segmented, choice, identity.url) if options.with_links else None,
        markdown=markdown(tree) if rendering.markdown and tree is not None else None,
        html=html(tree) if rendering.html and tree is not None else None,
    )


def _text_with_headline(text: str, headline: str, page: SegmentedPage, content: npt.NDArray[np.bool_]) -> str:
    """Return the text of a page's kept blocks below a headline, unless these have it or there are none.

    They have it if the first one, or a heading, says the same; `content` has shape [T].
    """
    if not text:
        return text
    candidates = [[int(content.argmax())]]
    if page.headline_sources is not None:
        headings = page.headline_sources.headings
        candidates += [heading_blocks(page, first, end) for _, first, end in headings]
    has_it = any(
        content[blocks].all() and same_text(" ".join(page.texts[at] for at in blocks), headline)
        for blocks in candidates
    )
    return text if has_it else f"{headline}\n\n{text}"


def _begin_with_headline(root: Group, headline: str) -> None:
    """Let an outline begin with a headline, of level 1; one without blocks stays empty.

    If the first heading, or else the first line, says the same, it is this one.
    """
    if not root.children:
        return
    first = next((index for index, block in enumerate(root.children) if isinstance(block, Heading)), 0)
    line = _line_of(root.children[first])
    if line is not None and same_text(line.text, headline):
        del root.children[first]
    else:
        line = Line(headline)
    root.children.insert(0, Heading(1, line))


def _line_of(block: Block) -> Line | None:
    """Return the line that a block consists of, if it is a heading or a paragraph of one."""
    if isinstance(block, Heading):
        return block.line
    return block.lines[0] if isinstance(block, Paragraph) and len(block.lines) == 1 else None


def _expected_f1(choice: Choice, labels: Prediction, text: str) -> float | None:
    """Return the expected F1 of a text, which only a model's probabilities tell; None where it is empty."""
    if choice.expected_f1 is None or not text or labels.labeler in LOCAL_LABELERS:
        return None
    return round(calibrate(choice.expected_f1), _DIGITS)


def page_kind(labels: Prediction) -> tuple[str | None, float | None]:
    """Return the likeliest kind of a page and its probability; None where the labeler does not tell it."""
    if labels.page_kinds is None:
        return None, None
    likeliest = int(labels.page_kinds.argmax())
    return PAGE_KINDS[likeliest], min(round(float(labels.page_kinds[likeliest]), _DIGITS), 1.0)


def _blocks(
    segmented: SegmentedPage, choice: Choice, frequencies: BlockFrequencies | None
) -> tuple[CleanedBlock, ...]:
    counts = [None] * len(segmented) if frequencies is None else frequencies.counts.tolist()
    labels = (each.tolist() for each in (choice.probabilities, choice.content, choice.comment))
    xpaths = [None] * len(segmented) if segmented.xpaths is None else segmented.xpaths
    columns = zip(segmented.texts, segmented.paths, *labels, counts, xpaths, strict=True)
    return tuple(CleanedBlock(*column) for column in columns)


def _links(page: SegmentedPage, choice: Choice, url: str) -> tuple[DocumentLink, ...]:
    """Return the first links of the chosen blocks that a reader may follow; `url` is the page's.

    Raises:
        ValueError: the page came without its markup.
    """
    if page.markup is None:
        raise ValueError("links are read from a page's markup, which this one came without")
    addresses, strings = Addresses(url, page.markup.base), page.markup.strings
    links: list[DocumentLink] = []
    for block, start, end, kind, string in page.markup.marks.T.tolist():
        text = page.texts[block][start:end].strip()
        if kind != Mark.LINK or not text or not choice.content[block]:
            continue
        address = addresses.of_link(strings[string])
        if address is not None and len(address) <= _MAX_ADDRESS:
            links.append(DocumentLink(address, text, block))
            if len(links) == _MAX_LINKS:
                break
    return tuple(links)


def _template(choice: Choice, frequencies: BlockFrequencies | None) -> Template | None:
    if frequencies is None:
        return None
    matched, dropped, saved = (
        int(np.count_nonzero(each)) for each in (frequencies.counts > 1, choice.dropped, choice.saved)
    )
    return Template(frequencies.pages_seen, matched, dropped, saved)
