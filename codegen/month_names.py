"""`inference/metadata/month_names.py`: names of months, from the Unicode CLDR as Babel has it."""

import json
from collections import defaultdict
from pathlib import Path

from babel import Locale

from dehusk.inference.metadata.folding import fold

PATH = Path(__file__).parents[1] / "inference/metadata/month_names.py"

# ruff: noqa: SIM905 -- codes read better as words than as strings

LOCALES = """
    af am ar ar_DZ ar_LB ar_MA ar_MR az be bg bn bs ca cs cy da de de_AT el en en_AU es es_MX et eu fa
    fi fil fr fr_CA fy gl gu he hi hr hu hy id is it ka kk km kn ky lb lo lt lv mk ml mr ms mt my nb ne
    nl nn oc pa pl ps pt ro ru si sk sl sq sr sr_Latn sv sw ta te tg th tk tr uk ur uz vi zu
    """.split()
"""Locales of the languages that many pages are written in."""
_OTHER = {
    "de": {2: "feber"},
    "en": {9: "sept"},
    "es": {9: "setiembre sept set"},
    "fr": {2: "fev", 8: "aout", 12: "dec"},
    "he": {month: f"ב{name}" for month, name in Locale("he").months["format"]["wide"].items()},
    "nl": {3: "maart mrt"},
}
"""Names that the CLDR lacks: without accents, or with a preposition that is written as one word."""
_SHORT = 3
"""Letters of a short name; in Latin script it may be a word of another language (`led`, `api`, `mac`)."""
_WITH_SHORT_NAMES = frozenset("da de en es fr hr id it nb nl nn pl pt sv tr".split())
"""Languages in Latin script whose short names are taken."""


def module() -> str:
    """Return the text of the module."""
    languages_of: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for code in LOCALES:
        for name, month in _names_in(code):
            languages_of[name][month].add(code.partition("_")[0])
    by_month: dict[int, list[str]] = defaultdict(list)
    ambiguous: dict[str, dict[str, int]] = {}
    for name, months in sorted(languages_of.items()):
        if len(months) == 1:
            by_month[next(iter(months))].append(name)
        else:
            ambiguous[name] = {code: month for month in sorted(months) for code in sorted(months[month])}
    lines = [
        '"""Names of months in many languages, in full and short, as `folding.fold` leaves them.',
        "",
        "Written by `python -m codegen` from the Unicode CLDR (Unicode License v3).",
        '"""',
        "",
        "NAMES = (",
    ]
    for month in range(1, 13):
        lines += ['    """', *_wrapped(by_month[month]), '    """,']
    lines += [
        ")",
        '"""Names that mean the same month wherever they are used, from January on."""',
        "AMBIGUOUS = {",
    ]
    for name, months_of in ambiguous.items():
        lines.append(
            f"    {json.dumps(name, ensure_ascii=False)}: {json.dumps(months_of, ensure_ascii=False)},"
        )
    lines += ["}", '"""Names that mean different months: the month in each language."""']
    return "\n".join(lines) + "\n"


def _names_in(code: str) -> list[tuple[str, int]]:
    """Return the names of months in a locale, all of them words or two words."""
    names = []
    locale = Locale.parse(code)
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            names += [(name, month) for month, name in locale.months[context][width].items()]
    names += [(name, month) for month, text in _OTHER.get(code, {}).items() for name in text.split()]
    folded = {(fold(name).removeprefix("de ").removeprefix("d'").strip(" ."), month) for name, month in names}
    return sorted((name, month) for name, month in folded if _is_taken(name, code))


def _is_taken(name: str, code: str) -> bool:
    """Return True for a name that a date is recognised by: one word, in Arabic also two."""
    if any(map(str.isdigit, name)) or len(name.split()) > (2 if code.startswith("ar") else 1):
        return False
    return len(name) > _SHORT or (len(name) > 1 and not name.isascii()) or code[:2] in _WITH_SHORT_NAMES


def _wrapped(names: list[str]) -> list[str]:
    """Return names as lines, with a low line for the space within a name."""
    lines = [""]
    for name in names:
        word = name.replace(" ", "_")
        if len(lines[-1]) + len(word) > 104:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else f"    {word}"
    return lines
