"""Files of cleaned pages: each page's row with its place in the input, where a later run goes on."""

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

from dehusk.inference.labelers.repository import find_model
from dehusk.schemas.outcomes import Damaged
from dehusk.streams.dataset.folder import DocumentFolder, Position
from dehusk.streams.dataset.parts import Columns, Row
from dehusk.streams.files.paths import input_files
from dehusk.streams.files.position import BEGINNING, Place
from dehusk.streams.offline.lines import Input, WriteFailure, unpickle_document
from dehusk.streams.offline.run import Result, is_page, line_of
from dehusk.streams.preparation.steps import WrittenDocument
from dehusk.streams.sources.encoding import encode_text
from dehusk.streams.stores.stored import InputPath, StoredPath
from dehusk.streams.wording import pluralize
from dehusk.streams.worker_settings import WorkerSettings

PLACE_COLUMNS: Columns = (("input_file", "string"), ("input_offset", "int64"), ("input_length", "int64"))
"""Columns of the place of a page: see `Place`."""


@dataclass(slots=True)
class CleanedFiles:
    """Files of the pages of one run, in the order of the input."""

    folder: DocumentFolder
    write_failure: WriteFailure | None
    """Writer of lines of pages without a document; None for rows with documents."""
    places: deque[Place] = field(default_factory=deque)
    """Places of the items that were read and have no result yet, which the reader adds."""
    damaged: int = 0
    """Damaged files of the input, of this run and those before it."""
    _place: Place = BEGINNING

    def __post_init__(self) -> None:
        """Begin where the folder ends."""
        if (end := self.folder.end) is not None:
            self._place = Place(end["file"], end["item"], end["name"])
            self.damaged = end.get("damaged", 0)
        self.folder.start(self._position)

    @property
    def place(self) -> Place:
        """Place of the newest item that has a result."""
        return self._place

    def write(self, page: Input, result: Result) -> bool:
        """Write the row of the next item; return False for a record that is no page, which has none.

        Raises:
            ConfigurationError: the file system refuses it.
        """
        place = self.places.popleft()
        move = partial(self._move, place, is_damaged=isinstance(page, Damaged))
        if not is_page(result):
            move()
            return False
        self.folder.write(self._row(page, result, place), move)
        return True

    def _move(self, place: Place, *, is_damaged: bool) -> None:
        self._place = place
        self.damaged += is_damaged

    def _row(self, page: Input, result: Result, at: Place) -> Row:
        if self.write_failure is not None:
            return Row(line=line_of(page, result, self.write_failure))
        place = (at.name, at.offset, at.length)
        if isinstance(result, WrittenDocument):
            document = unpickle_document(result.value)
            return Row(document.id or document.url, document.url, document, place=place)
        return Row(page.id or page.url, page.url, error=str(result), place=place)

    def _position(self) -> Position:
        place = self._place
        return {"file": place.file, "item": place.item, "name": place.name, "damaged": self.damaged}


def described(
    settings: WorkerSettings, paths: Sequence[InputPath], others: Mapping[str, str]
) -> dict[str, str]:
    """Return what the rows of a run depend on: its input, its labeler and the options of its documents."""
    documents = settings.options
    named = {each.name: getattr(documents, each.name) for each in fields(documents)}
    named |= {each.name: getattr(documents.rendering, each.name) for each in fields(documents.rendering)}
    del named["rendering"]
    limits = {"max_page_bytes": settings.page.max_bytes, "max_page_blocks": settings.page.max_blocks}
    named |= {"format": settings.format, "labeler": settings.labeler, "site_key": settings.site_key}
    named |= {"page_seconds": settings.page.seconds, **limits, **_model(settings), **others}
    return {
        "input": describe_input(paths),
        **{name: encode_text(str(value)).decode() for name, value in named.items()},
    }


def _model(settings: WorkerSettings) -> dict[str, str]:
    """Return version and hash of the model that runs in this process; of others, the version asked for."""
    name, version = settings.triton.model, settings.triton.version
    if settings.labeler != "onnx":
        return {"model": name, "model_version": version}
    found, path = find_model(settings.model_repository, name, version)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"model": name, "model_version": found.version, "model_sha256": digest}


def describe_input(paths: Sequence[InputPath]) -> str:
    """Return number, size and a hash of the names and sizes of all files of an input.

    A query of the web is no part of a name: another signature of the same object is the same input.
    """
    digest, count, size = hashlib.blake2b(digest_size=8), 0, 0
    for file in input_files(paths):
        if isinstance(file, StoredPath):
            name, bytes_of_file = str(file), file.measure()
        else:
            name, bytes_of_file = str(file.absolute()), _size_of(file)
        digest.update(repr((name, bytes_of_file)).encode(errors="surrogateescape"))
        count, size = count + 1, size + bytes_of_file
    return f"{pluralize(count, 'file')} of {size:,} bytes, {digest.hexdigest()}"


def _size_of(file: Path) -> int:
    """Return the bytes of a regular file; 0 of what is none, or cannot be reached."""
    try:
        return file.stat().st_size if file.is_file() else 0
    except OSError:
        return 0
