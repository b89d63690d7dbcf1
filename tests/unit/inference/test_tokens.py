import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.tokens import Remembered, tag_id, word_id, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Two Words", ["two", "words"]),
        ("don't stop_me 4ever, e.g.", ["don", "t", "stop_me", "4ever", "e", "g"]),
        ("Straße ÉTÉ", ["straße", "été"]),
        ("Привет, мир", ["привет", "мир"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("中文 ok字", ["中", "文", "ok", "字"]),
        ("日本語です", ["日", "本", "語", "で", "す"]),
        ("ภาษาไทย", ["ภาษา", "ไทย"]),
        ("𠀀𠀁", ["𠀀", "𠀁"]),
        (" – … ", []),
        ("", []),
    ],
)
def test_words_are_found_with_and_without_spaces(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text())
def test_nothing_but_separators_is_between_words(text: str) -> None:
    assert all(word and not any(character.isspace() for character in word) for word in words(text))


@given(st.text(st.characters(max_codepoint=0x2FF)))
def test_letters_and_digits_of_alphabets_are_in_words(text: str) -> None:
    found = "".join(words(text))
    assert [c for c in text.lower() if c.isalnum()] == [c for c in found if c.isalnum()]


def test_ids_are_hashes_that_any_language_can_make() -> None:
    assert tag_id("div") == zlib.crc32(b"t:div")
    assert word_id("été") == zlib.crc32("w:été".encode())
    assert word_id("\ud800") == zlib.crc32(b"w:\xed\xa0\x80")


def test_results_are_remembered_until_they_are_too_many() -> None:
    asked: list[str] = []

    def length(key: str) -> int:
        asked.append(key)
        return len(key)

    remembered = Remembered(length, 2)
    assert [remembered[key] for key in ("a", "bb", "a", "ccc", "a")] == [1, 2, 1, 3, 1]
    assert asked == ["a", "bb", "ccc", "a"]


def test_long_keys_are_not_remembered() -> None:
    remembered = Remembered(len, 2)
    assert remembered["x" * 1_000] == 1_000
    assert len(remembered) == 0
