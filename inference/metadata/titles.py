"""Titles in the parts between their separators, and texts as they are compared with these."""

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from html import unescape

import numpy as np
import numpy.typing as npt

from dehusk.inference.metadata.values import clean, folded

MAX_PARTS = 4
"""Parts of a title that are counted: the first and the last ones."""
MAX_READ = 1_000
"""Characters of a title in which its parts are looked for."""

_REFERENCE = re.compile(
    r"&(?:#(?!0*6[02];)[0-9]{2,5}|#[xX](?!0*3[cCeE];)[0-9a-fA-F]{2,4}"
    r"|amp|quot|apos|reg|trade|[nm]dash|hellip|[lr](?:[sd]|a|sa)quo);"
)
"""Reference to a sign of punctuation or to a letter: not to `<`, `>` or a space by name."""
_NO_WORD = re.compile(r"[\W_]+")
_LETTERS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Letters of scripts without spaces between words."""
_UNSPACED = re.compile(f"[{_LETTERS}]")
_BESIDE = f"{_LETTERS}\u3001-\u303f\uff01-\uff60"
_SIGNS = "|·•‧∙⋅–—―›‹→⋆★☆/~-"
_BETWEEN = (
    r"(?:^|\s)\s*(?:[{signs}]+|::+)(?=\s|$)\s*|\s*(?:[|｜¦]+)\s*"
    rf"|(?<=[{_BESIDE}])\s*(?:[_—–-]{{{{1,3}}}})\s*|\s*(?:[_—–-]{{{{1,3}}}})(?=[{_BESIDE}])|\s\[(?=[^][]*\]$)"
)
_SEPARATOR = re.compile(_BETWEEN.format(signs="«»" + _SIGNS))
_NO_QUOTE = re.compile(_BETWEEN.format(signs=_SIGNS))
"""Separators of a title that has quotation marks among them, as French and Russian ones."""
_RANKS = {"|": 0, "｜": 0, "¦": 0, "/": 2}
"""Separators by what they separate: a site, else a section, else words; 1 for the others."""


def title_keys(title: str) -> npt.NDArray[np.uint64]:
    """Return the keys under which the parts of a title are counted, shape [P], P at most `MAX_PARTS`."""
    return np.array([_key(part) for part in counted_parts(title)], np.uint64)


def counted_parts(title: str) -> list[str]:
    """Return the first and the last parts of a title, normalised, none twice."""
    return split_title(clean_title(title)).counted_names()


def same_text(one: str, other: str) -> bool:
    """Return True if texts have the same words, in whatever case and punctuation."""
    return normal(clean_title(one)) == normal(clean_title(other))


def _key(part: str) -> int:
    digest = blake2b(part.encode("utf-8", "surrogatepass"), digest_size=8, person=b"title").digest()
    return int.from_bytes(digest, "big")


def clean_title(text: str) -> str:
    """Return the beginning of a text as `values.clean` does; references may have been written twice."""
    text = clean(text[:MAX_READ])
    return clean(text) if "&" in text else text


def readable(text: str) -> str:
    """Return a title with those references resolved that were written twice, not those it may be about."""
    return folded(_REFERENCE.sub(lambda found: unescape(found[0]), text)) if _REFERENCE.search(text) else text


@lru_cache(256)
def normal(text: str) -> str:
    """Return the words of a text, a space between them."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text)).casefold().strip()


def words_of(name: str) -> set[str]:
    """Return the words of a normalised text; of scripts without spaces, its letters."""
    return set(name) - {" "} if _UNSPACED.search(name) else set(name.split())


def contains(name: str, part: str) -> bool:
    """Return True if a normalised text has the words of another, one after the other."""
    return f" {part} " in f" {name} " or (part in name and _UNSPACED.search(part) is not None)


class Title:
    """A title in its parts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        """Normalised text of each part."""
        self._spans: list[tuple[int, int]] = []
        self._ranks: list[int] = []
        """Rank of the separator before each part."""
        begin, rank = 0, 1
        for separator in (_NO_QUOTE if "«" in text and "»" in text else _SEPARATOR).finditer(text):
            is_part = self._add(begin, separator.start(), rank)
            if is_part or not self.names:
                begin = separator.end()
            rank = _RANKS.get(separator[0].strip()[:1], 1)
        self._add(begin, len(text), rank)

    def _add(self, begin: int, end: int, rank: int) -> bool:
        """Add a part; return False if it has no word."""
        if name := normal(self.text[begin:end]):
            self.names.append(name)
            self._spans.append((begin, end))
            self._ranks.append(rank)
        return bool(name)

    def counted_names(self) -> list[str]:
        """Return the normalised first and last parts, none twice."""
        names = list(dict.fromkeys(self.names))
        return names if len(names) <= MAX_PARTS else [*names[: MAX_PARTS // 2], *names[-(MAX_PARTS // 2) :]]

    def between(self, first: int, end: int) -> str:
        """Return the text from a part up to before another."""
        return self.text[self._spans[first][0] : self._spans[end - 1][1]].strip()

    def before_separator(self) -> str:
        """Return the text before the first of the separators that separate most, if there are two parts."""
        ranks = self._ranks[1:]
        return self.between(0, 1 + ranks.index(min(ranks)))


split_title = lru_cache(64)(Title)
