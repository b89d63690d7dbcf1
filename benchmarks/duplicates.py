"""Rate at which the keys of duplicates find mirrors of a page, and other pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from random import Random
from statistics import median

from benchmarks.extractors import with_dehusk
from benchmarks.pages import Page
from dehusk.inference.extraction import content_hash, similarity_hash

NEAR = (3, 6)
"""Bits by which the simhashes of near-duplicates differ at most: strictly, and more loosely."""
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


def measure(pages: Sequence[Page], model: str) -> tuple[list[Mirror], list[int]]:
    """Compare mirrors of pages; count their pairs, and those that are near but differ.

    A way to change pages that changes none of them has no mirrors.
    """
    text_of = with_dehusk(model)
    texts = {page.url: text for page in pages if len((text := text_of(page.html)).split()) >= _LONG}
    kept = [page for page in pages if page.url in texts]
    changed = ((page, again) for page in kept if (again := _changed(page)) != page.html)
    pairs = {
        "print version, another template": [(texts[page.url], text_of(_printed(page))) for page in kept],
        "a sentence changed": [(texts[page.url], text_of(again)) for page, again in changed],
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
    for each in mirrors:
        near = " ".join(f"{share:6.1%}" for share in each.near)
        lines.append(
            f"{each.name:34} {each.pages:5} {each.same_hash:9.1%} {near:>19} {each.median_bits:7.1f}"
        )
    pairs, *found = false
    lines.append(f"of {pairs:,} pairs of different texts, at these distances: {found}")
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
    bits = [_distance(one, other) for one, other in pairs]
    same = sum(content_hash(one) == content_hash(other) for one, other in pairs)
    near = tuple(sum(each <= most for each in bits) / len(pairs) for most in NEAR)
    return Mirror(name, len(pairs), same / len(pairs), near, median(bits))


def _false_pairs(texts: Sequence[str]) -> list[int]:
    """Count the pairs of texts, and at each distance those that share less than 0.8 of their word runs."""
    hashed = [(_bits(text), text) for text in texts]
    bits = [
        (a ^ b).bit_count()
        for (a, one), (b, other) in combinations(hashed, 2)
        if (a ^ b).bit_count() <= max(NEAR) and _shared(one, other) < 0.8
    ]
    return [len(texts) * (len(texts) - 1) // 2, *(sum(each <= most for each in bits) for most in NEAR)]


def _shared(one: str, other: str) -> float:
    first, second = _runs(one), _runs(other)
    return len(first & second) / len(first | second)


def _runs(text: str) -> set[tuple[str, ...]]:
    parts: Sequence[str] = text.split() if text.isascii() else [each for each in text if each.isalnum()]
    return {tuple(parts[start : start + 3]) for start in range(max(1, len(parts) - 2))}


def _distance(one: str, other: str) -> int:
    return (_bits(one) ^ _bits(other)).bit_count()


def _bits(text: str) -> int:
    return int(similarity_hash(text) or "0", 16)
