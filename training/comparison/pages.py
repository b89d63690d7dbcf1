"""The pages that labelers are compared on: those with gold of some files, or a sample of them."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from dehusk.inference.sites import site_of
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.page_labels import PageLabels, html_hash
from dehusk.schemas.pages import RawPage
from dehusk.streams.labeling.labels_file import read_labels_file
from dehusk.training.blocks import Block
from dehusk.training.by_hand import pages_of, refuse_unfit
from dehusk.training.pages import GoldPage, read_gold

_PART = re.compile(r"-(train|val|dev|test)$")


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """A page whose content is known: by its text, by its blocks' labels, or by the labels of our blocks."""

    id: str
    collection: str
    site: str
    page_type: str
    """Empty where it is not known."""
    html: bytes
    text: str = ""
    """The gold text of a page whose blocks nobody labeled."""
    blocks: tuple[Block, ...] = ()
    """Labeled blocks that the HTML was rebuilt from."""
    labels: tuple[bool, ...] | None = None
    """Which of the blocks that dehusk makes are content, as people labeled them."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which pages of each file are taken."""

    every: int = 1
    """Every n-th page with gold."""
    most: int | None = None
    """So many of these at most, drawn at random."""
    seed: int = 1

    def chosen(self, file: Path, count: int) -> list[int]:
        """The places of those that are taken, of so many pages of a file, in order."""
        places = range(0, count, self.every)
        if self.most is None or self.most >= len(places):
            return list(places)
        drawn = random.Random(f"{self.seed} {file.name}").sample(places, self.most)  # noqa: S311 no secret
        return sorted(drawn)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is taken of some files."""

    files: tuple[Path, ...]
    """With labels, directories, too."""
    labels: Path | None
    """A file of the labelling tool."""
    chosen: tuple[frozenset[int], ...]
    """By file: the places of its pages, among those with gold."""
    without_gold: int
    """Pages of which nobody says what their content is."""

    def __len__(self) -> int:
        return sum(map(len, self.chosen))

    def __iter__(self) -> Iterator[ComparedPage]:
        labels = None if self.labels is None else read_labels_file(self.labels)
        for file, chosen in zip(self.files, self.chosen, strict=True):
            pages = (page for page in _pages(file, labels) if page is not None)
            upto = max(chosen, default=-1) + 1
            yield from (page for place, page in enumerate(islice(pages, upto)) if place in chosen)


def collection_of(file: Path) -> str:
    """The collection that a file holds pages of, e.g. `cleaneval` for `cleaneval-val.jsonl.xz`."""
    return _PART.sub("", file.name.partition(".")[0])


def select_pages(files: Sequence[Path], labels: Path | None, sampling: Sampling) -> Selection:
    """The pages with gold of some files, which are all read for it; with labels, also of directories.

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
    """The pages of a file, None for those without gold."""
    if labels is None:
        return map(partial(_with_gold, collection_of(file)), read_gold([file]))
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
        text=page.text,
        blocks=page.blocks,
    )


def _labeled(file: Path, page: RawPage, labels: dict[str, PageLabels]) -> ComparedPage | None:
    of_page = labels.get(page.name)
    if of_page is None or of_page.html_hash != html_hash(page.html):
        return None
    return ComparedPage(
        id=page.name,
        collection=collection_of(file),
        site=site_of(page.url) or page.name,
        page_type="",
        html=page.html,
        labels=tuple(label == 1 for label in of_page.labels),
    )
