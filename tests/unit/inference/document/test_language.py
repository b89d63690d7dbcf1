import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.document.language import READ_CHARACTERS, language_of

TEXTS = {
    "en": "The library opens at nine o'clock in the morning, and children may borrow up to ten books.",
    "de": "Die Bibliothek öffnet um neun Uhr morgens, und Kinder dürfen bis zu zehn Bücher ausleihen.",
    "ja": "図書館は朝九時に開きます。子どもたちは一度に十冊まで本を借りることができます。" * 2,
    "ru": "Библиотека открывается в девять часов утра, и дети могут взять сразу до десяти книг.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_text_is_detected(language: str) -> None:
    assert language_of(TEXTS[language], None) == language
    assert language_of(TEXTS[language], language) == language


def test_a_certain_detection_overrules_what_is_declared() -> None:
    assert language_of(TEXTS["de"], "en") == "de"
    assert language_of(TEXTS["ja"], "cn") == "ja"


@pytest.mark.parametrize("declared", [None, "en"])
def test_a_short_text_has_the_language_that_is_declared(declared: str | None) -> None:
    assert language_of("Öffnungszeiten und Anfahrt", declared) == declared
    assert language_of("12.50 " * 100, declared) == declared
    assert language_of("", declared) == declared


@pytest.mark.parametrize("language", ["en", "de", "ru"])
def test_the_language_of_a_text_in_capital_letters_is_detected(language: str) -> None:
    assert language_of(TEXTS[language].upper(), None) == language
    assert language_of("HELLO THIS IS AN ENGLISH TEXT IN WHICH EVERY LETTER IS A CAPITAL", None) == "en"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("図書館は朝の九時に開きます。本も借ります。", "ja"),
        ("도서관은 아침 아홉 시에 문을 열고 책을 빌립니다", "ko"),
        ("ห้องสมุดเปิดเวลาเก้าโมงเช้าทุกวันจันทร์", "th"),
        ("图书馆早上九点开门，孩子们可以借书", "zh"),
    ],
)
def test_fifteen_letters_suffice_in_scripts_with_few_to_a_word(text: str, language: str) -> None:
    assert language_of(text, None) == language
    assert language_of(text, "en") == language
    assert language_of(text[:12], "en") == "en"


def test_languages_that_are_hard_to_tell_apart_are_as_declared() -> None:
    norwegian = (
        "Biblioteket åpner klokken ni om morgenen, og barna kan låne opptil ti bøker om gangen hos oss."
    )
    assert language_of(norwegian, "nb") == "nb"
    danish = "Biblioteket åbner klokken ni om morgenen, og børnene kan låne op til ti bøger ad gangen hos os."
    assert language_of(danish, None) == "da"
    assert language_of(danish, "no") == "no"


def test_the_beginning_of_a_text_is_read_alone() -> None:
    beginning = (TEXTS["en"] + " ") * 10
    assert len(beginning) > READ_CHARACTERS
    assert language_of(beginning + TEXTS["de"] * 100, None) == "en"


def test_an_unlikely_detection_is_none() -> None:
    assert language_of("qxzv wkjq zzyx pqrt vvbn hhjk " * 4, None) is None
    assert language_of("qxzv wkjq zzyx pqrt vvbn hhjk " * 4, "en") == "en"


@given(
    st.text(st.characters(categories=["L", "Cs", "Cc"]), min_size=60, max_size=300),
    st.sampled_from([None, "en"]),
)
def test_any_text_has_a_language_or_none(text: str, declared: str | None) -> None:
    """Null characters and lone surrogates, too."""
    found = language_of(text, declared)
    assert found is None or (found.isascii() and found.islower() and 1 <= len(found) <= 8)
