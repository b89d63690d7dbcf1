"""Tokens as stable 32-bit hashes, so that a worker needs no model's vocabulary."""

import zlib

from inference.native.tokens import count_words, count_words_of_markup, words

__all__ = ["count_words", "count_words_of_markup", "tag_id", "word_id", "words"]


def tag_id(tag: str) -> int:
    """The token of an ancestor's tag: crc32 of `t:<tag>`."""
    return zlib.crc32(b"t:" + tag.encode("utf-8", "surrogatepass"))


def word_id(word: str) -> int:
    """The token of a word, lower case: crc32 of `w:<word>`."""
    return zlib.crc32(b"w:" + word.encode("utf-8", "surrogatepass"))
