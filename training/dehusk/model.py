"""The default model, whole: the network's answer and the trees' answer to it, in equal parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from schemas.pages import StructureTensors
from training.dehusk.config import DehuskConfig
from training.dehusk.examples import Example
from training.dehusk.second_pass import SecondPass, fit_second_pass
from training.dehusk.trainer import FirstAnswer, FirstPass, fold_of, sigmoid, train_first_pass

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class DehuskModel:
    """A trained model: everything that its graph is made of."""

    first: FirstPass
    second: SecondPass

    def __call__(self, page: StructureTensors) -> Floats:
        """The probability of each block, shape [T]."""
        _, both = self.passes(page)
        return both

    def passes(self, page: StructureTensors) -> tuple[Floats, Floats]:
        """The probability of each block by the first pass alone and by both, each of shape [T]."""
        if not len(page.element):
            return np.empty(0, np.float32), np.empty(0, np.float32)
        answer = self.first(page)
        return answer.probabilities, sigmoid((answer.logits + self.second.logits(page, answer)) / 2)


def train_dehusk(
    examples: Sequence[Example],
    config: DehuskConfig,
    progress: Callable[[str], object],
    checkpoints: Path | None = None,
) -> DehuskModel:
    """The model over all pages; goes on from the checkpoints of first passes that a run before left."""
    held_out, first = train_first_passes(examples, config, progress, checkpoints)
    progress("second pass")
    answers = held_out_answers(examples, held_out)
    return DehuskModel(first, fit_second_pass(examples, answers, config.trees, config.trainer.seed))


def train_first_passes(
    examples: Sequence[Example],
    config: DehuskConfig,
    progress: Callable[[str], object],
    checkpoints: Path | None = None,
) -> tuple[list[FirstPass], FirstPass]:
    """Those that each did not see a part of the sites, and the one over all pages."""
    seed = config.trainer.seed
    held_out = train_held_out(examples, config, seed, progress=progress, checkpoints=checkpoints)
    first = _last(examples, config, seed, "all parts", progress=progress, checkpoints=checkpoints)
    return held_out, first


def train_held_out(
    examples: Sequence[Example],
    config: DehuskConfig,
    seed: int,
    *,
    without: str | None = None,
    progress: Callable[[str], object],
    checkpoints: Path | None = None,
) -> list[FirstPass]:
    """For each part of the sites, the first pass over the pages of the others."""
    folds = config.trainer.folds
    return [
        _last(
            [each for each in examples if fold_of(each.site, folds) != fold],
            config,
            seed,
            f"without part {fold + 1} of {folds}",
            without=without,
            progress=progress,
            checkpoints=checkpoints,
        )
        for fold in range(folds)
    ]


def held_out_answers(examples: Sequence[Example], held_out: Sequence[FirstPass]) -> list[FirstAnswer]:
    """The answer to each page of the first pass that did not see its site."""
    return [held_out[fold_of(each.site, len(held_out))](each.structure) for each in examples]


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
