"""What each detail of the released code is worth: the same network with one of them put back to the usual."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.boilernet.crossvalidation import HalfScores

_COLUMNS = ("boilerplate (0)", "content (1)", "both")
_CONFIDENCE = 0.95
_FEWEST = 2
"""Seeds of which a spread is known."""

Floats = npt.NDArray[np.float64]


def ablations(config: BoilerNetConfig) -> dict[str, BoilerNetConfig]:
    """The configuration with one detail of the released code replaced by what is usual, by name."""
    network, trainer = config.network, config.trainer
    return {
        "no punctuation": replace(config, network=replace(network, punctuation=False)),
        "one input for all unknown": replace(config, network=replace(network, separate_unknown=False)),
        "no class weights": replace(config, trainer=replace(trainer, class_weights=False)),
        "first weights of PyTorch": replace(config, network=replace(network, first_weights="torch")),
        "Adam's epsilon 1e-8": replace(config, trainer=replace(trainer, adam_epsilon=1e-8)),
    }


def seeds_table(scores: Mapping[str, Sequence[HalfScores]]) -> str:
    """The F1 of several seeds, mean ± standard deviation, as a Markdown table.

    The first row is F1, the others are what they differ from it, seed by seed: a star marks differences
    whose mean is not zero with 95 % confidence (Student's t, as if there were but one difference).
    """
    (name, full), *others = scores.items()
    heads = [f"{group}, {column}" for group in full[0] for column in _COLUMNS]
    lines = [f"| F1 of {len(full)} seeds | " + " | ".join(heads) + " |", "|---|" + "--:|" * len(heads)]
    values = _values(full)
    lines.append(_row(name, [_spread(column, ".3f") for column in values.T]))
    for other, of_seeds in others:
        differences = (_values(of_seeds) - values).T
        lines.append(_row(other, [_spread(each, "+.3f") + " *" * _is_certain(each) for each in differences]))
    return "\n".join(lines)


def _values(of_seeds: Sequence[HalfScores]) -> Floats:
    """Shape [seeds, groups × columns]."""
    return np.array([[f1 for of_group in scores.values() for f1 in of_group] for scores in of_seeds])


def _row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def _spread(values: Floats, form: str) -> str:
    mean = f"{values.mean():{form}}"
    return f"{mean} ± {values.std(ddof=1):.3f}" if len(values) > 1 else mean


def _is_certain(differences: Floats) -> bool:
    """Whether their mean is not zero; never of a single one."""
    count = len(differences)
    if count < _FEWEST:
        return False
    margin = stdtrit(count - 1, (1 + _CONFIDENCE) / 2) * differences.std(ddof=1) / sqrt(count)
    return bool(abs(differences.mean()) > margin)
