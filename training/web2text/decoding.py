"""Joint labels of a page's blocks (§3.5): the most likely sequence, and the likelihood of others beside it.

`max_marginals` gives the log-probability, but for a constant, of the best labeling that labels a block so.
The Viterbi labeling takes the likelier label of each block, so the difference of both as a logit is a
probability of content that is above one half exactly where the Viterbi algorithm says content.
"""

import numpy as np

from dehusk.training.arrays import Doubles


def max_marginals(unary: Doubles, pairwise: Doubles) -> Doubles:
    """Return the logarithm of the best labeling with each label of each block, shape [T, 2]."""
    ahead: list[Doubles] = [unary[0]]
    behind: list[Doubles] = [np.zeros(2)]
    for own, between in zip(unary[1:], pairwise, strict=True):
        ahead.append((ahead[-1][:, None] + between).max(0) + own)
    for own, between in zip(unary[:0:-1], pairwise[::-1], strict=True):
        behind.append((between + own + behind[-1]).max(1))
    best: Doubles = np.stack(ahead) + np.stack(behind[::-1])
    return best
