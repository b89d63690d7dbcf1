"""Where a block stands, as numbers: the 1, 2, 4 and 8 innermost elements around it, hashed.

An element is hashed by its tag and the first part of its class, id or role; the root and its children, such
as `<body>`, by their tags alone, as in `EncodedPage.structures`. Hashes are polynomials modulo a prime, so
that an ONNX graph can compute them: those of twice as many elements are made of two others.
"""

import numpy as np
import numpy.typing as npt

from dehusk.schemas.pages import StructureTensors

Integers = npt.NDArray[np.int64]

PRIME = (1 << 31) - 1
"""Hashes are below it; what it is multiplied by is below 2 ** 30, so that no product exceeds an int64."""
TAG_FACTOR, PART_FACTOR = 774_281_999, 884_974_591
LEVEL_FACTORS = (1_069_125_973, 531_144_157, 999_958_529)
"""By which the hash of 1, 2 and 4 elements is multiplied before that of as many above them is added."""
SALTS = (1, 767_418_257, 555_677_041, 668_417_831)
"""By which the hashes of 1, 2, 4 and 8 elements are multiplied, so that they are told apart."""
DEPTHS = len(SALTS)


def structure_keys(page: StructureTensors) -> Integers:
    """The hashes of the elements around each block, shape [DEPTHS, T]; 0 where it stands in none."""
    path = np.concatenate([[0], _elements(page)])
    above = np.concatenate([[0], page.parent]).astype(np.int64)
    paths = [path]
    for factor in LEVEL_FACTORS:
        path = (path * factor + path[above]) % PRIME
        above = above[above]
        paths.append(path)
    return np.stack([each[page.element] * salt % PRIME for each, salt in zip(paths, SALTS, strict=True)])


def _elements(page: StructureTensors) -> Integers:
    """The hash of each element by itself, shape [E]."""
    lengths = page.element_token_lengths.astype(np.int64)
    first = np.cumsum(lengths) - lengths + 1
    tokens = np.concatenate([[0], page.element_tokens]).astype(np.int64)
    tags = tokens[np.where(lengths > 0, first, 0)]
    parts = tokens[np.where((lengths > 1) & (page.parent > 1), first + 1, 0)]
    hashes: Integers = (tags * TAG_FACTOR + parts * PART_FACTOR) % PRIME
    return hashes
