"""Corrections of a model by labeled pages: an offset of the logit for each structure that a block stands in.

It is a logistic regression over the hashes of `structure_keys` that begins at the model's
own logits. It holds for pages like the labeled ones alone: where few blocks stand in structures that the
labeled pages have, as on other sites, the model answers as before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_array

from dehusk.schemas.pages import StructureTensors
from dehusk.training.arrays import Bools, Doubles, Floats, Integers
from dehusk.training.fine_tuning.crawl import DEPTHS, structure_keys

MIN_PAGES = 2
"""Labeled pages that a structure must be met on to be corrected."""
UNLIKE, LIKE = 0.4, 0.6
"""Share of known structures up to which a page is not corrected, and from which it is corrected in full."""
MAX_CORRECTION = 16.0
_SURE = 1e-6
"""Distance from 0 and 1 to which probabilities are clipped."""
_ITERATIONS = 200


@dataclass(frozen=True, slots=True, eq=False)
class CorrectionExample:
    """A labeled page of T blocks with the model's answer, as a correction learns from it."""

    keys: Integers
    """Shape [DEPTHS, T]."""
    logits: Doubles
    """Shape [T]: the model's."""
    content: Bools
    """Shape [T]: the labels."""
    weights: Doubles
    """Shape [T]: the weight of each block, the root of its words; sums to 1."""

    @classmethod
    def of(
        cls,
        page: StructureTensors,
        words: npt.NDArray[np.uint32],
        content: Bools,
        probabilities: Floats,
    ) -> Self:
        """Make one of a page, given the words per block and the model's probabilities, all of shape [T]."""
        sure = probabilities.astype(np.float64).clip(_SURE, 1 - _SURE)
        roots = np.sqrt(words + 1.0)
        return cls(structure_keys(page), np.log(sure / (1 - sure)), content, roots / roots.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """Structures of the labeled pages, and the offset of the logit for each."""

    keys: Integers
    """Shape [K], sorted: the hashes of structures, those of the most elements of every labeled page."""
    weights: Floats
    """Shape [K]: 0 of structures met on fewer than MIN_PAGES."""

    def __call__(self, probabilities: Floats, page: StructureTensors) -> Floats:
        """Return the corrected probabilities of a page's T blocks."""
        return self.applied(probabilities, structure_keys(page))

    def applied(self, probabilities: Floats, keys: Integers) -> Floats:
        """Return the corrected probabilities of T blocks in structures of these hashes, [DEPTHS, T]."""
        likeness = self.likeness(keys)
        if not likeness:
            return probabilities
        place, found = _places(self.keys, keys)
        added = likeness * np.where(found, self.weights[place], 0).sum(0)
        odds = np.exp(added.clip(-MAX_CORRECTION, MAX_CORRECTION)).astype(np.float32)
        corrected = probabilities * odds / (1 - probabilities + probabilities * odds)
        applied: Floats = np.where(odds == 1, probabilities, corrected).astype(np.float32)
        return applied

    def likeness(self, keys: Integers) -> float:
        """Return the weight of the correction, 0 to 1, of a page whose blocks stand in these structures."""
        if not keys.size:
            return 0.0
        _, found = _places(self.keys, keys[-1])
        return float(np.clip((found.mean() - UNLIKE) / (LIKE - UNLIKE), 0, 1))


def fit_correction(pages: Sequence[CorrectionExample], strength: float) -> Correction:
    """Fit the correction over some pages; `strength` is the L2 penalty.

    A page costs the mean cross entropy of its blocks.
    """
    corrected, known = _structures(pages)
    if not len(corrected):
        return Correction(known, np.zeros(len(known), np.float32))
    blocks = _blocks(pages, corrected)
    logits, weights, content = (
        np.concatenate(each)
        for each in zip(*((page.logits, page.weights, page.content) for page in pages), strict=True)
    )

    def cost(offsets: Doubles) -> tuple[float, Doubles]:
        both = logits + blocks @ offsets
        entropy = weights @ (np.logaddexp(0, both) - content * both)
        slope = blocks.T @ (weights * (1 / (1 + np.exp(-both)) - content))
        return float(entropy + strength * offsets @ offsets), slope + 2 * strength * offsets

    start = np.zeros(len(corrected))
    best = minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS})
    found = np.zeros(len(known), np.float32)
    found[np.searchsorted(known, corrected)] = best.x
    return Correction(known, found)


def _structures(pages: Sequence[CorrectionExample]) -> tuple[Integers, Integers]:
    """Return the structures that are corrected, and these with the innermost of every page; sorted."""
    of_pages = [np.unique(page.keys) for page in pages]
    met, counts = np.unique(np.concatenate(of_pages), return_counts=True)
    corrected = met[(counts >= MIN_PAGES) & (met > 0)]
    innermost = np.concatenate([page.keys[-1] for page in pages])
    return corrected, np.union1d(corrected, innermost[innermost > 0])


def _blocks(pages: Sequence[CorrectionExample], structures: Integers) -> csr_array:
    """Return the structures that each block of some pages stands in, shape [blocks, structures]."""
    keys = np.concatenate([page.keys for page in pages], 1)
    place, found = _places(structures, keys)
    block = np.broadcast_to(np.arange(keys.shape[1]), (DEPTHS, keys.shape[1]))
    shape = keys.shape[1], len(structures)
    return csr_array((np.ones(found.sum()), (block[found], place[found])), shape=shape)


def _places(known: Integers, keys: Integers) -> tuple[Integers, Bools]:
    """Return the place of each key among known ones, and True where it is known."""
    if not len(known):
        return np.zeros(keys.shape, np.int64), np.zeros(keys.shape, np.bool_)
    place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return place, known[place] == keys
