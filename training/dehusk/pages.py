"""Pages with their gold labels, encoded as a worker encodes them."""

import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from inference.encoding import encode
from inference.segmentation import segment
from schemas.outcomes import Broken
from schemas.pages import EncodedPage, StructureTensors
from training.alignment import content_blocks
from training.dehusk.examples import Example, with_repeats
from training.dehusk.scripts import SCRIPTS, transliterated
from training.directory import left_by, written_whole
from training.labels import DROPPED, Labels, read_labels
from training.pages import GoldPage, each_labeled
from training.score import kept_words, score_words, word_f1

_PAGES = "pages.pickle"
_SCRIPTS_EVERY = 4
"""One page in so many is looked at in other scripts, too."""


@dataclass(frozen=True, slots=True, eq=False)
class DehuskPage:
    """An encoded page, its labels, and what its text is scored by."""

    id: str
    site: str
    page_type: str
    """Empty where the page was rebuilt from blocks."""
    stripped: bool
    words: tuple[tuple[str, ...], ...]
    """The words of each block, as they are scored."""
    gold: tuple[str, ...]
    """The words of the gold text."""
    repaired: bool
    """Whether the labels were repaired by hand."""
    encoded: EncodedPage
    content: npt.NDArray[np.bool_]
    reliable: bool
    """Whether the page can be learned from."""
    scripts: Mapping[str, EncodedPage]
    """The page in other scripts, by their names; of a part of the pages only."""

    @property
    def example(self) -> Example:
        """What the model learns of the page."""
        content = with_repeats(self.content, self.encoded.repeat)
        return Example(self.site, self.page_type, self.structure, self.encoded.words, content)

    @property
    def structure(self) -> StructureTensors:
        """What the model reads of the page."""
        if self.encoded.structure is None:
            raise ValueError(f"page {self.id} was encoded without its elements")
        return self.encoded.structure

    @property
    def best_gold(self) -> Sequence[str]:
        """The words of the gold text, or of the repaired labels."""
        return self.labeled_words if self.repaired else self.gold

    @property
    def labeled_words(self) -> list[str]:
        """The words of the blocks that are labeled content."""
        return kept_words(self.words, self.content)


def prepare_pages(
    files: Sequence[Path], directory: Path, content_share: float, least_oracle: float, processes: int
) -> list[Broken]:
    """Label, encode and write the pages of the files; those that cannot be segmented are returned."""
    directory.mkdir(parents=True, exist_ok=True)
    broken: list[Broken] = []
    label = partial(_label, labels=read_labels(), content_share=content_share, least_oracle=least_oracle)
    with written_whole(directory / _PAGES) as target:
        for page in each_labeled(files, label, processes, broken):
            pickle.dump(page, target, protocol=5)
    return broken


def prepared_pages(directory: Path) -> Iterator[DehuskPage]:
    """The pages that `prepare_pages` wrote.

    Raises:
        ConfigurationError: it has not written any.
    """
    with left_by("prepare", directory / _PAGES).open("rb") as source:
        while source.peek(1):
            yield pickle.load(source)  # noqa: S301 -- a file that this program wrote


def _label(
    page: GoldPage, labels: dict[str, Labels], content_share: float, least_oracle: float
) -> DehuskPage:
    segmented = segment(page.html.encode("utf-8", "replace"))
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    gold = tuple(score_words(page.text))
    repaired = labels.get(page.id)
    if repaired is None:
        content = content_blocks(words, gold, content_share)
        oracle = word_f1(kept_words(words, content), gold)
        reliable = bool(content.any()) and oracle >= least_oracle
    else:
        content = repaired.content(page.id, segmented.texts)
        reliable = repaired != DROPPED
    return DehuskPage(
        id=page.id,
        site=page.site,
        page_type=page.page_type,
        stripped=page.stripped,
        words=words,
        gold=gold,
        repaired=repaired is not None,
        encoded=encode(segmented),
        content=content,
        reliable=reliable,
        scripts=_in_scripts(page, len(words)) if _is_transliterated(page) else {},
    )


def _is_transliterated(page: GoldPage) -> bool:
    return bool(page.page_type) and zlib.crc32(page.id.encode()) % _SCRIPTS_EVERY == 0


def _in_scripts(page: GoldPage, blocks: int) -> dict[str, EncodedPage]:
    """The page in other scripts, where it keeps its blocks."""
    pages = {
        name: segment(transliterated(page.html, script).encode("utf-8", "replace"))
        for name, script in SCRIPTS.items()
    }
    return {name: encode(each) for name, each in pages.items() if len(each) == blocks}
