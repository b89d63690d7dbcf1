"""Keys of a page's content, by which copies of it are known.

A page and a counted one that have a key in common are copies. Pages with the same texts have the same first
key. The other keys are of samples, so that copies whose session id, date, adverts or template differ are
likely to share one. A page of few texts has a key of its content instead, which the model and the selection
find on the page alone.

A sample draws texts by weights, and from two pages the same ones as often as the weights agree: P-MinHash
(Moulton and Jiang, "Maximally Consistent Sampling and the Jaccard Index of Probability Distributions",
ICDM 2018). The weights are the squares of the probabilities of content, so that it hardly matters how much of
a template two pages share.
"""

import hashlib

import numpy as np
import numpy.typing as npt

from dehusk.schemas.sites import SiteObservation
from dehusk.streams.sites.tally import MAX_TEXTS, Keys, distinct

_SAMPLES = 2
MAX_KEYS = 1 + _SAMPLES
"""Largest number of keys of a page's content."""
_DRAWS = 6
"""Texts of a sample, all of which a copy shares: the more, the fewer other pages are taken for copies."""
MIN_TEXTS = 2 * _DRAWS
"""Different texts from which a page is sampled: of fewer, one is much of the page."""
_MIN_PROBABILITY = np.float32(1e-3)
"""Probability of a text that is certainly no content."""
_SALTS = np.arange(1, _SAMPLES * _DRAWS + 1, dtype=np.uint64)[:, None] * np.uint64(0x9E3779B97F4A7C15)


def content_keys(page: SiteObservation, size: int) -> list[bytes]:
    """Return the keys of a page's content, of so many bytes each."""
    texts, text_of = distinct(page.texts)
    keys = [_key(texts, size)]
    if len(texts) >= MIN_TEXTS:
        likely = np.full(len(texts), _MIN_PROBABILITY)
        np.maximum.at(likely, text_of, page.probabilities)
        keys += [_key(sample, size) for sample in _samples(texts[:MAX_TEXTS], np.square(likely[:MAX_TEXTS]))]
    elif page.chosen.any():
        chosen, _ = distinct(page.texts[page.chosen])
        keys.append(_key(chosen, size))
    return keys


def _samples(texts: Keys, weights: npt.NDArray[np.float32]) -> Keys:
    """Return samples of K texts, each drawn as often as it weighs, shape [_SAMPLES, _DRAWS].

    The text whose exponentially distributed waiting time ends first is drawn.
    """
    uniform = ((_mixed(texts + _SALTS) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    first = (-np.log(uniform) / weights).argmin(axis=1)
    samples: Keys = texts[first].reshape(_SAMPLES, _DRAWS)
    return samples


def _mixed(numbers: Keys) -> Keys:
    """Return hashes of numbers, as splitmix64 has them."""
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return numbers ^ numbers >> np.uint64(31)


def _key(texts: Keys, size: int) -> bytes:
    return hashlib.blake2b(texts.astype("<u8").tobytes(), digest_size=size).digest()
