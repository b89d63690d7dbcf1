"""Cross-validation by site: every page is scored by a model that never saw its site."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from training.dehusk.config import DehuskConfig
from training.dehusk.evaluation import page_score
from training.dehusk.model import DehuskModel, held_out_answers, train_held_out
from training.dehusk.pages import DehuskPage
from training.dehusk.second_pass import fit_second_pass
from training.dehusk.trainer import fold_of


@dataclass(slots=True)
class Scores:
    """Word-level F1 by page id."""

    published: dict[str, float] = field(default_factory=dict)
    """Against the published gold texts."""
    repaired: dict[str, float] = field(default_factory=dict)
    """Against the repaired labels, where there are some; pages that were dropped are left out."""
    first_pass: dict[str, float] = field(default_factory=dict)
    """As `repaired`, of what the first pass alone keeps."""
    scripts: dict[str, dict[str, float]] = field(default_factory=dict)
    """By script, against the repaired labels, of the pages that were written in other scripts."""

    def add(self, page: DehuskPage, model: DehuskModel) -> None:
        """Score one page."""
        first, probabilities = model.passes(page.structure)
        self.published[page.id] = page_score(page, page.encoded, probabilities, page.gold)
        if page.repaired and not page.reliable:
            return
        self.repaired[page.id] = page_score(page, page.encoded, probabilities, page.best_gold)
        self.first_pass[page.id] = page_score(page, page.encoded, first, page.best_gold)
        for script, encoded in page.scripts.items():
            if encoded.structure is not None:
                scores = self.scripts.setdefault(script, {})
                scores[page.id] = page_score(page, encoded, model(encoded.structure), page.best_gold)


def cross_validated(
    pages: Sequence[DehuskPage],
    config: DehuskConfig,
    seed: int,
    *,
    without: str | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> Scores:
    """The scores of all pages; of the inputs, the group `without` is not seen.

    The second pass that scores a page saw neither its site nor answers to it. Of the first passes whose
    answers it learned from, some did see the page, as is usual where stacked models are validated.
    """
    folds = config.trainer.folds
    examples = [page.example for page in pages if page.reliable]
    held_out = train_held_out(examples, config, seed, without=without, progress=progress)
    answers = held_out_answers(examples, held_out)
    scores = Scores()
    for fold, first in enumerate(held_out):
        learned = [place for place, each in enumerate(examples) if fold_of(each.site, folds) != fold]
        of_learned = [examples[place] for place in learned], [answers[place] for place in learned]
        model = DehuskModel(first, fit_second_pass(*of_learned, config.trees, seed, without))
        for page in pages:
            if fold_of(page.site, folds) == fold:
                scores.add(page, model)
    return scores
