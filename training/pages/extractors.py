"""Other extractors, and labels by what they agree on for pages without a gold text.

Each of three votes on every block: a published model, which must not have learned from the page, trafilatura
without comments, and resiliparse without comments. What two keep is content; where the third disagrees, the
block is uncertain. User comments are known by what holds them (`training.pages.labels`), and nobody is asked.
"""

from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

import numpy as np
import trafilatura
from resiliparse.extract.html2text import extract_plain_text

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import PageError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.arrays import Bools
from dehusk.training.pages.alignment import CONTENT_SHARE, content_blocks
from dehusk.training.pages.gold import GoldPage, each_labeled, read_gold
from dehusk.training.pages.labels import DROPPED, Labels, listed_comments
from dehusk.training.scores import score_words
from dehusk.training.versions import labeler_answer, selected

Words = list[list[str]]
_MAJORITY = 2
_MIN_WORDS = 50
_MAX_DOUBT = 0.5
"""Largest share of uncertain words among those that are content or uncertain."""


def trafilatura_text(html: str | bytes, *, comments: bool = True) -> str:
    """Return the text of trafilatura; otherwise as it is set up by default."""
    return trafilatura.extract(html, include_comments=comments) or ""


def resiliparse_text(html: str | bytes, *, comments: bool = True) -> str:
    """Return the text of resiliparse's main content; bytes are UTF-8."""
    markup = html.decode("utf-8", "replace") if isinstance(html, bytes) else html
    text: str = extract_plain_text(markup, main_content=True, comments=comments)
    return text


def taught(
    files: Iterable[Path], model: ModelVersion, repository: Path, processes: int
) -> Iterable[tuple[str, Labels]]:
    """Label each page that has no gold text, given by its key; `DROPPED` where too little is agreed on."""
    pages = (page for page in read_gold(files) if page.text is None)
    return each_labeled(pages, partial(_teach, model, repository), processes, [])


@cache
def _open_model(model: ModelVersion, repository: Path) -> OnnxLabeler:
    """Open the model, once in each process."""
    return OnnxLabeler(model.name, model.version, repository)


def _teach(model: ModelVersion, repository: Path, page: GoldPage) -> tuple[str, Labels]:
    try:
        segmented = segment(page.utf8, url=page.url)
    except PageError:
        return page.key, DROPPED
    words = [score_words(text) for text in segmented.texts]
    labeler = _open_model(model, repository)
    encoded = encode(segmented, labeler.encodings)
    kept = selected(encoded, labeler_answer(labeler)(encoded))
    texts = (
        score_words(extract(page.html, comments=False)) for extract in (trafilatura_text, resiliparse_text)
    )
    votes = [kept, *(content_blocks(words, text, CONTENT_SHARE) for text in texts)]
    candidates = ~listed_comments(page, segmented)
    return page.key, agreed(segmented.texts, words, [vote & candidates for vote in votes])


def agreed(texts: tuple[str, ...], words: Words, votes: list[Bools]) -> Labels:
    """Return what most of the votes keep; `DROPPED` where that is too little, or too uncertain."""
    kept = np.sum(votes, 0)
    content, uncertain = kept >= _MAJORITY, (kept > 0) & (kept < len(votes))
    counts = np.array([len(each) for each in words], np.int64)
    known, doubted = counts[content].sum(), counts[uncertain].sum()
    if known < _MIN_WORDS or doubted > _MAX_DOUBT * counts[content | uncertain].sum():
        return DROPPED
    return Labels.of(texts, content, uncertain)
