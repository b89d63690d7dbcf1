"""From probabilities to content: which blocks a cleaned text is made of."""

import numpy as np
import numpy.typing as npt

LEAST_WORDS = 15.0
"""A page of which fewer words are expected to be content, and no block of words is likely to be, has none."""
LIKELY = 0.5
_BETTER_COPY = 0.25
"""The probability from which the first copy of a repeated run is kept, however likely a later one is."""


def select(
    probabilities: npt.NDArray[np.float32] | npt.NDArray[np.float64],
    words: npt.NDArray[np.uint32],
    repeat: npt.NDArray[np.int32],
) -> npt.NDArray[np.bool_]:
    """Which blocks are content, shape [T].

    They are the most probable ones, as many as make the F1 of their words greatest if the probabilities are
    right: it counts what is expected to be missed as well as what is expected to be wrong, so an unsure page
    keeps more than at a threshold of one half. A block raises it when its probability is above half of it,
    and so blocks without words are decided on, too. Of a repeated run only the better copy is kept.

    `words` are the words of each block, `repeat` the index of the earlier block that a block repeats, or -1.
    """
    likely = _without_repeats(probabilities.astype(np.float64), repeat)
    lengths = words.astype(np.float64)
    expected = float(likely @ lengths)
    if expected < LEAST_WORDS and not bool((likely[lengths > 0] >= LIKELY).any()):
        return np.zeros(len(likely), np.bool_)
    order = np.argsort(-likely, kind="stable")
    right = np.cumsum((likely * lengths)[order])
    best = float((2 * right / (np.cumsum(lengths[order]) + expected)).max())
    return likely >= best / 2


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
