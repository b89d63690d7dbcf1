"""Which blocks of a page are labeled by rules of thumb, for want of somebody who labels them."""

import numpy as np
import numpy.typing as npt

from dehusk.inference.features import BLOCK_FEATURES
from dehusk.schemas.pages import EncodedPage

Bools = npt.NDArray[np.bool_]

_COLUMNS = {feature.name: column for column, feature in enumerate(BLOCK_FEATURES)}
_PARAGRAPH_WORDS = 15
_PARAGRAPH_LINKS = 1 / 3
"""The most of a paragraph that may be linked."""
_MENU_WORDS = 15
_MENU_LINKS = 0.8


def seeds(page: EncodedPage, features: npt.NDArray[np.uint8]) -> npt.NDArray[np.int8]:
    """Labels of some blocks: 1 content, 0 boilerplate, -1 unknown; all of shape [T].

    Content are the paragraphs in `<article>` or `<main>`, or all paragraphs where these hold none.
    Boilerplate are menus, footers, asides, buttons, headers outside of articles, and short links.
    """
    boilerplate = _boilerplate(page, features)
    content = _paragraphs(page, features) & ~boilerplate
    inside = content & (_inside("article", features) | _inside("main", features))
    labels = np.full(len(page), -1, np.int8)
    labels[inside if inside.any() else content] = 1
    labels[boilerplate] = 0
    return labels


def _boilerplate(page: EncodedPage, features: npt.NDArray[np.uint8]) -> Bools:
    found = (page.words < _MENU_WORDS) & (_link_density(features) > _MENU_LINKS)
    for element in ("nav", "footer", "aside", "button"):
        found |= _inside(element, features)
    return found | (_inside("header", features) & ~_inside("article", features))


def _paragraphs(page: EncodedPage, features: npt.NDArray[np.uint8]) -> Bools:
    return (page.words >= _PARAGRAPH_WORDS) & (_link_density(features) <= _PARAGRAPH_LINKS)


def _inside(element: str, features: npt.NDArray[np.uint8]) -> Bools:
    return features[:, _COLUMNS[f"in_{element}"]] > 0


def _link_density(features: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    return features[:, _COLUMNS["link_density"]] / 255
