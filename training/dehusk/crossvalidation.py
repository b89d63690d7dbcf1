"""Cross-validation: every page is scored by a model that never saw its site, or its collection."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dehusk.training.dehusk.config import DehuskConfig
from dehusk.training.dehusk.evaluation import page_score
from dehusk.training.dehusk.model import DehuskModel, held_out_answers, train_held_out
from dehusk.training.dehusk.pages import DehuskPage, learned_from
from dehusk.training.dehusk.parts import PartOf
from dehusk.training.dehusk.second_pass import fit_second_pass


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
        first, *both = model.passes(page.structure)
        answers = np.stack(both)
        self.published[page.id] = page_score(page, page.encoded, answers, page.gold)
        if page.repaired and not page.reliable:
            return
        self.repaired[page.id] = page_score(page, page.encoded, answers, page.best_gold)
        self.first_pass[page.id] = page_score(
            page, page.encoded, np.stack([first, answers[1]]), page.best_gold
        )
        for script, encoded in page.scripts.items():
            if encoded.structure is not None:
                scores = self.scripts.setdefault(script, {})
                scores[page.id] = page_score(page, encoded, model(encoded.structure), page.best_gold)


def cross_validated(
    pages: Sequence[DehuskPage],
    config: DehuskConfig,
    seed: int,
    part_of: PartOf,
    *,
    without: str | None = None,
    progress: Callable[[str], object] = lambda _: None,
    checkpoints: Path | None = None,
) -> Scores:
    """The scores of all pages with gold; of the inputs, the group `without` is not seen.

    The second pass that scores a page saw neither its part nor answers to it. Of the first passes whose
    answers it learned from, some did see the page, as is usual where stacked models are validated.
    """
    scores = Scores()
    for part, model in held_out_models(
        pages, config, seed, part_of, without=without, progress=progress, checkpoints=checkpoints
    ):
        for page in pages:
            if part_of(page) == part and page.has_gold:
                scores.add(page, model)
    return scores


def held_out_models(
    pages: Iterable[DehuskPage],
    config: DehuskConfig,
    seed: int,
    part_of: PartOf,
    *,
    without: str | None = None,
    progress: Callable[[str], object] = lambda _: None,
    checkpoints: Path | None = None,
) -> Iterator[tuple[Hashable, DehuskModel]]:
    """Each part of the pages, with the model that learned from the others."""
    examples = [page.example(config) for page in learned_from(pages, config)]
    held_out = train_held_out(
        examples, config, seed, part_of, without=without, progress=progress, checkpoints=checkpoints
    )
    answers = held_out_answers(examples, part_of, held_out)
    for part, first in held_out.items():
        learned = [place for place, each in enumerate(examples) if part_of(each) != part]
        of_learned = [examples[place] for place in learned], [answers[place] for place in learned]
        second = fit_second_pass(*of_learned, config.trees, seed, without)
        yield part, DehuskModel(first, second, config.offset)
