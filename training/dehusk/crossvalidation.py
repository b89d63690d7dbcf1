"""Cross-validation by site: every page is scored by a model that never saw its site."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from training.dehusk.config import DehuskConfig
from training.dehusk.evaluation import page_score
from training.dehusk.pages import DehuskPage
from training.dehusk.trainer import DehuskModel, fold_of, train_dehusk


@dataclass(slots=True)
class Scores:
    """Word-level F1 by page id."""

    published: dict[str, float] = field(default_factory=dict)
    """Against the published gold texts."""
    repaired: dict[str, float] = field(default_factory=dict)
    """Against the repaired labels, where there are some; pages that were dropped are left out."""
    scripts: dict[str, dict[str, float]] = field(default_factory=dict)
    """By script, against the repaired labels, of the pages that were written in other scripts."""

    def add(self, page: DehuskPage, model: DehuskModel) -> None:
        """Score one page."""
        probabilities = model(page.structure)
        self.published[page.id] = page_score(page, page.encoded, probabilities, page.gold)
        if page.repaired and not page.reliable:
            return
        self.repaired[page.id] = page_score(page, page.encoded, probabilities, page.best_gold)
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
    """The scores of all pages; of the inputs, the group `without` is not seen."""
    scores = Scores()
    for fold in range(config.trainer.folds):
        of_fold = [fold_of(page.site, config.trainer.folds) == fold for page in pages]
        learned = [
            page for page, held_out in zip(pages, of_fold, strict=True) if page.reliable and not held_out
        ]
        for epoch in train_dehusk([page.example for page in learned], config, seed, without):
            progress(f"seed {seed}, fold {fold + 1}, epoch {epoch.number}: loss {epoch.loss:.3f}")
        for page, held_out in zip(pages, of_fold, strict=True):
            if held_out:
                scores.add(page, epoch.model)
    return scores
