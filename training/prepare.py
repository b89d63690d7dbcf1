"""Data files with gold texts as one file of labeled pages, and a note of where they came from."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import orjson

from schemas.errors import PageError
from schemas.outcomes import Broken
from training.pages import GoldPage, LabeledPage, label, read_gold, read_pages, write_pages

_PAGES = "pages.jsonl"
_SOURCES = "sources.json"


def prepare(files: Sequence[Path], directory: Path, share: float, processes: int) -> list[Broken]:
    """Label the pages of the files and write them to the directory; the pages that cannot be segmented."""
    directory.mkdir(parents=True, exist_ok=True)
    broken: list[Broken] = []
    write_pages(directory / _PAGES, _labeled(files, share, processes, broken))
    names = [f"{file.name} (SHA-256 {_digest(file)[:16]}…)" for file in files]
    (directory / _SOURCES).write_bytes(orjson.dumps(names))
    return broken


def prepared_pages(directory: Path) -> list[LabeledPage]:
    """The labeled pages of a directory."""
    return read_pages(directory / _PAGES)


def sources(directory: Path) -> list[str]:
    """The data files that a directory was prepared from, each with its digest."""
    names: list[str] = orjson.loads((directory / _SOURCES).read_bytes())
    return names


def _labeled(
    files: Sequence[Path], share: float, processes: int, broken: list[Broken]
) -> Iterator[LabeledPage]:
    with get_context("spawn").Pool(processes) as pool:
        for page in pool.imap(partial(_label, share=share), read_gold(files), chunksize=4):
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
