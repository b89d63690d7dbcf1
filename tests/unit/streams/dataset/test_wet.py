"""Codes of languages in three letters, against the Unicode CLDR."""

from babel.core import get_global

from dehusk.streams.dataset.wet import _CODES, three_letters


def test_each_code_is_one_that_cldr_has_for_the_language() -> None:
    aliases = get_global("language_aliases")
    assert {two for two, three in _CODES.items() if aliases.get(three, two) != two} <= {
        "sh",
        "bh",
        "tl",
        "tw",
    }
    assert {alias for alias in aliases.values() if len(alias) == 2} <= _CODES.keys()
    assert {len(three) for three in _CODES.values()} == {3}
    assert len(set(_CODES.values())) == len(_CODES)


def test_a_language_without_two_letters_stays_as_it_is() -> None:
    assert [three_letters(code) for code in ("en", "de", "zh", "fa", "no", "ceb")] == [
        *("eng", "deu", "zho", "fas", "nor", "ceb")
    ]
