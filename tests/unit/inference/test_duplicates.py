import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference import extraction
from dehusk.inference.extraction import content_hash, similarity_hash

WORDS = ["red", "green", "blue", "large", "small", "old", "new", "warm", "cold", "wet"]
SENTENCES = [f"Number {number} says that thing {7 * number} is {WORDS[number % 10]}." for number in range(60)]
TEXT = " ".join(SENTENCES)


def distance(one: str, other: str) -> int:
    first, second = similarity_hash(one), similarity_hash(other)
    assert first is not None
    assert second is not None
    return (int(first, 16) ^ int(second, 16)).bit_count()


def test_the_hashes_of_a_text_never_change() -> None:
    """Consumers compare them with those that they stored long ago."""
    assert content_hash("Grüße\n\n- aus  Köln") == "de74efed54154f3e2e00af38919edf65"
    assert similarity_hash("The quick brown fox jumps over the lazy dog") == "ce816dcfa061fb73"
    assert similarity_hash("今天天气很好我们去公园") == "03016304b2a03200"
    assert similarity_hash("हिन्दी भाषा है") == "fa040c44a5f3639a"
    assert similarity_hash("x") == "2213c354766da818"


def test_white_space_and_composition_do_not_change_the_hash() -> None:
    assert content_hash(" a\u0301 b\n\nc") == content_hash("á\tb c")
    assert content_hash("a b") != content_hash("A b")


@pytest.mark.parametrize("text", ["", " \n", "\u2003"])
def test_an_empty_text_has_no_hash(text: str) -> None:
    assert content_hash(text) is None
    assert similarity_hash(text) is None


def test_a_text_without_words_has_no_simhash() -> None:
    assert content_hash("…") is not None
    assert similarity_hash("… – !") is None


def test_case_and_punctuation_do_not_change_the_simhash() -> None:
    assert distance(TEXT, TEXT.upper().replace(".", "\n\n- ")) == 0


def test_marks_are_part_of_their_words() -> None:
    assert similarity_hash("भाषा") != similarity_hash("भष")


def test_texts_are_nearer_the_more_they_share() -> None:
    one_changed = " ".join([*SENTENCES[:30], "Something else.", *SENTENCES[31:]])
    half_changed = " ".join([*SENTENCES[:30], *(f"Other words {n} stand in line {n}" for n in range(40))])
    assert distance(TEXT, one_changed) <= 8 < distance(TEXT, half_changed) < 32 + 16


@given(
    st.lists(st.sampled_from([" ", "\n", "\u2003", "a", "e\u0301", "\u0301", "é", "图"]), max_size=40).map(
        "".join
    )
)
def test_a_long_text_is_hashed_in_parts_as_if_it_were_one(text: str) -> None:
    whole = " ".join(unicodedata.normalize("NFC", text).split())
    expected = hashlib.blake2b(whole.encode(), digest_size=16).hexdigest() if whole else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extraction, "PART_CHARACTERS", 3)
        assert content_hash(text) == expected
    assert content_hash(text) == expected


@given(st.text(st.characters()), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_has_hashes_of_fixed_length(text: str, more: str) -> None:
    """Lone surrogates, too."""
    for each in (text, more, text + more):
        assert content_hash(each) is None or len(content_hash(each) or "") == 32
        assert similarity_hash(each) is None or len(similarity_hash(each) or "") == 16
    assert similarity_hash(text.strip()) == similarity_hash(text)
