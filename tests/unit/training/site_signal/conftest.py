import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode, site_keys
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.scores import score_words
from dehusk.training.site_signal.crawls import SitePage

MENU = 0.6
ARTICLE = 0.55
TEASER = 0.5


def site_html(site: int, number: int) -> str:
    """A page with a menu that all pages of the site have, a teaser and an article of its own."""
    return (
        f"<html><body><ul class=menu><li>Home of mill {chr(97 + site)} and its many wheels</li></ul>"
        f"<div class=teaser>Read also about {'abcdefgh'[number % 8] * 4} and {'xyzuvw'[number % 6] * 5}</div>"
        f"<div class=article><p>{chr(97 + number) * 3} turns the wheel, {chr(98 + number) * 4} sleeps</p>"
    )


def page(site: int, number: int, *, index: bool = False) -> SitePage:
    segmented = segment(site_html(site, number).encode())
    encoded, keys = encode(segmented), site_keys(segmented)
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    content = np.array([path.endswith("/p") for path in segmented.paths])
    probabilities = np.array([MENU, TEASER, ARTICLE], np.float32)
    return SitePage(
        id=f"{site}-{number}",
        site=f"mill{site}.example",
        kind="blog" if site % 2 else "wiki",
        words=words,
        gold=None if index else words[2],
        content=content,
        word_counts=encoded.words,
        repeat=encoded.repeat,
        alike=encoded.alike,
        texts=keys.texts,
        structures=keys.structures,
        answers=(np.stack([probabilities, np.zeros_like(probabilities)]),),
    )


@pytest.fixture(scope="session")
def sites() -> dict[str, list[SitePage]]:
    """Six sites of eight pages, of which the first has no gold."""
    return {
        f"mill{site}.example": [page(site, number, index=not number) for number in range(8)]
        for site in range(6)
    }
