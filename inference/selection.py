"""From probabilities to content: which blocks a cleaned text is made of."""

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Probabilities = npt.NDArray[np.float32] | npt.NDArray[np.float64]

LEAST_WORDS = 15.0
"""A page of which fewer words are expected to be content, and no block of words may well be, has none."""
LEAST_PROBABILITY = 0.25
"""What a block of words must reach for it."""
FEW_BLOCKS = 10
"""A page of no more has hardly room for a menu, so that an unlikely block may be all that it says."""
LEAST_OF_FEW = 0.05
"""What a block of such a page must reach."""
LIKELY = 0.5
_BETTER_COPY = 0.25
"""The probability from which the first copy of a repeated run is kept, however likely a later one is."""


def select(
    probabilities: Probabilities,
    words: npt.NDArray[np.uint32],
    repeat: npt.NDArray[np.int32],
    comments: Probabilities | None = None,
) -> Bools:
    """Which blocks are content, shape [T].

    They are the most probable ones, as many as make the F1 of their words greatest if the probabilities are
    right: it counts what is expected to be missed as well as what is expected to be wrong, so an unsure page
    keeps more than at a threshold of one half. A block raises it when its probability is above half of it,
    and so blocks without words are decided on, too. Of a repeated run only the better copy is kept. User
    comments are no content.

    `words` are the words of each block, `repeat` the index of the earlier block that a block repeats, or -1.
    """
    uncommented = np.where(likely_comments(probabilities, comments), 0.0, probabilities)
    likely = _without_repeats(uncommented, repeat)
    lengths = words.astype(np.float64)
    expected = float(likely @ lengths)
    if _has_none(likely, lengths, expected):
        return np.zeros(len(likely), np.bool_)
    order = np.argsort(-likely, kind="stable")
    right = np.cumsum((likely * lengths)[order])
    best = float((2 * right / (np.cumsum(lengths[order]) + expected)).max())
    return likely >= best / 2


def _has_none(
    probabilities: npt.NDArray[np.float64], words: npt.NDArray[np.float64], expected: float
) -> bool:
    """Whether a page has no content, being all menu and footer."""
    least = LEAST_PROBABILITY if len(words) > FEW_BLOCKS else LEAST_OF_FEW
    return expected < LEAST_WORDS and not bool((probabilities[words > 0] >= least).any())


def likely_comments(probabilities: Probabilities, comments: Probabilities | None) -> Bools:
    """Which blocks are user comments, shape [T]: likely to be some, and not likely to be content."""
    if comments is None:
        return np.zeros(len(probabilities), np.bool_)
    return (comments >= LIKELY) & (probabilities < LIKELY)


def _without_repeats(
    probabilities: npt.NDArray[np.float64], repeat: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    """The probabilities, 0 for all but one copy of each repeated block."""
    repeated = np.flatnonzero(repeat >= 0)
    if not len(repeated):
        return probabilities
    kept = probabilities.tolist()
    first: dict[int, int] = {}
    """The first copy of each block that repeats one."""
    chosen: dict[int, int] = {}
    """The copy that is kept, by the first one."""
    for block, earlier in zip(repeated.tolist(), repeat[repeated].tolist(), strict=True):
        root = first[block] = first.get(earlier, earlier)
        best = chosen.get(root, root)
        if kept[best] >= min(_BETTER_COPY, kept[block]):
            kept[block] = 0.0
        else:
            kept[best], chosen[root] = 0.0, block
    return np.array(kept)
