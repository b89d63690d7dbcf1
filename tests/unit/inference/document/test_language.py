import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dehusk.inference.document.language import Language, language_of
from dehusk.inference.native.scripts import SAMPLE_CHARACTERS, SCRIPTS, SEARCHED_CHARACTERS, sample_of

TEXTS = {
    "en": "The library opens at nine o'clock in the morning, and children may borrow up to ten books.",
    "de": "Die Bibliothek öffnet um neun Uhr morgens, und Kinder dürfen bis zu zehn Bücher ausleihen.",
    "ja": "図書館は朝九時に開きます。子どもたちは一度に十冊まで本を借りることができます。" * 2,
    "ru": "Библиотека открывается в девять часов утра, и дети могут взять сразу до десяти книг.",
}
CROATIAN = (
    "Udruga za mlade u suradnji sa zavodom za zapošljavanje organizira informativnu tribinu za građane i "
    "građanke grada i okolice u subotu u prostorijama gradske knjižnice."
)
NO_LANGUAGE = "qxzv wkjq zzyx pqrt vvbn hhjk " * 4


def code_of(text: str, declared: str | None) -> str | None:
    return language_of(text, declared).code


@pytest.mark.parametrize("language", TEXTS)
def test_the_language_of_a_text_is_detected(language: str) -> None:
    for declared in (None, language):
        code, probability = language_of(TEXTS[language], declared)
        assert code == language
        assert probability is not None
        assert 0.7 < probability <= 1


def test_a_certain_detection_overrules_what_is_declared() -> None:
    code, probability = language_of(TEXTS["de"], "en")
    assert code == "de"
    assert probability is not None
    assert code_of(TEXTS["ja"], "cn") == "ja"


@pytest.mark.parametrize("declared", [None, "en"])
def test_a_short_text_has_the_language_that_is_declared(declared: str | None) -> None:
    for text in ("Öffnungszeiten und Anfahrt", "12.50 " * 100, ""):
        assert language_of(text, declared) == Language(declared, None)


@pytest.mark.parametrize("language", ["en", "de", "ru"])
def test_the_language_of_a_text_in_capital_letters_is_detected(language: str) -> None:
    assert code_of(TEXTS[language].upper(), None) == language
    assert code_of("HELLO THIS IS AN ENGLISH TEXT IN WHICH EVERY LETTER IS A CAPITAL", None) == "en"


@pytest.mark.parametrize("declared", [None, "en", "de"])
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("図書館は朝", "ja"),
        ("ライブラリ", "ja"),
        ("도서관은 아침", "ko"),
        ("图书馆早上", "zh"),
        ("ห้องสมุดเปิดเวลา", "th"),
        ("Η βιβλιοθήκη ανοίγει", "el"),
        ("הספרייה נפתחת בתשע", "he"),
        ("ბიბლიოთეკა იხსნება", "ka"),
        ("Գրադարանը բացվում է", "hy"),
        ("நூலகம் திறக்கிறது", "ta"),
        ("గ్రంథాలయం తెరుచుకుంటుంది", "te"),
        ("Η εφαρμογή διαβάζει το αρχείο με το pandas", "el"),
    ],
)
def test_the_script_tells_the_language_of_a_short_text_whatever_is_declared(
    text: str, language: str, declared: str | None
) -> None:
    code, probability = language_of(text, declared)
    assert code == language
    assert probability is not None
    assert 0.5 <= probability <= 1
    assert (probability == 1) == ("pandas" not in text)


def test_a_script_that_few_letters_have_tells_no_language() -> None:
    assert (
        code_of("The word 図書館 is Japanese, and so is ライブラリ, as far as one knows here.", None) == "en"
    )
    assert code_of("α β γ", "en") == "en"


def test_languages_of_one_script_are_told_apart_where_that_is_certain_or_declared() -> None:
    yiddish = "די ביבליאָטעק עפֿנט זיך נײַן אַ זייגער אין דער פֿרי און קינדער מעגן באָרגן צען ביכער"
    assert code_of(yiddish, None) == "yi"
    assert code_of("הספרייה נפתחת בתשע", "yi") == "yi"
    assert code_of("图书馆早上九点开门", "yue") == "yue"
    assert code_of("鈴木一郎", "ja") == "ja"


def test_chinese_that_quotes_japanese_stays_chinese() -> None:
    text = "活了一百万次的猫是我非常喜欢的一本童话绘本 100万回生きたねこ，讲了一只猫如何找到了真正生命的意义"
    assert code_of(text, "en") == "zh"


def test_languages_that_are_hard_to_tell_apart_are_as_declared() -> None:
    norwegian = (
        "Biblioteket åpner klokken ni om morgenen, og barna kan låne opptil ti bøker om gangen hos oss."
    )
    assert code_of(norwegian, "nb") == "nb"
    danish = "Biblioteket åbner klokken ni om morgenen, og børnene kan låne op til ti bøger ad gangen hos os."
    assert code_of(danish, None) == "da"
    assert code_of(danish, "no") == "no"


@pytest.mark.parametrize(
    ("declared", "language"),
    [(None, "hr"), ("en", "hr"), ("hr", "hr"), ("bs", "bs"), ("sh", "sh"), ("cnr", "cnr")],
)
def test_languages_that_are_alike_are_detected_together(declared: str | None, language: str) -> None:
    code, probability = language_of(CROATIAN, declared)
    assert code == language
    assert probability is not None
    assert probability > 0.9


def test_the_beginning_of_a_text_is_read_alone() -> None:
    beginning = (TEXTS["en"] + " ") * 10
    assert len(beginning) > SAMPLE_CHARACTERS
    assert code_of(beginning + TEXTS["de"] * 100, None) == "en"
    assert code_of("--- " * SEARCHED_CHARACTERS + TEXTS["de"], None) is None


def test_what_is_no_word_is_not_read() -> None:
    drawing = (
        ",---. ,   .  |     |     ,---. _|_ 12.50 $x_1^2$ http://en.wikipedia.org/wiki/The_library_opens\n"
        * 9
    )
    assert code_of(drawing + TEXTS["de"], None) == "de"
    sample, _, _ = sample_of(f"{drawing}{TEXTS['de']} (Nebenan: Cafés)")
    assert sample == f"{TEXTS['de']} (Nebenan: Cafés)"


def test_a_text_of_few_words_is_read_from_its_beginning() -> None:
    assert sample_of("a1b2c3 x") == ("a1b2c3 x", 0, (4, *[0] * (len(SCRIPTS) - 1)))
    assert sample_of("") == ("", 0, (0,) * len(SCRIPTS))


def test_an_unlikely_detection_is_none() -> None:
    assert language_of(NO_LANGUAGE, None) == Language(None, None)
    assert language_of(NO_LANGUAGE, "fr") == Language("fr", None)


@given(
    st.text(st.characters(categories=["L", "M", "N", "Z", "Cs", "Cc"]), max_size=700),
    st.sampled_from([None, "en"]),
)
@example("\ud800 " * 100 + "\0" * 100, None)
@example("字" * 10_000, "en")
@example("a//" * 10_000, None)
def test_any_text_has_a_language_or_none(text: str, declared: str | None) -> None:
    """Null characters and lone surrogates, too."""
    code, probability = language_of(text, declared)
    assert code is None or (code.isascii() and code.islower() and 1 <= len(code) <= 8)
    assert probability is None or (code is not None and 0 <= probability <= 1)
    sample, capitals, scripts = sample_of(text)
    assert len(sample) <= SAMPLE_CHARACTERS
    assert capitals <= sum(scripts) <= len(sample)
