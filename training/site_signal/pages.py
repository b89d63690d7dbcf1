"""Pages of whole sites, with what models answer that never saw the site."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage
from dehusk.training.alignment import content_blocks
from dehusk.training.directory import left_by, written_whole
from dehusk.training.pages import GoldPage, each_labeled, read_gold
from dehusk.training.score import score_words

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

_PAGES = "site-pages.pickle"
LEAST_PAGES = 3
"""A site of fewer pages is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class SitePage:
    """An encoded page of T blocks, its labels, and what models answered."""

    id: str
    site: str
    kind: str
    """What the site is, such as `blog`; empty where it is not known."""
    words: tuple[tuple[str, ...], ...]
    """The words of each block, as they are scored."""
    gold: tuple[str, ...] | None
    """The words of the gold text; None where it is not known: such a page only counts."""
    content: Bools
    """Shape [T]: which blocks the gold text labels as content."""
    word_counts: npt.NDArray[np.uint32]
    """Shape [T]: words per block, as a worker counts them."""
    repeat: npt.NDArray[np.int32]
    """Shape [T]: `EncodedPage.repeat`."""
    alike: npt.NDArray[np.int32] | None
    """Shape [T]: `EncodedPage.alike`."""
    texts: npt.NDArray[np.uint64]
    """Shape [T]: `EncodedPage.fingerprints`."""
    structures: npt.NDArray[np.uint64]
    """Shape [T]: `EncodedPage.structures`."""
    answers: tuple[Floats, ...]
    """Of each model, shape [2, T]: the probabilities that a block is content, and that it is a comment."""

    def __len__(self) -> int:
        return len(self.content)


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where a page comes from."""

    site: str
    collection: str


Answer = Callable[[EncodedPage, Origin], Floats]
"""What a model that never saw the page's site answers, shape [1, T] or [2, T]."""


def prepare_site_pages(
    files: Sequence[Path], directory: Path, content_share: float, answers: Sequence[Answer], processes: int
) -> list[Broken]:
    """Label, encode and write the pages of the files; those that cannot be segmented are returned."""
    broken: list[Broken] = []
    label = partial(_labeled, content_share=content_share)
    with written_whole(directory / _PAGES) as target:
        for page, encoded, origin in each_labeled(read_gold(files), label, processes, broken):
            if len(encoded):
                pickle.dump(_answered(page, encoded, origin, answers), target, protocol=5)
    return broken


def site_pages(directory: Path) -> dict[str, list[SitePage]]:
    """The pages that `prepare_site_pages` wrote, by site.

    Raises:
        ConfigurationError: it has not written any.
    """
    found: dict[str, list[SitePage]] = {}
    for page in _read(left_by("signal prepare", directory / _PAGES)):
        found.setdefault(page.site, []).append(page)
    return {site: pages for site, pages in found.items() if len(pages) >= LEAST_PAGES}


def _read(file: Path) -> Iterator[SitePage]:
    with file.open("rb") as source:
        while source.peek(1):
            yield pickle.load(source)  # noqa: S301 -- a file that this program wrote


def _labeled(page: GoldPage, content_share: float) -> tuple[SitePage, EncodedPage, Origin]:
    segmented = segment(page.html.encode("utf-8", "replace"))
    encoded = encode(segmented)
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    gold = None if page.text is None else tuple(score_words(page.text))
    labeled = SitePage(
        id=page.id,
        site=page.site,
        kind=page.kind,
        words=words,
        gold=gold,
        content=content_blocks(words, gold or (), content_share),
        word_counts=encoded.words,
        repeat=encoded.repeat,
        alike=encoded.alike,
        texts=encoded.fingerprints,
        structures=encoded.structures,
        answers=(),
    )
    return labeled, encoded, Origin(page.site, page.collection)


def _answered(page: SitePage, encoded: EncodedPage, origin: Origin, answers: Iterable[Answer]) -> SitePage:
    columns = {name: getattr(page, name) for name in SitePage.__slots__}
    return SitePage(**{**columns, "answers": tuple(_both(each(encoded, origin)) for each in answers)})


def _both(answer: Floats) -> Floats:
    """The answer, with comments that are never likely where the model says nothing of them."""
    return answer if len(answer) > 1 else np.stack([answer[0], np.zeros_like(answer[0])])
