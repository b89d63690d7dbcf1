import hashlib
import re
import sys
import unicodedata
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dehusk.inference.document.duplicates import DuplicateKeys, duplicate_keys
from dehusk.inference.native.duplicates import are_composed
from dehusk.schemas.options import Duplicates

WORDS = ["red", "green", "blue", "large", "small", "old", "new", "warm", "cold", "wet"]
SENTENCES = [f"Number {number} says that thing {7 * number} is {WORDS[number % 10]}." for number in range(60)]
TEXT = " ".join(SENTENCES)
ONE_CHANGED = " ".join([*SENTENCES[:30], "Something else.", *SENTENCES[31:]])
HALF_CHANGED = " ".join([*SENTENCES[:30], *(f"Other words {n} stand in line {n}" for n in range(40))])
NO_SPACES = "图海ตา"
SEPARATORS = " \t\n\x1c\u2003.,-_…«"
MIXED = st.text(
    st.sampled_from(f"aZ9é\u0301ßÅ\u212bक\u093cकि한\u1100\u1161😀\ud800{SEPARATORS}{NO_SPACES}"), max_size=60
)
"""Texts of words, white space, marks that compose, letters that decompose, and lone surrogates."""
MASK = 2**64 - 1


def keys(text: str) -> DuplicateKeys:
    simhash, minhash = (duplicate_keys(text, near) for near in (Duplicates.SIMHASH, Duplicates.MINHASH))
    assert simhash.content_hash == minhash.content_hash
    return DuplicateKeys(simhash.content_hash, simhash.simhash, minhash.minhash)


def content_hash(text: str) -> str | None:
    return duplicate_keys(text).content_hash


def similarity_hash(text: str) -> str | None:
    return duplicate_keys(text).simhash


def minima(text: str) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    minhash = duplicate_keys(text, Duplicates.MINHASH).minhash
    assert minhash is not None
    return np.frombuffer(b64decode(minhash, validate=True), "<u4")


def distance(one: str, other: str) -> int:
    first, second = similarity_hash(one), similarity_hash(other)
    assert first is not None
    assert second is not None
    return (int(first, 16) ^ int(second, 16)).bit_count()


def resemblance(one: str, other: str) -> float:
    return float((minima(one) == minima(other)).mean())


def mixed(state: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        state = (state ^ state >> 33) * factor & MASK
    return state ^ state >> 33


def hashed_word(word: str) -> int:
    state = 0xCBF29CE484222325
    for letter in word:
        state = (state ^ ord(letter)) * 0x100000001B3 & MASK
    return mixed(state)


def words_of(text: str) -> list[str]:
    """Find the words of a text of the characters above."""
    for each in NO_SPACES:
        text = text.replace(each, f" {each} ")
    for each in f"{SEPARATORS}😀":
        text = text.replace(each, " ")
    return "".join(each if len(each.lower()) > 1 else each.lower() for each in text).split()


def runs_of(text: str) -> list[int]:
    """Return the hashes of all runs of three words, by Python's own numbers."""
    words = [hashed_word(word) for word in words_of(text)]
    if 0 < len(words) < 3:
        return [mixed(words[0] ^ (words[1] if len(words) > 1 else 0))]
    return [
        mixed(one * 0x9E3779B97F4A7C15 + two * 0xC2B2AE3D27D4EB4F + three & MASK)
        for one, two, three in zip(words, words[1:], words[2:], strict=False)
    ]


def test_the_keys_of_a_text_never_change() -> None:
    """Consumers compare them with those that they stored long ago."""
    assert content_hash("Grüße\n\n- aus  Köln") == "de74efed54154f3e2e00af38919edf65"
    assert similarity_hash("The quick brown fox jumps over the lazy dog") == "ce816dcfa061fb73"
    assert similarity_hash("今天天气很好我们去公园") == "03016304b2a03200"
    assert similarity_hash("हिन्दी भाषा है") == "fa040c44a5f3639a"
    assert similarity_hash("x") == "2213c354766da818"
    numbers = minima("The quick brown fox jumps over the lazy dog")
    assert numbers[:4].tolist() == [558096771, 1324306046, 391951434, 1223488178]


@given(MIXED)
@example("")
@example("\u212b e\u0301")
@example("a" * 20_000 + "\u2003" * 20_000 + "é" * 20_000)
def test_the_content_hash_is_that_of_the_documented_formula(text: str) -> None:
    line = " ".join(unicodedata.normalize("NFC", text).split())
    expected = hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=16).hexdigest()
    assert content_hash(text) == (expected if line else None)


@given(MIXED)
@example("one two")
@example(" ".join(map(str, range(700))))
def test_the_simhash_and_the_minhash_are_those_of_all_runs(text: str) -> None:
    runs = runs_of(text)
    if not runs:
        assert keys(text) == DuplicateKeys(content_hash(text), None, None)
        return
    majority = sum(1 << bit for bit in range(64) if 2 * sum(run >> bit & 1 for run in runs) > len(runs))
    assert similarity_hash(text) == f"{majority:016x}"
    permutations = [(mixed(2 * each + 1) & 0xFFFFFFFF | 1, mixed(2 * each + 2)) for each in range(128)]
    least = [min((a * (run >> 32) + b) % 2**32 for run in runs) for a, b in permutations]
    assert minima(text).tolist() == least


def test_no_text_in_nfc_has_characters_that_may_compose_or_move() -> None:
    """A text of such characters alone is hashed without a look at its normal form."""
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    composing = {
        second
        for each in every
        if len(parts := unicodedata.normalize("NFD", each)) > 1
        for second in parts[1:]
    }
    unsafe = [
        each
        for each in every
        if unicodedata.combining(each) or each in composing or unicodedata.normalize("NFC", each) != each
    ]
    assert len(unsafe) > 1000
    assert [f"{ord(each):x}" for each in unsafe if are_composed(each)] == []
    assert are_composed("Grüße – “Ж” 図書館の ライブラリ 도서관 😀")


def test_white_space_and_composition_do_not_change_the_hash() -> None:
    assert content_hash(" a\u0301 b\n\nc") == content_hash("á\tb c")
    assert content_hash("a b") != content_hash("A b")


@pytest.mark.parametrize("text", ["", " \n", "\u2003"])
def test_an_empty_text_has_no_keys(text: str) -> None:
    assert keys(text) == DuplicateKeys(None, None, None)


def test_a_text_without_words_has_a_content_hash_alone() -> None:
    found = keys("… – !")
    assert found.content_hash is not None
    assert (found.simhash, found.minhash) == (None, None)


@pytest.mark.parametrize(
    ("near", "has_simhash", "has_minhash"),
    [(Duplicates.SIMHASH, True, False), (Duplicates.MINHASH, False, True), (Duplicates.NONE, False, False)],
)
def test_one_key_of_near_duplicates_is_made_or_none(
    near: Duplicates, *, has_simhash: bool, has_minhash: bool
) -> None:
    found = duplicate_keys(TEXT, near)
    assert found.content_hash == content_hash(TEXT)
    assert (found.simhash is not None, found.minhash is not None) == (has_simhash, has_minhash)


def test_case_and_punctuation_do_not_change_the_keys_of_near_duplicates() -> None:
    other = TEXT.upper().replace(".", "\n\n- ")
    assert distance(TEXT, other) == 0
    assert resemblance(TEXT, other) == 1


def test_marks_are_part_of_their_words() -> None:
    assert similarity_hash("भाषा") != similarity_hash("भष")


def test_texts_are_nearer_the_more_they_share() -> None:
    assert distance(TEXT, ONE_CHANGED) <= 8 < distance(TEXT, HALF_CHANGED) < 32 + 16
    assert resemblance(TEXT, ONE_CHANGED) > 0.9
    assert 0.5 > resemblance(TEXT, HALF_CHANGED) > 0.2
    assert resemblance(TEXT, " ".join(f"word{number}" for number in range(300))) < 0.05


def test_a_minhash_estimates_the_share_of_common_runs() -> None:
    for other in (ONE_CHANGED, HALF_CHANGED):
        one, two = set(runs_of(TEXT)), set(runs_of(other))
        assert resemblance(TEXT, other) == pytest.approx(len(one & two) / len(one | two), abs=0.12)


def test_the_documentation_says_how_keys_are_read() -> None:
    documentation = (Path(__file__).parents[4] / "docs/reference/duplicates.md").read_text()
    known: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", documentation, re.DOTALL):
        exec(code, known)
    assert known["content_hash"](TEXT) == keys(TEXT).content_hash
    one, other = keys(TEXT).minhash, keys(ONE_CHANGED).minhash
    assert known["similarity"](one, other) == resemblance(TEXT, ONE_CHANGED)
    bands = known["bands"](one)
    assert (len(bands), len(set(map(len, bands)))) == (16, 1)
    assert 0 < len(set(bands) & set(known["bands"](other))) < 16
    assert len(set(known["keys"](similarity_hash(TEXT)))) == 4


@given(st.text(st.characters()), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_has_keys_of_fixed_length(text: str, more: str) -> None:
    """Lone surrogates, too."""
    for each in (text, more, text + more):
        found = keys(each)
        assert found.content_hash is None or len(found.content_hash) == 32
        assert found.simhash is None or len(found.simhash) == 16
        assert found.minhash is None or len(found.minhash) == 684
        assert (found.simhash is None) == (found.minhash is None)
    assert similarity_hash(text.strip()) == similarity_hash(text)
