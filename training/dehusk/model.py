"""The default model, whole: the network's answer and the trees' answer to it, each with its share.

In cross-validation, every page is scored by a model that never saw its site, or its collection.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage, StructureTensors
from dehusk.training.arrays import Floats
from dehusk.training.dehusk.config import DehuskConfig, LeftOut
from dehusk.training.dehusk.examples import (
    Example,
    PartOf,
    by_collection,
    by_site,
    example_of,
    learned_from,
    parts_of,
)
from dehusk.training.dehusk.first_pass import FirstAnswer, FirstPass, sigmoid
from dehusk.training.dehusk.second_pass import SecondPass, fit_second_pass, is_asked
from dehusk.training.dehusk.trainer import train_first_pass
from dehusk.training.pages.evaluation import ToldKind, page_score, told_kinds
from dehusk.training.pages.prepared import PreparedPage
from dehusk.training.runs import Report, report
from dehusk.training.scores import require_both_classes


@dataclass(frozen=True, slots=True, eq=False)
class DehuskModel:
    """A trained model: everything that its graph is made of."""

    first: FirstPass
    second: SecondPass
    trees_share: float
    """Share of the second pass in the logits of content, where the first one is not sure."""
    offset: float
    """Offset of each logit of content: on collections that it never saw, a model is too sure."""

    def __call__(self, page: StructureTensors) -> Floats:
        """Return the probabilities of each block, shape [2, T]: of content, and of user comments."""
        return self.passes(page)[1:]

    def answer(self, page: EncodedPage) -> Floats:
        """Answer a page that was encoded whole, shape [2, T]."""
        assert page.structure is not None  # noqa: S101 -- only such pages are given
        return self(page.structure)

    def page_kinds(self, page: EncodedPage) -> Floats:
        """Return the probabilities of the kinds of a page of at least one block, shape [len(PAGE_KINDS)]."""
        assert page.structure is not None  # noqa: S101 -- only such pages are given
        return self.first(page.structure).page_kinds

    def passes(self, page: StructureTensors) -> Floats:
        """Return the probabilities of each block, shape [3, T].

        The rows are content by the first pass alone, content, and user comments.
        """
        if not len(page.element):
            return np.empty((3, 0), np.float32)
        answer = self.first(page)
        logits, asked = answer.logits.copy(), is_asked(answer)
        of_network, of_trees = (np.float32(share) for share in (1 - self.trees_share, self.trees_share))
        logits[asked] = logits[asked] * of_network + self.second.logits(page, answer) * of_trees
        return np.stack([answer.probabilities, sigmoid(logits + np.float32(self.offset)), answer.comments])


@dataclass(frozen=True, slots=True)
class Training:
    """Settings of the training of one or several models."""

    config: DehuskConfig
    seed: int
    without: str | None = None
    """Group of inputs that is not seen."""
    checkpoints: Path | None = None
    """Directory with the checkpoints of first passes, from which they go on."""
    report: Report = report

    def examples(self, pages: Iterable[PreparedPage]) -> list[Example]:
        """Return the pages that are learned from."""
        return [example_of(page, self.config) for page in learned_from(pages, self.config)]

    def first_pass(self, examples: Sequence[Example], name: str) -> FirstPass:
        """Train a first pass, whose name its checkpoint has."""
        file = self.checkpoints / f"first-pass-{name.replace(' ', '-')}.pt" if self.checkpoints else None
        epochs = self.config.trainer.epochs
        for epoch in train_first_pass(examples, self.config, self.seed, self.without, file):
            progress = f"epoch {epoch.number}/{epochs}: loss {epoch.loss:.3f}"
            self.report(f"seed {self.seed}, {name}, {progress}")
        return epoch.model

    def first_passes(self, examples: Sequence[Example], part_of: PartOf) -> dict[Hashable, FirstPass]:
        """Train a first pass for each part of the sites, over the pages of the others.

        Raises:
            ConfigurationError: a part has no page to learn from, or all blocks have the same label.
        """
        parts, folds = parts_of(examples, part_of), self.config.trainer.folds
        if len(parts) < folds:
            raise ConfigurationError(
                f"the pages to learn from are in {len(parts)} of {folds} parts of all sites: add sites"
            )
        require_both_classes([each.content for each in examples], "to learn from")
        return {
            part: self.first_pass([each for each in examples if part_of(each) != part], f"without {part}")
            for part in parts
        }

    def all_first_passes(self, examples: Sequence[Example]) -> tuple[dict[Hashable, FirstPass], FirstPass]:
        """Train those that each did not see a part of the sites, and the one over all pages."""
        held_out = self.first_passes(examples, by_site(self.config.trainer.folds))
        return held_out, self.first_pass(examples, "all parts")

    def model(self, examples: Sequence[Example]) -> DehuskModel:
        """Train the model over all pages."""
        held_out, first = self.all_first_passes(examples)
        self.report("second pass")
        answers = held_out_answers(examples, by_site(self.config.trainer.folds), held_out)
        return self._with_second_pass(first, examples, answers)

    def models_by_site(self, pages: Iterable[PreparedPage]) -> Iterator[tuple[Hashable, DehuskModel]]:
        """Train, for each part of the sites, a model from the others.

        Its second pass saw neither the part nor answers to it. Of the first passes whose answers it learned
        from, some did see the part, as is usual where stacked models are validated.
        """
        examples, part_of = self.examples(pages), by_site(self.config.trainer.folds)
        held_out = self.first_passes(examples, part_of)
        answers = held_out_answers(examples, part_of, held_out)
        for part, first in held_out.items():
            learned = [place for place, each in enumerate(examples) if part_of(each) != part]
            of_learned = [examples[place] for place in learned], [answers[place] for place in learned]
            yield part, self._with_second_pass(first, *of_learned)

    def models_by_collection(self, pages: Iterable[PreparedPage]) -> Iterator[tuple[Hashable, DehuskModel]]:
        """Train, for each collection, the model over all pages of the others, as it would be published.

        Its second pass learns from answers out of fold by site. From answers to whole collections that a
        first pass did not see, it would learn to trust it too little.
        """
        examples = self.examples(pages)
        parts = parts_of(examples, by_collection)
        if len(parts) <= 1:
            raise ConfigurationError("the pages to learn from are of one collection, so none can be left out")
        for part in parts:
            folder = self.checkpoints / f"without-{part}" if self.checkpoints else None
            if folder is not None:
                folder.mkdir(exist_ok=True)
            self.report(f"without {part}")
            learned = [each for each in examples if by_collection(each) != part]
            yield part, replace(self, checkpoints=folder).model(learned)

    def _with_second_pass(
        self, first: FirstPass, examples: Sequence[Example], answers: Sequence[FirstAnswer]
    ) -> DehuskModel:
        second = fit_second_pass(examples, answers, self.config.trees, self.seed, self.without)
        return DehuskModel(first, second, **asdict(self.config.answer))


def held_out_answers(
    examples: Sequence[Example], part_of: PartOf, held_out: Mapping[Hashable, FirstPass]
) -> list[FirstAnswer]:
    """Answer each page by the first pass that did not see its part."""
    return [held_out[part_of(each)](each.structure) for each in examples]


@dataclass(slots=True)
class Scores:
    """Word-level F1, and kinds of pages, by page id."""

    published: dict[str, float] = field(default_factory=dict)
    """F1 by the published gold texts."""
    repaired: dict[str, float] = field(default_factory=dict)
    """F1 by the repaired labels, where there are some; pages that were dropped are left out."""
    first_pass: dict[str, float] = field(default_factory=dict)
    """As `repaired`, of the first pass alone."""
    kinds: dict[str, ToldKind] = field(default_factory=dict)
    """Kinds of pages of a known kind."""
    scripts: dict[str, dict[str, float]] = field(default_factory=dict)
    """By script, as `repaired`, of the pages that were written in other scripts."""

    def add(self, page: PreparedPage, model: DehuskModel) -> None:
        """Score one page."""
        first, *both = model.passes(page.structure)
        answers = np.stack(both)
        self.published[page.id] = page_score(page, page.encoded, answers, page.gold)
        self.kinds |= told_kinds([page], model.page_kinds)
        if not page.is_scored:
            return
        self.repaired[page.id] = page_score(page, page.encoded, answers, page.best_gold)
        self.first_pass[page.id] = page_score(
            page, page.encoded, np.stack([first, answers[1]]), page.best_gold
        )
        for script, encoded in page.scripts.items():
            if encoded.structure is not None:
                scores = self.scripts.setdefault(script, {})
                scores[page.id] = page_score(page, encoded, model(encoded.structure), page.best_gold)


def cross_validated(pages: Sequence[PreparedPage], training: Training, leave_out: LeftOut) -> Scores:
    """Score all pages with gold, each by a model that never saw its site, or its collection."""
    scores = Scores()
    if leave_out == "site":
        part_of, models = by_site(training.config.trainer.folds), training.models_by_site(pages)
    else:
        part_of, models = by_collection, training.models_by_collection(pages)
    for part, model in models:
        for page in pages:
            if part_of(page) == part and page.has_gold:
                scores.add(page, model)
    return scores
