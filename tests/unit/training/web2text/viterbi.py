"""The Viterbi algorithm, which the labels of Web2Text are compared with."""

import numpy as np

from dehusk.training.arrays import Bools, Doubles


def viterbi(unary: Doubles, pairwise: Doubles) -> Bools:
    """The most likely labels by logarithms of potentials of blocks [T, 2] and pairs [T - 1, 2, 2]."""
    best, came_from = unary[0], []
    for own, between in zip(unary[1:], pairwise, strict=True):
        ways = best[:, None] + between
        came_from.append(ways.argmax(0))
        best = ways.max(0) + own
    labels = [int(best.argmax())]
    for before in reversed(came_from):
        labels.append(int(before[labels[-1]]))
    return np.array(labels[::-1], np.bool_)
