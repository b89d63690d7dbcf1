"""Cross-validation by site: every page is scored by a model that never saw its site."""

from collections.abc import Callable, Sequence

from training.dehusk.config import DehuskConfig
from training.dehusk.evaluation import Floats
from training.dehusk.pages import DehuskPage
from training.dehusk.trainer import fold_of, train_dehusk


def cross_validated(
    pages: Sequence[DehuskPage],
    config: DehuskConfig,
    seed: int,
    *,
    without: str | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, Floats]:
    """The probabilities of each page's blocks, by page id; of the inputs, the group `without` is not seen."""
    probabilities: dict[str, Floats] = {}
    for fold in range(config.trainer.folds):
        learned = [page for page in pages if fold_of(page.site, config.trainer.folds) != fold]
        examples = [page.example for page in learned if page.reliable]
        for epoch in train_dehusk(examples, config, seed, without):
            progress(f"seed {seed}, fold {fold + 1}, epoch {epoch.number}: loss {epoch.loss:.3f}")
        model = epoch.model
        for page in pages:
            if fold_of(page.site, config.trainer.folds) == fold:
                probabilities[page.id] = model(page.structure)
    return probabilities
