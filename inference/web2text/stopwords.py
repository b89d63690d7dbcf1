"""Stopwords of many languages, as hashes of words."""

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.inference.tokens import word_id

STOPWORDS = Path(__file__).with_name("stopwords.txt")
"""A line for each language: its code, a colon, its words."""


def read_stopwords() -> dict[str, tuple[str, ...]]:
    """The stopwords of each language, by its code."""
    lines = STOPWORDS.read_text(encoding="utf-8").splitlines()
    return {code: tuple(words.split()) for code, _, words in (line.partition(":") for line in lines)}


def are_stopwords(words: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Whether each of some hashed words is a stopword of any language."""
    table = _hashes()
    found: npt.NDArray[np.bool_] = table[np.minimum(np.searchsorted(table, words), len(table) - 1)] == words
    return found


@cache
def _hashes() -> npt.NDArray[np.uint32]:
    """The hashes of all stopwords, in order."""
    words = {word_id(word) for of_language in read_stopwords().values() for word in of_language}
    return np.array(sorted(words), np.uint32)
