"""The joint labels of a page's blocks (§3.5): the most likely sequence, and how likely others are beside it.

`max_marginals` gives the log-probability, but for a constant, of the best labeling that labels a block so.
The Viterbi labeling takes the likelier label of each block, so the difference of both as a logit is a
probability of content that is above one half exactly where the Viterbi algorithm says content.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def viterbi(unary: Floats, pairwise: Floats) -> npt.NDArray[np.bool_]:
    """The most likely labels, of logarithms of potentials: of blocks [T, 2], and of pairs [T - 1, 2, 2]."""
    best, came_from = unary[0], []
    for own, between in zip(unary[1:], pairwise, strict=True):
        ways = best[:, None] + between
        came_from.append(ways.argmax(0))
        best = ways.max(0) + own
    labels = [int(best.argmax())]
    for before in reversed(came_from):
        labels.append(int(before[labels[-1]]))
    return np.array(labels[::-1], np.bool_)


def max_marginals(unary: Floats, pairwise: Floats) -> Floats:
    """The logarithm of the best labeling with each label of each block, shape [T, 2]."""
    ahead: list[Floats] = [unary[0]]
    behind: list[Floats] = [np.zeros(2)]
    for own, between in zip(unary[1:], pairwise, strict=True):
        ahead.append((ahead[-1][:, None] + between).max(0) + own)
    for own, between in zip(unary[:0:-1], pairwise[::-1], strict=True):
        behind.append((between + own + behind[-1]).max(1))
    best: Floats = np.stack(ahead) + np.stack(behind[::-1])
    return best


def marginals(unary: Floats, pairwise: Floats) -> Floats:
    """The logarithm of all labelings with each label of each block together, shape [T, 2]."""
    ahead: list[Floats] = [unary[0]]
    behind: list[Floats] = [np.zeros(2)]
    for own, between in zip(unary[1:], pairwise, strict=True):
        ahead.append(np.logaddexp.reduce(ahead[-1][:, None] + between, axis=0) + own)
    for own, between in zip(unary[:0:-1], pairwise[::-1], strict=True):
        behind.append(np.logaddexp.reduce(between + own + behind[-1], axis=1))
    together: Floats = np.stack(ahead) + np.stack(behind[::-1])
    return together
