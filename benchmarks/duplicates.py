"""Rate at which the keys of duplicates find mirrors of a page, and other pages."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from random import Random
from statistics import mean, median

import numpy as np
import numpy.typing as npt

from benchmarks.extractors import with_dehusk
from benchmarks.pages import Page
from dehusk.inference.document.duplicates import duplicate_keys
from dehusk.schemas.options import Duplicates

NEAR = (3, 6)
"""Bits by which the simhashes of near-duplicates differ at most: strictly, and more loosely."""
ALIKE = 0.7
"""Share of equal numbers from which the MinHashes of two texts are those of near-duplicates."""
BAND = 8
"""Numbers of a MinHash that an index looks up at once."""
_SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
_LONG = 200
"""Least words of a text in which some are changed."""
_SENTENCE = "This sentence is new and says something else than what was here before."


@dataclass(frozen=True, slots=True)
class Mirror:
    """A way to publish a page again, and the share of mirrors that have the same keys."""

    name: str
    pages: int
    same_hash: float
    near: tuple[float, ...]
    """Shares at each distance of `NEAR`."""
    median_bits: float
    alike: float
    """Share of mirrors whose MinHash is that of a near-duplicate."""
    indexed: float
    """Share of mirrors that have a band of the MinHash in common with the page."""


@dataclass(frozen=True, slots=True)
class _Keys:
    content_hash: str | None
    simhash: int
    bands: npt.NDArray[np.uint32]
    """MinHash, of shape [16, 8]."""


def measure(pages: Sequence[Page], model: str) -> tuple[list[Mirror], list[int]]:
    """Compare mirrors of pages; count their pairs, and those that are near but differ.

    A way to change pages that changes none of them has no mirrors.
    """
    text_of = with_dehusk(model)
    texts = {page.url: text for page in pages if len((text := text_of(page.html, page.url)).split()) >= _LONG}
    kept = [page for page in pages if page.url in texts]
    printed = ((page, _printed(page)) for page in kept)
    changed = ((page, again) for page in kept if (again := _changed(page)) != page.html)
    pairs = {
        name: [(texts[page.url], text_of(again, page.url)) for page, again in mirrors]
        for name, mirrors in (("print version, another template", printed), ("a sentence changed", changed))
    }
    random = Random(1)
    for share in _SHARES:
        others = [(text, _with_other_words(text, share, random)) for text in texts.values()]
        pairs[f"{share:.1%} of the words changed"] = others
    mirrors = [_mirror(name, each) for name, each in pairs.items() if each]
    return mirrors, _false_pairs([*texts.values()])


def report(mirrors: Sequence[Mirror], false: Sequence[int]) -> str:
    """Return the shares of mirrors that are found, and the pairs that are found and no mirrors."""
    lines = [f"{'':34} pages same hash   bits: " + " ".join(f"≤ {bits:<4}" for bits in NEAR) + " median"]
    lines[0] += f"  minhash: ≥ {ALIKE} a band"
    for each in mirrors:
        near = " ".join(f"{share:6.1%}" for share in each.near)
        lines.append(
            f"{each.name:34} {each.pages:5} {each.same_hash:9.1%} {near:>19} {each.median_bits:7.1f}"
            f"{each.alike:16.1%} {each.indexed:6.1%}"
        )
    pairs, *found, alike = false
    lines.append(f"of {pairs:,} pairs of different texts, at these distances: {found}; by MinHash: {alike}")
    return "\n".join(lines)


def _printed(page: Page) -> bytes:
    """Return the content that is known of a page in a template of its own."""
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in (page.content or "").splitlines() if line)
    return (
        f"<html><body class=print><div class=logo>Printed from {escape(page.url)}</div><h1>Article</h1>"
        f"<div class=content>{paragraphs}</div><footer>All rights reserved. <a href=#>Print</a></footer>"
    ).encode()


def _changed(page: Page) -> bytes:
    """Return the page with another sentence in place of the longest line of its content and its source."""
    lines = sorted((page.content or "").splitlines(), key=len, reverse=True)
    there = (line.split(". ")[0].encode() for line in lines if len(line) > 40)
    found = next((line for line in there if page.html.count(line) == 1), None)
    return page.html if found is None else page.html.replace(found, _SENTENCE.encode())


def _with_other_words(text: str, share: float, random: Random) -> str:
    words = text.split()
    for index in random.sample(range(len(words)), max(1, round(share * len(words)))):
        words[index] = f"other{random.randrange(1000)}"
    return " ".join(words)


def _mirror(name: str, pairs: Sequence[tuple[str, str]]) -> Mirror:
    keys = [(_keys(one), _keys(other)) for one, other in pairs]
    bits = [_distance(one, other) for one, other in keys]
    same = [one.content_hash == other.content_hash for one, other in keys]
    alike = [_resemblance(one, other) >= ALIKE for one, other in keys]
    indexed = [bool((one.bands == other.bands).all(1).any()) for one, other in keys]
    near = tuple(mean(each <= most for each in bits) for most in NEAR)
    return Mirror(name, len(pairs), mean(same), near, median(bits), mean(alike), mean(indexed))


def _false_pairs(texts: Sequence[str]) -> list[int]:
    """Count the pairs of texts, and those that are near by each key although they share few runs of words.

    For the simhash, that is less than 0.8 of their runs, for the MinHash less than 0.6.
    """
    bits, alike = [], 0
    for (first, one), (second, other) in combinations([(_keys(text), text) for text in texts], 2):
        distance, resembles = _distance(first, second), _resemblance(first, second) >= ALIKE
        if distance <= max(NEAR) or resembles:
            shared = _shared(one, other)
            alike += resembles and shared < 0.6
            if shared < 0.8:
                bits.append(distance)
    count = len(texts) * (len(texts) - 1) // 2
    return [count, *(sum(each <= most for each in bits) for most in NEAR), alike]


def _shared(one: str, other: str) -> float:
    first, second = _runs(one), _runs(other)
    return len(first & second) / len(first | second)


def _runs(text: str) -> set[tuple[str, ...]]:
    parts: Sequence[str] = text.split() if text.isascii() else [each for each in text if each.isalnum()]
    return {tuple(parts[start : start + 3]) for start in range(max(1, len(parts) - 2))}


def _keys(text: str) -> _Keys:
    simhash, minhash = (duplicate_keys(text, near) for near in (Duplicates.SIMHASH, Duplicates.MINHASH))
    numbers = np.frombuffer(b64decode(minhash.minhash or ""), "<u4")
    return _Keys(simhash.content_hash, int(simhash.simhash or "0", 16), numbers.reshape(-1, BAND))


def _distance(one: _Keys, other: _Keys) -> int:
    return (one.simhash ^ other.simhash).bit_count()


def _resemblance(one: _Keys, other: _Keys) -> float:
    return float((one.bands == other.bands).mean())
