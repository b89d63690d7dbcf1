"""Words without case, accents and what is not seen, so that spellings of a name are equal."""

import unicodedata
from functools import lru_cache

_MARKS = dict.fromkeys((*range(0x300, 0x370), *range(0x64B, 0x660), 0x670, 0x200C, 0x200D))
"""Accents of Latin, Greek and Cyrillic, vowel signs of Arabic, joiners."""
_ALIKE = str.maketrans({"ı": "i", "’": "'", "ي": "ی", "ك": "ک"})
"""Letters that are written for others: Turkish without its dotless one, Arabic ones in Persian."""


@lru_cache(4096)
def fold(word: str) -> str:
    """Return a word in lower case and without accents."""
    if word.isascii():
        return word.lower()
    return (
        unicodedata.normalize("NFKD", word.casefold().translate(_ALIKE)).translate(_MARKS).translate(_ALIKE)
    )
