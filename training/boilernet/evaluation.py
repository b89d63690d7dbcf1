"""Scores of a model on pages that it was not trained on: of its text, and of its labels of blocks."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from dehusk.training.boilernet.config import DataConfig
from dehusk.training.boilernet.labeled_pages import LabeledPage, reliable
from dehusk.training.scores import BlockScores, kept_words, markdown_table, score_words, word_f1
from dehusk.training.versions import Answer, content_of, score_answers, selected


class PageScore(NamedTuple):
    """Word-level F1 of a page."""

    f1: float
    """F1 of the text that the model keeps."""
    everything: float
    """F1 where every block is kept."""
    oracle: float
    """F1 where the blocks that the gold text labels are kept."""


def scores_by_group(
    pages: Iterable[LabeledPage], answer: Answer, config: DataConfig
) -> dict[str, list[PageScore]]:
    """Score all pages, those with reliable gold, and those of each kind and page type."""
    scores = [(page, _score(page, answer)) for page in pages]
    groups = {
        "all pages": [score for _, score in scores],
        "reliable gold": [score for page, score in scores if reliable(page, config)],
        "as crawled": [score for page, score in scores if not page.stripped],
        "stripped": [score for page, score in scores if page.stripped],
    }
    for page_type in sorted({page.page_type for page, _ in scores}):
        groups[page_type] = [score for page, score in scores if page.page_type == page_type]
    return {name: members for name, members in groups.items() if members}


def _score(page: LabeledPage, answer: Answer) -> PageScore:
    words = [score_words(text) for text in page.segmented.texts]
    gold = score_words(page.text)
    encoded = page.encoded
    kept = selected(encoded, content_of(answer(encoded))) if words else ()
    everything = [word for block in words for word in block]
    return PageScore(word_f1(kept_words(words, kept), gold), word_f1(everything, gold), page.oracle)


def group_table(groups: Mapping[str, Sequence[PageScore]]) -> str:
    """Return the mean scores of groups of pages as a Markdown table."""
    rows = []
    for name, scores in groups.items():
        means = map(fmean, zip(*scores, strict=True))
        rows.append([name, len(scores), *(f"{f1:.3f}" for f1 in means)])
    return markdown_table(["held-out pages", "pages", "F1", "everything kept", "oracle"], rows)


def score_blocks(pages: Iterable[LabeledPage], answer: Answer) -> BlockScores:
    """Score the labels of the blocks of all pages: boilerplate (class 0) and content (class 1)."""
    scored = [page for page in pages if page.content]
    return score_answers([page.content for page in scored], (answer(page.encoded) for page in scored))
