"""What fine-tuning brings on pages that it did not learn from: cross-validation over the labeled pages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dehusk.inference.selection import select
from dehusk.schemas.pages import EncodedPage
from dehusk.training.by_hand import Say
from dehusk.training.fine_tuning.correction import Answered, Correction, fit_correction
from dehusk.training.fine_tuning.pages import LabeledPage
from dehusk.training.predictor import Answer
from dehusk.training.score import kept_words, word_f1

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""How strongly corrections may be held near 0: what is tried."""
FOLDS = 5
_SEED = 1
LEAST_ERRORS = 1.25
"""A gain of fewer standard errors is within chance: where one page alone gains, it is one."""
_AS_GOOD = 0.0005
"""Among strengths whose scores differ by no more, the greatest is taken."""


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredPage:
    """A labeled page and what the model that is fine-tuned answers to it."""

    page: LabeledPage
    answers: Floats
    """Shape [A, T]: the probabilities of content, and perhaps of comments."""
    learned: Answered

    @classmethod
    def of(cls, page: LabeledPage, answer: Answer) -> "AnsweredPage":
        """A page as `answer` labels it."""
        assert page.encoded.structure is not None  # noqa: S101 -- pages are encoded whole
        answers = np.atleast_2d(answer(page.encoded))
        learned = Answered.of(page.encoded.structure, page.encoded.words, page.content, answers[0])
        return cls(page, answers, learned)

    def score(self, correction: Correction | None = None) -> float:
        """The word-level F1 of what is kept, by the labels."""
        return word_f1(self.kept(correction), kept_words(self.page.words, self.page.content))

    def kept(self, correction: Correction | None = None) -> list[str]:
        """The words of what is kept."""
        answers = self.answers
        if correction is not None:
            answers = np.stack([correction.applied(answers[0], self.learned.keys), *answers[1:]])
        return kept_words(self.page.words, content_of(self.page.encoded, answers))


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """The scores of the labeled pages, each by corrections that did not learn from it."""

    strength: float
    """The one with the best scores."""
    before: Doubles
    """Shape [pages]: the F1 of the model as it was."""
    after: Doubles
    """Shape [pages]: with corrections."""

    @property
    def gain(self) -> float:
        """By how much the mean F1 rises."""
        return float((self.after - self.before).mean())

    @property
    def error(self) -> float:
        """The standard error of `gain`."""
        return float((self.after - self.before).std(ddof=1) / len(self.after) ** 0.5)

    @property
    def worst(self) -> float:
        """By how much the F1 of the page changes that loses most."""
        return float((self.after - self.before).min())

    @property
    def is_better(self) -> bool:
        """Whether the gain is beyond chance."""
        return self.gain > LEAST_ERRORS * self.error

    @property
    def summary(self) -> str:
        """The scores in a line."""
        return (
            f"F1 {self.before.mean():.3f} before, {self.after.mean():.3f} after"
            f" ({self.gain:+.3f} ± {self.error:.3f}; worst page {self.worst:+.3f})"
        )


def content_of(page: EncodedPage, answers: Floats) -> Bools:
    """Which blocks are content, given the answers [A, T]."""
    comments = answers[1] if len(answers) > 1 else None
    return select(answers[0], page.words, page.repeat, comments, page.alike)


def cross_validated(pages: Sequence[AnsweredPage], say: Say) -> Validation:
    """The scores by each of STRENGTHS, and which of them is the best."""
    folds = np.random.default_rng(_SEED).permutation(len(pages)) % FOLDS
    after = {strength: np.zeros(len(pages)) for strength in STRENGTHS}
    for fold in range(FOLDS):
        say(f"cross-validation, part {fold + 1} of {FOLDS}")
        learned = [page.learned for page, its in zip(pages, folds, strict=True) if its != fold]
        for strength, scores in after.items():
            correction = fit_correction(learned, strength)
            for number in np.flatnonzero(folds == fold):
                scores[number] = pages[number].score(correction)
    strength = _best({strength: float(scores.mean()) for strength, scores in after.items()})
    return Validation(strength, np.array([page.score() for page in pages]), after[strength])


def _best(means: Mapping[float, float]) -> float:
    """The greatest of the strengths that score about as well as the best."""
    least = max(means.values()) - _AS_GOOD
    return max(strength for strength, mean in means.items() if mean >= least)


@dataclass(frozen=True, slots=True)
class Changes:
    """How far two versions differ on some pages."""

    pages: int
    changed_pages: int
    """Pages of which a block is decided otherwise."""
    blocks: int
    changed_blocks: int

    @property
    def share(self) -> float:
        """The share of the blocks that are decided otherwise."""
        return self.changed_blocks / max(self.blocks, 1)

    @property
    def summary(self) -> str:
        """The changes in a line."""
        return (
            f"{self.share:.2%} of {self.blocks:,} blocks decided otherwise,"
            f" on {self.changed_pages} of {self.pages} pages"
        )


def changes(
    pages: Sequence[EncodedPage],
    before: Callable[[EncodedPage], Floats],
    after: Callable[[EncodedPage], Floats],
) -> Changes:
    """How far the answers of two versions differ on pages."""
    changed = [int((content_of(page, before(page)) != content_of(page, after(page))).sum()) for page in pages]
    return Changes(len(pages), sum(map(bool, changed)), sum(map(len, pages)), sum(changed))
