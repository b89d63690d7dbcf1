"""Tasks of the inspector in the processes of `streams.preparation.pool`, as a page may be hostile.

A message is decoded to pages; a page is prepared; its own HTML is made harmless; its labels are explained.
"""

import json
import pickle
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

import numpy as np

from dehusk.inference.document.language import load_model
from dehusk.inference.extraction import document_of
from dehusk.inference.metadata.headline import find_headline
from dehusk.inference.selection.reasons import Explanation, Reason, explain
from dehusk.schemas.documents import CleanedDocument
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions, Rendering
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, Tombstone
from dehusk.schemas.pages import (
    BULLET,
    Boundary,
    Encoding,
    Message,
    Prediction,
    PreparedPage,
    RawPage,
    SegmentedPage,
)
from dehusk.streams.inspection.original import Piece, ShownPage, pieces, sanitize
from dehusk.streams.preparation.steps import PackedPage, Postponed, Preparer, decode
from dehusk.streams.sources.page import offline_page
from dehusk.streams.sources.registry import SourceSettings, open_source
from dehusk.streams.sources.source import Decoded

_MARKDOWN = Rendering(markdown=True)
_BEGINNINGS = (
    (Boundary.PARAGRAPH, "paragraph"),
    (Boundary.ROW, "row"),
    (Boundary.CELL, "cell"),
    (Boundary.LINE, "line"),
)
_LOOKS = re.compile(r"(?:^|/)(h[1-6]|pre|td|th|li|blockquote)(?=/|$)")
_LISTS = {"ul", "ol", "menu", "dir"}
_MAX_DEPTH = 8
"""Depth up to which lists within lists are indented further."""


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block as the inspector shows it."""

    text: str
    path: str
    kind: str
    """`h1` to `h6`, `pre`, `th`, `td`, `li`, `blockquote`, or `p` for all else."""
    begins: str
    """`paragraph`, `row`, `cell` or `line` that begins with it; empty within a line."""
    depth: int
    """Number of lists around it."""
    marker: str
    """Bullet or number of the list item that begins with it."""
    hidden: bool


def shown_blocks(page: SegmentedPage) -> list[ShownBlock]:
    """Return all blocks of a page, in order."""
    columns = zip(page.texts, page.paths, page.boundaries, page.hidden, _markers(page), strict=True)
    return [
        ShownBlock(text, path, _kind(path), _begins(boundary), _depth(path), marker, hidden)
        for text, path, boundary, hidden, marker in columns
    ]


def _kind(path: str) -> str:
    """Return the innermost element of a path with a look of its own; a heading first of all."""
    found: list[str] = _LOOKS.findall(path)
    headings = [name for name in found if name[1:].isdigit()]
    return (headings or found or ["p"])[-1]


def _begins(boundary: int) -> str:
    return next((name for flag, name in _BEGINNINGS if boundary & flag), "")


def _depth(path: str) -> int:
    return min(sum(tag in _LISTS for tag in path.split("/")), _MAX_DEPTH)


def _markers(page: SegmentedPage) -> list[str]:
    """Return the bullet or number of the list item that begins with each block; empty without one."""
    if page.lists_and_tables is None or page.items is None:
        return [""] * len(page)
    markers, seen = [], set()
    for item in page.lists_and_tables[0].tolist():
        is_first = item > 0 and item not in seen
        seen.add(item)
        number = int(page.items[1, item - 1]) if is_first else 0
        markers.append("" if not is_first else "•" if number == BULLET else f"{number}.")
    return markers


_MAX_ORIGINAL = 24 << 20
"""Characters of the largest page that is shown as it looked."""
_DIGITS = 4
_SENTENCES = {
    Reason.LIKELY: "Content: it reaches {least}, from which on this page's blocks are content.",
    Reason.THREAD: "A user comment, kept as content: the page has nothing but comments.",
    Reason.INCLUDED: "A user comment, part of the text as --comments include asks.",
    Reason.COMMENT: "A user comment: likely to be one, and not likely to be content.",
    Reason.HEADING: "Content: a heading that does not reach {least}, between blocks that are content.",
    Reason.LIST: "Content: in a list of links that does not reach {least}, between blocks that are content.",
    Reason.SYMBOLS: "Content: it has no words, and does not reach {least}, between blocks that are content.",
    Reason.UNLIKELY: "Left out: it does not reach {least}, from which on this page's blocks are content.",
    Reason.REPEAT: "Left out: it repeats what block {copy} says, which is kept.",
    Reason.HIDDEN: "Left out: the page hides it at first, and --hidden-text drop asks for it.",
    Reason.NO_CONTENT: "Left out: no block of this page is likely enough for it to have any content.",
}
_KINDS = {
    Reason.LIKELY: "content",
    Reason.HEADING: "content",
    Reason.LIST: "content",
    Reason.SYMBOLS: "content",
    Reason.THREAD: "content",
    Reason.INCLUDED: "comment",
    Reason.COMMENT: "comment",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """Task of decoding a message, answered by a tuple of `Decoded`, or by `Postponed`."""

    message: Message


@dataclass(frozen=True, slots=True)
class Pasting:
    """Task of reading pasted HTML in UTF-8, answered by a `Decoded`."""

    html: bytes
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Preparing:
    """Task of preparing a page, answered by an `OpenedPage`, or by why there is none."""

    page: Decoded
    encodings: frozenset[Encoding] = frozenset(Encoding)


@dataclass(frozen=True, slots=True)
class Showing:
    """Task of making a page's HTML harmless, answered by a `ShownPage`, or by `Broken`."""

    html: bytes
    blocks: tuple[str, ...]
    url: str = ""


@dataclass(frozen=True, slots=True)
class Explaining:
    """Task of explaining the labels of a page, answered by JSON, or by `Broken`."""

    packed: bytes
    labels: Prediction
    options: DocumentOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True)
class OpenedPage:
    """A page that can be labeled, and its part of a view that does not depend on labels."""

    packed: PackedPage
    texts: tuple[str, ...]
    json: str
    """An object of `title`, `url`, `bytes` and `blocks`."""


Task = Reading | Pasting | Preparing | Showing | Explaining
Answer = OpenedPage | ShownPage | Decoded | Postponed | Sequence[Decoded] | str
_Made = TypeVar("_Made")


def open_inspector(
    source: str, settings: SourceSettings, max_blocks: int, exclude: str = ""
) -> Callable[[Task], Answer]:
    """Open what answers tasks in a process."""
    load_model()
    declared = open_source(source, settings)
    options = DocumentOptions(metadata=MetadataLevel.NONE, rendering=_MARKDOWN, exclude=exclude)
    preparer = Preparer(max_blocks, options)

    def answer(task: Task) -> Answer:
        match task:
            case Reading(message):
                pages = decode(declared, message)
                return pages if isinstance(pages, Postponed) else tuple(pages)
            case Pasting(html, max_bytes):
                text = html.decode("utf-8", "replace")
                return offline_page(url="", body=text, source="html", max_bytes=max_bytes)
            case Preparing():
                return _opened(task, preparer)
            case Showing():
                return _guarded(lambda: _shown(task))
            case Explaining():
                return _guarded(lambda: _explained(task))

    return answer


def _guarded(make: Callable[[], _Made]) -> _Made | Broken:
    """Make a part of a view; an error of a page ends this step alone."""
    try:
        return make()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001
        return Broken(BrokenReason.INTERNAL_ERROR, f"{type(error).__name__}: {error}")


def _opened(task: Preparing, preparer: Preparer) -> OpenedPage | Skipped | Broken | Tombstone:
    page = task.page
    if not isinstance(page, RawPage):
        return page
    outcome = preparer.prepare(page, task.encodings)
    if not isinstance(outcome, PackedPage):
        return outcome
    prepared: PreparedPage = pickle.loads(outcome.packed)  # noqa: S301 this process packed it
    segmented = prepared.segmented
    shown = {
        "title": find_headline(segmented, page.url) or segmented.title,
        "url": page.url,
        "bytes": len(page.html),
        "encoding": page.encoding,
        "source": page.source,
        "blocks": [asdict(block) for block in shown_blocks(segmented)],
    }
    return OpenedPage(outcome, segmented.texts, json.dumps(shown))


def _shown(task: Showing) -> ShownPage | Broken:
    shown = sanitize(task.html, task.blocks, task.url)
    if len(shown.html) > _MAX_ORIGINAL:
        return Broken(BrokenReason.DOCUMENT_TOO_LARGE, f"its HTML has {len(shown.html):,} characters")
    return shown


def _explained(task: Explaining) -> str:
    page: PreparedPage = pickle.loads(task.packed)  # noqa: S301 another process of the pool packed it
    labels = task.labels
    options = replace(task.options, with_blocks=False, with_links=False, rendering=_MARKDOWN)
    explanation = explain(page.encoded, labels, options)
    document = document_of(page, labels, explanation.choice, options=options)
    kind = {"page_kind": document.page_kind, "page_kind_probability": document.page_kind_probability}
    return json.dumps({**_labels(labels, explanation), **kind, **_texts(page, explanation, document)})


def _labels(labels: Prediction, explanation: Explanation) -> dict[str, object]:
    """Explain the label of each block."""
    sentences = [_sentence(explanation, block) for block in range(len(explanation.reasons))]
    known = {sentence: number for number, sentence in enumerate(Counter(sentences))}
    comments = labels.comments
    return {
        "model": f"{labels.model.name}/{labels.model.version}",
        "labeler": labels.labeler,
        "least": explanation.least,
        "kinds": [_KINDS.get(reason, "boilerplate") for reason in explanation.reasons],
        "reasons": [str(reason) for reason in explanation.reasons],
        "sentences": list(known),
        "why": [known[sentence] for sentence in sentences],
        "content": explanation.choice.probabilities.tolist(),
        "comment": None if comments is None else np.round(comments.astype(np.float64), _DIGITS).tolist(),
    }


def _sentence(explanation: Explanation, block: int) -> str:
    least = "" if explanation.least is None else f"{explanation.least:.2f}"
    return _SENTENCES[explanation.reasons[block]].format(least=least, copy=int(explanation.copies[block]) + 1)


def _texts(
    page: PreparedPage, found: Explanation, document: CleanedDocument
) -> dict[str, list[Piece] | None]:
    """Cut the texts of the document where its blocks begin."""
    texts = page.segmented.texts
    content = [(texts[block], block) for block in np.flatnonzero(found.choice.content).tolist()]
    comments = [(texts[block], block) for block in np.flatnonzero(found.choice.comment).tolist()]
    below = None if document.comments is None else pieces(document.comments, comments)
    return {
        "text": pieces(document.text, content),
        "markdown": pieces(document.markdown or "", content),
        "comments": below,
    }
