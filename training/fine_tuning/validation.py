"""Cross-validation of fine-tuning over the labeled pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dehusk.schemas.pages import EncodedPage
from dehusk.streams.wording import printable
from dehusk.training.arrays import Doubles, Floats
from dehusk.training.fine_tuning.correction import Correction, CorrectionExample, fit_correction
from dehusk.training.fine_tuning.crawl import LabeledPage
from dehusk.training.runs import Report
from dehusk.training.scores import kept_words, word_f1
from dehusk.training.versions import Answer, selected

STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""L2 penalties that are tried."""
FOLDS = 5
_SEED = 1
MIN_STANDARD_ERRORS = 1.25
"""Least standard errors of a gain; a smaller one is within chance, as where one page alone gains."""
_AS_GOOD = 0.0005
"""Difference of scores up to which the greatest penalty is taken."""
_SHOWN = 0.001
"""Least difference of scores that is shown."""
_MAX_LOWEST = 3
"""Most pages that are named for their F1."""


@dataclass(frozen=True, slots=True, eq=False)
class AnsweredPage:
    """A labeled page and the answer of the model that is fine-tuned."""

    page: LabeledPage
    answers: Floats
    """Shape [A, T]: the probabilities of content, and perhaps of comments."""
    learned: CorrectionExample

    @classmethod
    def of(cls, page: LabeledPage, answer: Answer) -> "AnsweredPage":
        """Answer a page."""
        assert page.encoded.structure is not None  # noqa: S101 -- pages are encoded whole
        answers = np.atleast_2d(answer(page.encoded))
        learned = CorrectionExample.of(page.encoded.structure, page.encoded.words, page.content, answers[0])
        return cls(page, answers, learned)

    def score(self, correction: Correction | None = None) -> float:
        """Return the word-level F1 of what is kept, by the labels."""
        return word_f1(self.kept(correction), kept_words(self.page.words, self.page.content))

    def kept(self, correction: Correction | None = None) -> list[str]:
        """Return the words of what is kept."""
        answers = self.answers
        if correction is not None:
            answers = np.stack([correction.applied(answers[0], self.learned.keys), *answers[1:]])
        return kept_words(self.page.words, selected(self.page.encoded, answers))


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Scores of the labeled pages, each by corrections that did not learn from it."""

    strength: float
    """L2 penalty with the best scores."""
    pages: Sequence[str]
    """Names of the pages, as the labels have them."""
    before: Doubles
    """Shape [pages]: the F1 of the model as it was."""
    after: Doubles
    """Shape [pages]: with corrections."""

    @property
    def gain(self) -> float:
        """Rise of the mean F1."""
        return float((self.after - self.before).mean())

    @property
    def error(self) -> float:
        """Standard error of `gain`."""
        return float((self.after - self.before).std(ddof=1) / len(self.after) ** 0.5)

    @property
    def worst(self) -> float:
        """Change of the F1 of the page that loses most."""
        return float((self.after - self.before).min())

    @property
    def is_better(self) -> bool:
        """True if the gain is beyond chance."""
        return self.gain > MIN_STANDARD_ERRORS * self.error

    @property
    def summary(self) -> str:
        """Scores in a line."""
        return (
            f"F1 {self.before.mean():.3f} before, {self.after.mean():.3f} after"
            f" ({self.gain:+.3f} ± {self.error:.3f}; worst page {self.worst:+.3f})"
        )

    @property
    def suspects(self) -> list[str]:
        """Lines that name the pages where a wrong label is likeliest: what loses most, and the lowest F1."""
        found: list[str] = []
        if self.worst < -_SHOWN / 2:
            found.append(f"loses most: {self._scores_of(int((self.after - self.before).argmin()))}")
        lowest = np.argsort(self.after, kind="stable")[:_MAX_LOWEST].tolist()
        lacking = (page for page in lowest if self.after[page] < 1 - _SHOWN / 2)
        return found + [f"lowest after: {self._scores_of(page)}" for page in lacking]

    def _scores_of(self, page: int) -> str:
        """Return the name of a page, with its scores."""
        name = printable(self.pages[page])
        return f"{name}, F1 {self.before[page]:.3f} before, {self.after[page]:.3f} after"


def cross_validated(pages: Sequence[AnsweredPage], report: Report) -> Validation:
    """Score the pages by each of STRENGTHS; return the best."""
    folds = np.random.default_rng(_SEED).permutation(len(pages)) % FOLDS
    after = {strength: np.zeros(len(pages)) for strength in STRENGTHS}
    for fold in range(FOLDS):
        report(f"cross-validation, part {fold + 1} of {FOLDS}")
        learned = [page.learned for page, its in zip(pages, folds, strict=True) if its != fold]
        for strength, scores in after.items():
            correction = fit_correction(learned, strength)
            for number in np.flatnonzero(folds == fold).tolist():
                scores[number] = pages[number].score(correction)
    strength = _best({strength: float(scores.mean()) for strength, scores in after.items()})
    before = np.array([page.score() for page in pages])
    return Validation(strength, [page.page.id for page in pages], before, after[strength])


def _best(means: Mapping[float, float]) -> float:
    """Return the greatest of the penalties that score about as well as the best."""
    least = max(means.values()) - _AS_GOOD
    return max(strength for strength, mean in means.items() if mean >= least)


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences of two versions on some pages."""

    pages: int
    changed_pages: int
    """Pages of which a block is decided otherwise."""
    blocks: int
    changed_blocks: int

    @property
    def share(self) -> float:
        """Share of the blocks that are decided otherwise."""
        return self.changed_blocks / max(self.blocks, 1)

    @property
    def summary(self) -> str:
        """Changes in a line."""
        return (
            f"{self.share:.2%} of {self.blocks:,} blocks decided otherwise,"
            f" on {self.changed_pages} of {self.pages} pages"
        )


def changes(pages: Sequence[EncodedPage], before: Answer, after: Answer) -> Changes:
    """Count the differences of the answers of two versions on pages."""
    changed = [int((selected(page, before(page)) != selected(page, after(page))).sum()) for page in pages]
    return Changes(len(pages), sum(map(bool, changed)), sum(map(len, pages)), sum(changed))
