"""Tokens as stable 32-bit hashes, so that a worker needs no model's vocabulary."""

import re
import zlib
from collections.abc import Callable
from typing import TypeVar

_IDEOGRAPHS = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[{_IDEOGRAPHS}]|[{_UNSPACED}]{{1,4}}|[^\W{_IDEOGRAPHS}{_UNSPACED}]+")
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
_LONGEST_KEY = 256

T = TypeVar("T")


def words(text: str) -> list[str]:
    r"""The words of a text, lower case: runs of `\w`.

    Where a script writes no spaces, a Chinese or Japanese character is a word, and so are four letters of
    Thai, Lao, Khmer or Burmese, about the length of a word there.
    """
    pattern = _ASCII_WORD if text.isascii() else _WORD
    return pattern.findall(text.lower())


def tag_id(tag: str) -> int:
    """The token of an ancestor's tag: crc32 of `t:<tag>`."""
    return zlib.crc32(b"t:" + tag.encode("utf-8", "surrogatepass"))


def word_id(word: str) -> int:
    """The token of a word, lower case: crc32 of `w:<word>`."""
    return zlib.crc32(b"w:" + word.encode("utf-8", "surrogatepass"))


class Remembered(dict[str, T]):
    """The results of a function, looked up like items; forgotten when they are too many.

    Long keys are not remembered, so that memory is bounded whatever a page holds.
    """

    def __init__(self, function: Callable[[str], T], size: int) -> None:
        super().__init__()
        self._function = function
        self._size = size

    def __missing__(self, key: str) -> T:
        result = self._function(key)
        if len(key) <= _LONGEST_KEY:
            if len(self) >= self._size:
                self.clear()
            self[key] = result
        return result
