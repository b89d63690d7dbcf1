from hypothesis import example, given
from hypothesis import strategies as st

from dehusk.inference.encoding.tokens import word_id, word_token
from dehusk.inference.native.hashing import hash_blocks, hash_words
from dehusk.inference.native.tokens import tokens, words

ASCII = st.text(st.characters(max_codepoint=0x7F), max_size=200)
LONG_WORDS = st.lists(
    st.sampled_from(["A", "Ab_9", "Seven77", "EightEi8", "x" * 61, "Z" * 64, " ", ",", "\x1c"])
)


@given(ASCII | LONG_WORDS.map("".join))
@example("a" * 64 + " " + "B" * 63 + ",")
@example("\x00~@[`{_" + "y" * 200)
def test_the_words_of_a_text_in_ascii_have_the_hashes_of_words(text: str) -> None:
    hashed, counts = hash_words((text, "end"))
    assert hashed.tolist() == [*map(word_id, words(text)), word_id("end")]
    assert counts.tolist() == [len(words(text)), 1]


@given(ASCII | LONG_WORDS.map("".join))
def test_the_tokens_of_a_text_in_ascii_have_the_hashes_of_tokens(text: str) -> None:
    ids, lengths = hash_blocks(("p",), (text,))
    assert ids.tolist()[1:] == [*map(word_token, tokens(text))]
    assert lengths.tolist() == [1 + len(tokens(text))]


def test_blocks_of_one_path_have_the_same_tags() -> None:
    ids, _ = hash_blocks(("p", "p", "div/p", "p"), ("", "", "", ""))
    first, second, div, third, last = ids.tolist()
    assert first == second == third == last != div
