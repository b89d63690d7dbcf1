"""Data files as one file of labeled pages, and a note of where they came from."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from dehusk.schemas.outcomes import Broken
from dehusk.training.boilernet.config import DataConfig
from dehusk.training.boilernet.pages import LabeledPage, label, read_labeled_blocks, read_pages, write_pages
from dehusk.training.directory import left_by
from dehusk.training.pages import each_labeled, read_gold
from dehusk.training.sources import write_sources

_PAGES = "pages.jsonl"


def prepare_pages(
    files: Sequence[Path],
    directory: Path,
    data: DataConfig | None,
    processes: int,
    validation: Sequence[Path] = (),
) -> list[Broken]:
    """Label the pages of the files and write them to the directory; the pages that cannot be segmented.

    Without a configuration of gold texts, the files hold labeled blocks.
    """
    directory.mkdir(parents=True, exist_ok=True)
    broken: list[Broken] = []

    def read(some: Sequence[Path]) -> Iterator[LabeledPage]:
        if data is None:
            return read_labeled_blocks(some)
        return each_labeled(read_gold(some), partial(label, share=data.content_share), processes, broken)

    held_out = (replace(page, validation=True) for page in read(validation)) if validation else ()
    write_pages(directory / _PAGES, chain(read(files), held_out))
    write_sources((*files, *validation), directory)
    return broken


def prepared_pages(directory: Path) -> list[LabeledPage]:
    """The labeled pages of a directory.

    Raises:
        ConfigurationError: it has not been prepared.
    """
    return read_pages(left_by("prepare", directory / _PAGES))
