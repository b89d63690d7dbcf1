"""The default model, whole: the network's answer and the trees' answer to it, in equal parts."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import StructureTensors
from dehusk.training.dehusk.config import DehuskConfig
from dehusk.training.dehusk.examples import Example
from dehusk.training.dehusk.parts import PartOf, by_site, parts_of
from dehusk.training.dehusk.second_pass import SecondPass, fit_second_pass
from dehusk.training.dehusk.trainer import FirstAnswer, FirstPass, sigmoid, train_first_pass

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class DehuskModel:
    """A trained model: everything that its graph is made of."""

    first: FirstPass
    second: SecondPass
    offset: float
    """What is added to each logit of content: on collections that it never saw, a model is too sure."""

    def __call__(self, page: StructureTensors) -> Floats:
        """The probabilities of each block, shape [2, T]: that it is content, and that it is a comment."""
        return self.passes(page)[1:]

    def passes(self, page: StructureTensors) -> Floats:
        """The probabilities of each block, shape [3, T].

        That it is content by the first pass alone, that it is content, and that it is a user comment.
        """
        if not len(page.element):
            return np.empty((3, 0), np.float32)
        answer = self.first(page)
        both = sigmoid((answer.logits + self.second.logits(page, answer)) / 2 + self.offset)
        return np.stack([answer.probabilities, both, answer.comments])


def train_dehusk(
    examples: Sequence[Example],
    config: DehuskConfig,
    progress: Callable[[str], object],
    checkpoints: Path | None = None,
) -> DehuskModel:
    """The model over all pages; goes on from the checkpoints of first passes that a run before left."""
    held_out, first = train_first_passes(examples, config, progress, checkpoints)
    progress("second pass")
    answers = held_out_answers(examples, by_site(config.trainer.folds), held_out)
    second = fit_second_pass(examples, answers, config.trees, config.trainer.seed)
    return DehuskModel(first, second, config.offset)


def train_first_passes(
    examples: Sequence[Example],
    config: DehuskConfig,
    progress: Callable[[str], object],
    checkpoints: Path | None = None,
) -> tuple[dict[Hashable, FirstPass], FirstPass]:
    """Those that each did not see a part of the sites, and the one over all pages."""
    seed, part_of = config.trainer.seed, by_site(config.trainer.folds)
    held_out = train_held_out(examples, config, seed, part_of, progress=progress, checkpoints=checkpoints)
    first = _last(examples, config, seed, "all parts", progress=progress, checkpoints=checkpoints)
    return held_out, first


def train_held_out(
    examples: Sequence[Example],
    config: DehuskConfig,
    seed: int,
    part_of: PartOf,
    *,
    without: str | None = None,
    progress: Callable[[str], object],
    checkpoints: Path | None = None,
) -> dict[Hashable, FirstPass]:
    """For each part, the first pass over the pages of the others."""
    return {
        part: _last(
            [each for each in examples if part_of(each) != part],
            config,
            seed,
            f"without {part}",
            without=without,
            progress=progress,
            checkpoints=checkpoints,
        )
        for part in parts_of(examples, part_of)
    }


def held_out_answers(
    examples: Sequence[Example], part_of: PartOf, held_out: Mapping[Hashable, FirstPass]
) -> list[FirstAnswer]:
    """The answer to each page of the first pass that did not see its part."""
    return [held_out[part_of(each)](each.structure) for each in examples]


def _last(
    examples: Sequence[Example],
    config: DehuskConfig,
    seed: int,
    what: str,
    *,
    without: str | None = None,
    progress: Callable[[str], object],
    checkpoints: Path | None,
) -> FirstPass:
    """The first pass after its last epoch."""
    checkpoint = checkpoints / f"first-pass-{what.replace(' ', '-')}.pt" if checkpoints else None
    for epoch in train_first_pass(examples, config, seed, without, checkpoint):
        progress(f"seed {seed}, {what}, epoch {epoch.number}/{config.trainer.epochs}: loss {epoch.loss:.3f}")
    return epoch.model
