"""Tags and words as stable 32-bit hashes, so that a worker needs no model's vocabulary."""

import zlib

OF_TAG = 1 << 31
"""Bit of tokens that stand for tags."""


def tag_token(tag: str) -> int:
    """Return the token of an ancestor's tag: its hash, with the bit of tags."""
    return tag_id(tag) | OF_TAG


def word_token(word: str) -> int:
    """Return the token of a word, lower case, or of punctuation: its hash, without the bit of tags."""
    return word_id(word) & ~OF_TAG


def tag_id(tag: str) -> int:
    """Return the hash of a tag: crc32 of `t:<tag>`."""
    return zlib.crc32(b"t:" + tag.encode("utf-8", "surrogatepass"))


def word_id(word: str) -> int:
    """Return the hash of a word, lower case, or of punctuation: crc32 of `w:<word>`."""
    return zlib.crc32(b"w:" + word.encode("utf-8", "surrogatepass"))
