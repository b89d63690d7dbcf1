"""How well a model's text agrees with the gold text on pages it was not trained on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from dehusk.inference.encoding import encode
from dehusk.inference.selection import select
from dehusk.training.boilernet.config import DataConfig
from dehusk.training.boilernet.pages import LabeledPage, reliable
from dehusk.training.predictor import Predict
from dehusk.training.score import kept_words, score_words, word_f1


@dataclass(frozen=True, slots=True)
class GroupScore:
    """Means over a group of pages."""

    group: str
    pages: int
    f1: float
    """Word-level F1 of the text that the model keeps."""
    everything: float
    """The same where every block is kept."""
    oracle: float
    """The same where the blocks that the gold text labels are kept."""


@dataclass(frozen=True, slots=True)
class _PageScore:
    page: LabeledPage
    f1: float
    everything: float


def scores_by_group(pages: Iterable[LabeledPage], predict: Predict, config: DataConfig) -> list[GroupScore]:
    """The scores of all pages, of those with reliable gold, by kind, and by page type."""
    scores = [_score(page, predict) for page in pages]
    groups = {
        "all pages": scores,
        "reliable gold": [score for score in scores if reliable(score.page, config)],
        "as crawled": [score for score in scores if not score.page.stripped],
        "stripped": [score for score in scores if score.page.stripped],
    }
    for kind in sorted({score.page.page_type for score in scores}):
        groups[kind] = [score for score in scores if score.page.page_type == kind]
    return [_mean(name, members) for name, members in groups.items() if members]


def _score(page: LabeledPage, predict: Predict) -> _PageScore:
    words = [score_words(text) for text in page.segmented.texts]
    gold = score_words(page.text)
    encoded = encode(page.segmented)
    kept = select(predict(encoded), encoded.words, encoded.repeat) if words else ()
    chosen = kept_words(words, kept)
    return _PageScore(page, word_f1(chosen, gold), word_f1([word for block in words for word in block], gold))


def _mean(name: str, scores: Sequence[_PageScore]) -> GroupScore:
    return GroupScore(
        group=name,
        pages=len(scores),
        f1=fmean(score.f1 for score in scores),
        everything=fmean(score.everything for score in scores),
        oracle=fmean(score.page.oracle for score in scores),
    )


def markdown(scores: Iterable[GroupScore]) -> str:
    """The scores as a Markdown table."""
    lines = ["| held-out pages | pages | F1 | everything kept | oracle |", "|---|--:|--:|--:|--:|"]
    lines += [
        f"| {each.group} | {each.pages} | {each.f1:.3f} | {each.everything:.3f} | {each.oracle:.3f} |"
        for each in scores
    ]
    return "\n".join(lines)
