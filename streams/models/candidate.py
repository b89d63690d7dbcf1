"""Files of a candidate version: found in one directory, and checked before any is run.

They may be hostile, so links and devices are refused, and sizes are bounded.
"""

import errno
import os
import stat
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from dehusk.inference.labelers.golden import GOLDEN_FILE, GOLDEN_PAGES, GoldenAnswer, parse_golden
from dehusk.inference.labelers.repository import CARD_FILE, CONFIG_FILE, MODEL_FILE
from dehusk.inference.labelers.signature import Signature
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.onnx_header import OnnxHeader, read_header, signature_in

MAX_MODEL_BYTES = 1 << 30
"""Largest model file; the limit of protobuf and gRPC is twice that."""
MAX_TEXT_BYTES = 1 << 24
"""Largest other file: card, golden answers, configuration."""


def open_plain(file: Path, max_bytes: int) -> BufferedReader:
    """Open a regular file for reading, without waiting for a pipe or device.

    Raises:
        FaultError: it is missing, a link, no file, or too large.
    """
    try:
        opened = os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise _fault(file, error) from error
    try:
        _check_plain(file, os.fstat(opened.fileno()), max_bytes)
    except BaseException:
        opened.close()
        raise
    return opened


def read_plain(file: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        FaultError: see `open_plain`; or it grew meanwhile.
    """
    with open_plain(file, max_bytes) as opened:
        content = opened.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise _too_large(file, len(content), max_bytes)
    return content


def read_text(file: Path) -> str:
    """Return the text of a card or configuration; raises what `read_plain` does."""
    return read_plain(file, MAX_TEXT_BYTES).decode("utf-8", "replace")


def header_of(model: Path) -> OnnxHeader:
    """Return what a model file declares.

    Raises:
        FaultError: it cannot be read.
    """
    return read_header(read_plain(model, MAX_MODEL_BYTES))


def _check_plain(file: Path, status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise FaultError(Fault.NOT_A_FILE, f"{file} is no regular file")
    if status.st_size > max_bytes:
        raise _too_large(file, status.st_size, max_bytes)


def _too_large(file: Path, size: int, max_bytes: int) -> FaultError:
    return FaultError(Fault.TOO_LARGE, f"{file} has {size:,} bytes; {max_bytes:,} are read at most")


def _fault(file: Path, error: OSError) -> FaultError:
    match error.errno:
        case errno.ELOOP:
            return FaultError(Fault.SYMBOLIC_LINK, f"{file} is a symbolic link; give the file itself")
        case errno.ENOENT | errno.ENOTDIR:
            return FaultError(Fault.MISSING_FILE, f"{file} is missing")
        case errno.EISDIR | errno.ENXIO:
            return FaultError(Fault.NOT_A_FILE, f"{file} is no regular file")
        case _:
            return FaultError(Fault.MISSING_FILE, f"{file} cannot be read: {error.strerror}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Paths of the files of a version."""

    model: Path
    golden: Path
    card: Path | None
    config: Path | None
    """Configuration next to the model file or in its model's directory, if there is one."""
    left_out: tuple[str, ...] = ()
    """Names of other files in the directory, which are not part of a version."""

    @property
    def of_model(self) -> str:
        """Name of the model in whose directory the version lies; empty where it lies in none."""
        if self.config is None or self.config.parent == self.model.resolve().parent:
            return ""
        return self.config.parent.name


Check = Callable[[Candidate], Awaitable[None]]
"""Check of a version on disk; raises a `FaultError` for one that is not to be served."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateContent:
    """Content of a candidate's files."""

    model: bytes
    signature: Signature
    golden: list[GoldenAnswer]


def find_candidate(path: Path) -> Candidate:
    """Return the files of a version, given its directory or its model file.

    Raises:
        FaultError: there is neither, or it may not be read.
    """
    try:
        return _found(path)
    except OSError as error:
        raise _fault(path, error) from error


def _found(path: Path) -> Candidate:
    if not path.is_dir():
        open_plain(path, MAX_MODEL_BYTES).close()
        return _candidate(path)
    open_plain(path / MODEL_FILE, MAX_MODEL_BYTES).close()
    known = {MODEL_FILE, GOLDEN_FILE, CARD_FILE, CONFIG_FILE}
    others = tuple(sorted(each.name for each in path.iterdir() if each.name not in known))
    return _candidate(path / MODEL_FILE, others)


def read_candidate(candidate: Candidate) -> CandidateContent:
    """Read a candidate's model file and golden answers.

    Raises:
        FaultError: the files are not those of a version that workers support.
    """
    content = read_plain(candidate.model, MAX_MODEL_BYTES)
    if candidate.card:
        open_plain(candidate.card, MAX_TEXT_BYTES).close()
    signature = signature_in(read_header(content))
    return CandidateContent(content, signature, _golden(candidate.golden, signature))


def _candidate(model: Path, left_out: tuple[str, ...] = ()) -> Candidate:
    folder = model.resolve().parent
    configs = [folder / CONFIG_FILE, *([folder.parent / CONFIG_FILE] if folder.name.isdecimal() else [])]
    card = folder / CARD_FILE
    return Candidate(
        model,
        model.with_name(GOLDEN_FILE),
        card if _exists(card) else None,
        next((config for config in configs if _exists(config)), None),
        left_out,
    )


def _exists(file: Path) -> bool:
    return file.is_symlink() or file.exists()


def _golden(file: Path, signature: Signature) -> list[GoldenAnswer]:
    """Read the golden answers of a model, one per page.

    Raises:
        FaultError: they are missing, or no answers of this signature to golden pages.
    """
    content = read_plain(file, MAX_TEXT_BYTES)
    try:
        golden = parse_golden(content)
    except ValueError as error:
        raise FaultError(Fault.WRONG_GOLDEN, f"{file} holds no golden answers: {error}") from error
    problem = next(filter(None, (_problem(each, signature) for each in golden)), None)
    if problem or not golden:
        raise FaultError(Fault.WRONG_GOLDEN, f"{file}: {problem or 'no answers'}")
    return golden


def _problem(golden: GoldenAnswer, signature: Signature) -> str | None:
    """Return the fault of a golden answer, or None."""
    if golden.name not in {page.stem for page in GOLDEN_PAGES.glob("*.html")}:
        return f"there is no golden page {golden.name!r}"
    answers = golden.tensors
    if len(answers) != len(signature.answer):
        return f"the answer to {golden.name!r} has {len(answers)} tensors, not {len(signature.answer)}"
    blocks = len(golden.page)
    for tensor, answer in zip(signature.answer, answers, strict=True):
        if len(answer) != (len(tensor.columns) or blocks):
            parts = f"{len(tensor.columns)} kinds" if tensor.columns else f"{blocks} blocks"
            return f"the answer to {golden.name!r} is not one number for each of its {parts}"
    return None
