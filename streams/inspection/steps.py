"""What the processes of `streams.preparation.pool` do for the inspector: a page may be hostile.

A message is decoded to pages; a page is prepared; its own HTML is made harmless; its labels are explained.
"""

import json
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dehusk.inference.cleaning import PreparedPage
from dehusk.inference.extraction import document_of
from dehusk.inference.language import load_model
from dehusk.inference.reasons import Explanation, Reason, explain
from dehusk.schemas.documents import CleanedDocument, Comments
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, Tombstone
from dehusk.schemas.pages import Encoding, Message, Prediction, RawPage
from dehusk.schemas.rendering import Rendering
from dehusk.streams.inspection.alignment import Piece, pieces
from dehusk.streams.inspection.blocks import shown_blocks
from dehusk.streams.inspection.original import harmless
from dehusk.streams.preparation.preparation import PackedPage, Postponed, decode, prepare_decoded
from dehusk.streams.sources.page import offline_page
from dehusk.streams.sources.registry import SourceSettings, open_source
from dehusk.streams.sources.source import Decoded

_MOST_ORIGINAL = 8 << 20
"""Characters of the largest page that is shown as it looked."""
_DIGITS = 4
_SENTENCES = {
    Reason.LIKELY: "Content: it reaches {least}, from which on this page's blocks are content.",
    Reason.THREAD: "A user comment, kept as content: the page has nothing but comments.",
    Reason.INCLUDED: "A user comment, part of the text as --comments include asks.",
    Reason.COMMENT: "A user comment: likely to be one, and not likely to be content.",
    Reason.UNLIKELY: "Left out: it does not reach {least}, from which on this page's blocks are content.",
    Reason.REPEAT: "Left out: it repeats what block {copy} says, which is kept.",
    Reason.HIDDEN: "Left out: the page hides it at first, and --hidden-text drop asks for it.",
    Reason.NO_CONTENT: "Left out: no block of this page is likely enough for it to have any content.",
}
_KINDS = {
    Reason.LIKELY: "content",
    Reason.THREAD: "content",
    Reason.INCLUDED: "comment",
    Reason.COMMENT: "comment",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """The task of decoding a message; a tuple of `Decoded` or `Postponed` answers it."""

    message: Message


@dataclass(frozen=True, slots=True)
class Pasting:
    """The task of reading HTML in UTF-8 that somebody has at hand; a `Decoded` answers it."""

    html: bytes
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Preparing:
    """The task of preparing a page; an `OpenedPage`, or why there is none, answers it."""

    page: Decoded


@dataclass(frozen=True, slots=True)
class Showing:
    """The task of making a page's HTML harmless; a text, or Broken, answers it."""

    html: bytes
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explaining:
    """The task of explaining the labels of a page; JSON, or Broken, answers it."""

    packed: bytes
    labels: Prediction
    comments: Comments = Comments.SEPARATE
    drop_hidden: bool = False


@dataclass(frozen=True, slots=True)
class OpenedPage:
    """A page that can be labeled, and what is shown of it whatever its labels."""

    packed: PackedPage
    texts: tuple[str, ...]
    json: str
    """An object of `title`, `url`, `bytes` and `blocks`."""


Task = Reading | Pasting | Preparing | Showing | Explaining
Answer = OpenedPage | Decoded | Postponed | Sequence[Decoded] | str


def open_inspector(source: str, settings: SourceSettings, max_blocks: int) -> Callable[[Task], Answer]:
    """What a process does with tasks."""
    load_model()
    declared = open_source(source, settings)

    def take(task: Task) -> Answer:
        match task:
            case Reading(message):
                pages = decode(declared, message)
                return pages if isinstance(pages, Postponed) else tuple(pages)
            case Pasting(html, max_bytes):
                text = html.decode("utf-8", "replace")
                return offline_page(url="", body=text, source="html", max_bytes=max_bytes)
            case Preparing(page):
                return _opened(page, max_blocks)
            case Showing(html, blocks):
                return _guarded(lambda: _shown(html, blocks))
            case Explaining():
                return _guarded(lambda: _explained(task))

    return take


def _guarded(make: Callable[[], str | Broken]) -> str | Broken:
    """What is made; whatever a page does to a step, it ends this step alone."""
    try:
        return make()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001
        return Broken(BrokenReason.INTERNAL_ERROR, f"{type(error).__name__}: {error}")


def _opened(page: Decoded, max_blocks: int) -> OpenedPage | Skipped | Broken | Tombstone:
    if not isinstance(page, RawPage):
        return page
    outcome = prepare_decoded(
        page, max_blocks, metadata=MetadataLevel.NONE, with_markup=True, encodings=tuple(Encoding)
    )
    if not isinstance(outcome, PackedPage):
        return outcome
    prepared: PreparedPage = pickle.loads(outcome.packed)  # noqa: S301 this process packed it
    segmented = prepared.segmented
    shown = {
        "title": segmented.title,
        "url": page.url,
        "bytes": len(page.html),
        "encoding": page.encoding,
        "source": page.source,
        "blocks": [asdict(block) for block in shown_blocks(segmented)],
    }
    return OpenedPage(outcome, segmented.texts, json.dumps(shown))


def _shown(html: bytes, blocks: tuple[str, ...]) -> str | Broken:
    shown = harmless(html, blocks)
    if len(shown) > _MOST_ORIGINAL:
        return Broken(BrokenReason.DOCUMENT_TOO_LARGE, f"its HTML has {len(shown):,} characters")
    return shown


def _explained(task: Explaining) -> str:
    page: PreparedPage = pickle.loads(task.packed)  # noqa: S301 another process of the pool packed it
    labels = task.labels
    found = explain(page.encoded, labels, drop_hidden=task.drop_hidden, comments=task.comments)
    document = document_of(
        page,
        labels,
        found.choice,
        None,
        origin=None,
        degraded=(),
        with_blocks=False,
        comments=task.comments,
        rendering=Rendering(markdown=True),
    )
    return json.dumps({**_labels(labels, found), **_texts(page, found, document)})


def _labels(labels: Prediction, found: Explanation) -> dict[str, object]:
    """What is known of each block."""
    sentences = [_sentence(found, block) for block in range(len(found.reasons))]
    known = {sentence: number for number, sentence in enumerate(Counter(sentences))}
    comments = labels.comments
    return {
        "model": f"{labels.model.name}/{labels.model.version}",
        "labeler": labels.labeler,
        "least": found.least,
        "kinds": [_KINDS.get(reason, "boilerplate") for reason in found.reasons],
        "reasons": [str(reason) for reason in found.reasons],
        "sentences": list(known),
        "why": [known[sentence] for sentence in sentences],
        "content": found.choice.probabilities.tolist(),
        "comment": None if comments is None else np.round(comments.astype(np.float64), _DIGITS).tolist(),
    }


def _sentence(found: Explanation, block: int) -> str:
    least = "" if found.least is None else f"{found.least:.2f}"
    return _SENTENCES[found.reasons[block]].format(least=least, copy=int(found.copies[block]) + 1)


def _texts(
    page: PreparedPage, found: Explanation, document: CleanedDocument
) -> dict[str, list[Piece] | None]:
    """The texts of the document, cut where its blocks begin."""
    texts = page.segmented.texts
    content = [(texts[block], block) for block in np.flatnonzero(found.choice.content).tolist()]
    comments = [(texts[block], block) for block in np.flatnonzero(found.choice.comment).tolist()]
    below = None if document.comments is None else pieces(document.comments, comments)
    return {
        "text": pieces(document.text, content),
        "markdown": pieces(document.markdown or "", content),
        "comments": below,
    }
