import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.native.tokens import count_words, count_words_of_markup, tokens, words


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop, e.g.:", ["don", "'", "t", "stop", ",", "e", ".", "g", ".", ":"]),
        ("snake_case +1%", ["snake_case", "+", "1", "%"]),
        ("« Été … »\xa0\u2003€", ["«", "été", "…", "»", "€"]),
        ("中文。ok", ["中", "文", "。", "ok"]),
        ("…\ufffd🙂", ["…", "\ufffd", "🙂"]),
        (" \n\t", []),
    ],
)
def test_punctuation_is_found_among_the_words(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(st.text())
def test_tokens_are_the_words_and_all_else_but_white_space(text: str) -> None:
    punctuation = [token for token in tokens(text) if not words(token)]
    assert [token for token in tokens(text) if words(token)] == words(text)
    assert all(len(each) == 1 and not each.isspace() for each in punctuation)
    inside = sum(len(word) for word in words(text))
    assert inside + len(punctuation) == sum(not character.isspace() for character in text)


@given(st.text())
def test_nothing_but_separators_is_between_words(text: str) -> None:
    assert all(word and not any(character.isspace() for character in word) for word in words(text))


@given(st.text(st.characters(max_codepoint=0x2FF)))
def test_letters_and_digits_of_alphabets_are_in_words(text: str) -> None:
    found = "".join(words(text))
    assert [c for c in text.lower() if c.isalnum()] == [c for c in found if c.isalnum()]


@pytest.mark.parametrize(
    ("markup", "count"),
    [
        ("two words", 2),
        ("<p class='not these'>two<br>words", 2),
        ("1 < 2 > three", 2),
        ("1 < 2 <b>three</b>", 3),
        ("open <a href=x", 4),
        ("", 0),
    ],
)
def test_words_outside_of_tags_are_counted(markup: str, count: int) -> None:
    assert count_words_of_markup(markup) == count


@given(st.text())
def test_words_are_counted_as_they_are_found(text: str) -> None:
    assert count_words(text) == len(words(text))
