"""Pages that labelers are compared on, those with gold of some files, and the question about each."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from dehusk.inference.segmentation.segmentation import segment
from dehusk.inference.sites import site_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.page_labels import PageLabels, html_hash
from dehusk.schemas.pages import Encoding, RawPage
from dehusk.streams.labeling.labels_file import read_labels_file
from dehusk.training.arrays import Bools, Integers
from dehusk.training.pages.alignment import CONTENT_SHARE, content_blocks
from dehusk.training.pages.gold import GoldPage, LabeledBlock, collection_of, read_gold
from dehusk.training.pages.labels import pages_of, refuse_unfit
from dehusk.training.predict import BlockPage, block_page
from dehusk.training.scores import kept_words, score_words


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """A page whose content is known: by its text, by its blocks' labels, or by the labels of our blocks."""

    id: str
    collection: str
    site: str
    page_type: str
    """Empty where it is not known."""
    html: bytes
    url: str = ""
    """Empty where it is not known."""
    text: str = ""
    """Gold text of a page whose blocks nobody labeled."""
    blocks: tuple[LabeledBlock, ...] = ()
    """Labeled blocks that the HTML was rebuilt from."""
    labels: tuple[bool, ...] | None = None
    """Labels of the blocks that dehusk makes, given by people."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Choice of the pages of each file."""

    every: int = 1
    """Every n-th page with gold."""
    most: int | None = None
    """Most of these, drawn at random."""
    seed: int = 1

    def chosen(self, file: Path, count: int) -> list[int]:
        """Return the places of those that are taken, of so many pages of a file, in order."""
        places = range(0, count, self.every)
        if self.most is None or self.most >= len(places):
            return list(places)
        drawn = random.Random(f"{self.seed} {file.name}").sample(places, self.most)  # noqa: S311 no secret
        return sorted(drawn)


@dataclass(frozen=True, slots=True)
class Selection:
    """Pages that are taken of some files."""

    files: tuple[Path, ...]
    """Files; with labels, also directories."""
    labels: Path | None
    """A file of the labelling tool."""
    chosen: tuple[frozenset[int], ...]
    """Places of each file's pages, among those with gold."""
    without_gold: int
    """Number of pages without gold."""

    def __len__(self) -> int:
        return sum(map(len, self.chosen))

    def __iter__(self) -> Iterator[ComparedPage]:
        labels = None if self.labels is None else read_labels_file(self.labels)
        for file, chosen in zip(self.files, self.chosen, strict=True):
            pages = (page for page in _pages(file, labels) if page is not None)
            upto = max(chosen, default=-1) + 1
            yield from (page for place, page in enumerate(islice(pages, upto)) if place in chosen)


def select_pages(files: Sequence[Path], labels: Path | None, sampling: Sampling) -> Selection:
    """Select pages with gold of some files, which are all read for it; with labels, also of directories.

    Raises:
        ConfigurationError: a file cannot be read, has no page with gold, or labels do not fit its pages.
    """
    of_pages = None if labels is None else read_labels_file(labels)
    if labels is not None and of_pages is not None:
        refuse_unfit(of_pages, ((page.name, page.html) for page in pages_of(files)), labels)
    elif folder := next((file for file in files if file.is_dir()), None):
        raise ConfigurationError(
            f"{folder} is a directory, which has no gold: name a file of labels, --labels"
        )
    chosen, without_gold = [], 0
    for file in files:
        known = [page is not None for page in _pages(file, of_pages)]
        without_gold += known.count(False)
        chosen.append(frozenset(sampling.chosen(file, known.count(True))))
    if not any(chosen):
        named = ", ".join(map(str, files))
        raise ConfigurationError(
            f"no page of {named} has a gold text or labels; name a file of labels: --labels"
        )
    return Selection(tuple(files), labels, tuple(chosen), without_gold)


def _pages(file: Path, labels: dict[str, PageLabels] | None) -> Iterator[ComparedPage | None]:
    if labels is None:
        return map(partial(_with_gold, collection_of(file.name)), read_gold([file]))
    return (_labeled(file, page, labels) for page in pages_of([file]))


def _with_gold(collection: str, page: GoldPage) -> ComparedPage | None:
    if page.text is None:
        return None
    return ComparedPage(
        id=page.id,
        collection=collection,
        site=page.site,
        page_type=page.page_type or page.kind,
        html=page.utf8,
        url=page.url,
        text=page.text,
        blocks=page.blocks,
    )


def _labeled(file: Path, page: RawPage, labels: dict[str, PageLabels]) -> ComparedPage | None:
    of_page = labels.get(page.name)
    if of_page is None or of_page.html_hash != html_hash(page.html):
        return None
    return ComparedPage(
        id=page.name,
        collection=collection_of(file.name),
        site=site_of(page.url) or page.name,
        page_type="",
        html=page.html,
        url=page.url,
        labels=tuple(label == 1 for label in of_page.labels),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A page as it is asked about: its T units, those that are content, and its text."""

    raw: RawPage
    gold: Sequence[str]
    """Words of its content."""
    units: Sequence[Sequence[str]]
    """Words of each unit."""
    truth: Bools
    """Shape [T]: the units that are content."""
    places: Integers
    """Shape [T]: the blocks that dehusk makes that hold each unit; -1 for none."""
    as_it_came: BlockPage | None = None
    """Units as labelers read them that need no elements; None of a page that came as HTML."""
    problem: str = ""
    """Reason why it has no units, or why none of them is held by a block."""


def question_of(page: ComparedPage) -> Question:
    """Return the question about a page."""
    raw = RawPage(page.url, page.html)
    if page.blocks:
        return _of_blocks(page, raw)
    try:
        texts = segment(page.html, url=page.url).texts
    except PageError as error:
        problem = f"{error.reason}: {error}"
        none = np.zeros(0, np.bool_)
        return Question(raw, score_words(page.text), [], none, none.astype(np.int64), problem=problem)
    units = [score_words(text) for text in texts]
    places = np.arange(len(units))
    if page.labels is not None:
        truth = np.array(page.labels, np.bool_)
        return Question(raw, kept_words(units, truth), units, truth, places)
    gold = score_words(page.text)
    return Question(raw, gold, units, content_blocks(units, gold, CONTENT_SHARE), places)


def _of_blocks(page: ComparedPage, raw: RawPage) -> Question:
    """Return the question about a page that came cut into blocks; blocks without text are no units."""
    blocks = [block for block in page.blocks if block.has_text]
    rebuilt = block_page(page.id, blocks, rebuild=True)
    units = [score_words(block.text) for block in blocks]
    truth = np.array([block.is_content for block in blocks], np.bool_)
    return Question(
        raw=raw,
        gold=kept_words(units, truth),
        units=units,
        truth=truth,
        places=rebuilt.places,
        as_it_came=block_page(page.id, blocks, rebuild=False, encodings=(Encoding.TOKENS,)),
        problem=rebuilt.problem,
    )
