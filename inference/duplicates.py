"""Keys by which consumers find pages of the same text, and of nearly the same, without reading texts."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator

from dehusk.inference.native.simhash import simhash

_HASH_BYTES = 16
_PART = 100_000
"""Characters from which a text is taken apart: its words, all at once, take many times its memory."""
_SPACE = re.compile(r"\s")


def content_hash(text: str) -> str | None:
    """BLAKE2b, 128 bits, of a text in NFC and UTF-8, white space as single spaces; None of an empty one."""
    digest, is_empty = hashlib.blake2b(digest_size=_HASH_BYTES), True
    for part in _parts(unicodedata.normalize("NFC", text)):
        line = " ".join(part.split())
        if line:
            digest.update((line if is_empty else f" {line}").encode("utf-8", "replace"))
            is_empty = False
    return None if is_empty else digest.hexdigest()


def similarity_hash(text: str) -> str | None:
    """The simhash in 16 hexadecimal digits; None where the text has no word."""
    found = simhash(text)
    return None if found is None else f"{found:016x}"


def _parts(text: str) -> Iterator[str]:
    """A text in parts, cut where white space is."""
    start = 0
    while start < len(text):
        space = _SPACE.search(text, start + _PART)
        end = space.start() if space else len(text)
        yield text[start:end]
        start = end
