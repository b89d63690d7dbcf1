"""Data files with gold texts as one file of labeled pages, and a note of where they came from."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import orjson

from schemas.errors import PageError
from schemas.outcomes import Broken
from training.blocks import read_labeled_blocks
from training.config import DataConfig
from training.directory import left_by
from training.pages import GoldPage, LabeledPage, label, read_gold, read_pages, write_pages

_PAGES = "pages.jsonl"
_SOURCES = "sources.json"


def prepare(
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
        return read_labeled_blocks(some) if data is None else _labeled(some, data, processes, broken)

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


def write_sources(files: Sequence[Path], directory: Path) -> None:
    """Note in a directory which data files its pages come from."""
    names = [f"{file.name} (SHA-256 {_digest(file)[:16]}…)" for file in files]
    (directory / _SOURCES).write_bytes(orjson.dumps(names))


def sources(directory: Path) -> list[str]:
    """The data files that a directory was prepared from, each with its digest."""
    names: list[str] = orjson.loads(left_by("prepare", directory / _SOURCES).read_bytes())
    return names


def _labeled(
    files: Sequence[Path], data: DataConfig, processes: int, broken: list[Broken]
) -> Iterator[LabeledPage]:
    with get_context("spawn").Pool(processes) as pool:
        labeled = pool.imap(partial(_label, share=data.content_share), read_gold(files), chunksize=4)
        for page in labeled:
            if isinstance(page, Broken):
                broken.append(page)
            else:
                yield page


def _label(page: GoldPage, share: float) -> LabeledPage | Broken:
    try:
        return label(page, share)
    except PageError as error:
        return Broken(error.reason, str(error), page.site)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
