"""Cross-validation: a network is scored on the half of the sites that it never saw."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import fmean

import numpy as np
import orjson
from scipy.special import stdtrit

from dehusk.training.arrays import Doubles
from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.boilernet.labeled_pages import LabeledPage, reliable
from dehusk.training.boilernet.trainer import scored_epochs
from dehusk.training.runs import written_whole
from dehusk.training.scores import CLASSES, BlockScores, markdown_table, mean_f1
from dehusk.training.versions import score_answers

_SCORES = "half-scores.json"
_COLUMNS = (*CLASSES, "both")
_CONFIDENCE = 0.95
_MIN_SEEDS = 2
"""Least number of seeds of which a spread is known."""

HalfScores = dict[str, tuple[float, float, float]]
"""F1 of boilerplate and of content, and their mean, by the name of a group of pages."""


def cross_validated(pages: Sequence[LabeledPage], config: BoilerNetConfig, seed: int) -> HalfScores:
    """Score a network on the half of the sites that is not learned from, and on the validation pages in it.

    The seed draws the halves as well as the network. Scores are means over the last epochs: none is chosen.
    """
    learned_from, held_out = halves([page for page in pages if page.content], seed)
    learned = [page for page in learned_from if config.data is None or reliable(page, config.data)]
    groups = {
        "validation": [page.validation for page in held_out],
        "held-out half": [True] * len(held_out),
    }
    scores: dict[str, list[BlockScores]] = {name: [] for name, chosen in groups.items() if any(chosen)}
    for answers in scored_epochs(learned, held_out, config, seed):
        for name, of_epochs in scores.items():
            places = np.flatnonzero(groups[name])
            labels = [held_out[i].content for i in places]
            of_epochs.append(score_answers(labels, [answers[i] for i in places]))
    return {name: _mean(of_epochs) for name, of_epochs in scores.items()}


def known_or_scored(
    directory: Path, pages: Sequence[LabeledPage], config: BoilerNetConfig, seed: int
) -> HalfScores:
    """Return the scores of a configuration and seed, from the directory where they are kept there."""
    file, name = directory / _SCORES, f"{config!r}, seed {seed}"
    known: dict[str, HalfScores] = orjson.loads(file.read_bytes()) if file.exists() else {}
    if name not in known:
        known[name] = cross_validated(pages, config, seed)
        with written_whole(file) as target:
            target.write(orjson.dumps(known))
    return known[name]


def forget_scores(directory: Path) -> None:
    """Drop the scores that are kept, as of other pages."""
    (directory / _SCORES).unlink(missing_ok=True)


def halves(pages: Sequence[LabeledPage], seed: int) -> tuple[list[LabeledPage], list[LabeledPage]]:
    """Return pages to learn from and to score, half of the sites each; validation pages are all scored."""
    sites = {page.site for page in pages}
    drawn = sorted(sites.difference(page.site for page in pages if page.validation))
    order = np.random.default_rng(seed).permutation(len(drawn))
    learned = {drawn[place] for place in order[: len(sites) // 2]}
    return (
        [page for page in pages if page.site in learned],
        [page for page in pages if page.site not in learned],
    )


def _mean(epochs: Sequence[BlockScores]) -> tuple[float, float, float]:
    boilerplate, content = (fmean(scores[place].f1 for scores in epochs) for place in (0, 1))
    return boilerplate, content, fmean(mean_f1(scores) for scores in epochs)


def ablations(config: BoilerNetConfig) -> dict[str, BoilerNetConfig]:
    """Return the configuration with one detail of the released code replaced by the usual one, by name."""
    network, trainer = config.network, config.trainer
    return {
        "no punctuation": replace(config, network=replace(network, punctuation=False)),
        "one input for all unknown": replace(config, network=replace(network, separate_unknown=False)),
        "no class weights": replace(config, trainer=replace(trainer, class_weights=False)),
        "first weights of PyTorch": replace(config, network=replace(network, first_weights="torch")),
        "Adam's epsilon 1e-8": replace(config, trainer=replace(trainer, adam_epsilon=1e-8)),
    }


def seeds_table(scores: Mapping[str, Sequence[HalfScores]]) -> str:
    """Return the F1 of several seeds, mean ± standard deviation, as a Markdown table.

    The first row is F1, the others are what they differ from it, seed by seed: a star marks differences
    whose mean is not zero with 95 % confidence (Student's t, as if there were but one difference).
    """
    (name, full), *others = scores.items()
    heads = [f"{group}, {column}" for group in full[0] for column in _COLUMNS]
    values = _values(full)
    rows = [[name, *(_spread(column, ".3f") for column in values.T)]]
    for other, of_seeds in others:
        differences = (_values(of_seeds) - values).T
        rows.append([other, *(_spread(each, "+.3f") + " *" * _is_certain(each) for each in differences)])
    return markdown_table([f"F1 of {len(full)} seeds", *heads], rows)


def _values(of_seeds: Sequence[HalfScores]) -> Doubles:
    """Return all F1, shape [seeds, groups × columns]."""
    return np.array([[f1 for of_group in scores.values() for f1 in of_group] for scores in of_seeds])


def _spread(values: Doubles, form: str) -> str:
    mean = f"{values.mean():{form}}"
    return f"{mean} ± {values.std(ddof=1):.3f}" if len(values) > 1 else mean


def _is_certain(differences: Doubles) -> bool:
    """Return True if their mean is not zero; never for a single one."""
    count = len(differences)
    if count < _MIN_SEEDS:
        return False
    margin = stdtrit(count - 1, (1 + _CONFIDENCE) / 2) * differences.std(ddof=1) / sqrt(count)
    return bool(abs(differences.mean()) > margin)
