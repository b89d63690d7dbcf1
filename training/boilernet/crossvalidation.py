"""Cross-validation: a network is scored on the half of the sites that it never saw."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import orjson

from dehusk.training.boilernet.block_scores import BlockScores, mean_f1, score_answers
from dehusk.training.boilernet.config import BoilerNetConfig
from dehusk.training.boilernet.pages import LabeledPage, reliable
from dehusk.training.boilernet.trainer import scored_epochs
from dehusk.training.directory import written_whole

_SCORES = "half-scores.json"

HalfScores = dict[str, tuple[float, float, float]]
"""F1 of boilerplate and of content, and their mean, by the name of a group of pages."""


def cross_validated(pages: Sequence[LabeledPage], config: BoilerNetConfig, seed: int) -> HalfScores:
    """The scores on the half of the sites that is not learned from, and on the validation pages in it.

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
            of_epochs.append(score_answers([held_out[i] for i in places], [answers[i] for i in places]))
    return {name: _mean(of_epochs) for name, of_epochs in scores.items()}


def known_or_scored(
    directory: Path, pages: Sequence[LabeledPage], config: BoilerNetConfig, seed: int
) -> HalfScores:
    """The scores of a configuration and seed, kept in the directory: what was interrupted goes on."""
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
    """Pages to learn from and pages to score, half of the sites each; validation pages are all scored."""
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
