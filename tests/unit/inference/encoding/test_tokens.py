import zlib

from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.encoding.tokens import tag_id, tag_token, word_id, word_token


def test_ids_are_hashes_that_any_language_can_make() -> None:
    assert tag_id("div") == zlib.crc32(b"t:div")
    assert word_id("été") == zlib.crc32("w:été".encode())
    assert word_id("\ud800") == zlib.crc32(b"w:\xed\xa0\x80")


@given(st.text())
def test_the_top_bit_of_a_token_says_whether_it_is_a_tag(name: str) -> None:
    assert tag_token(name) == 0x80000000 | tag_id(name)
    assert word_token(name) == 0x7FFFFFFF & word_id(name)
