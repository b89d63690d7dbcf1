"""A version that may be served one day: its files, found beside each other and looked at before any runs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from dehusk.inference.golden import GOLDEN_FILE, GOLDEN_PAGES, GoldenAnswer, read_golden
from dehusk.inference.repository import CARD_FILE, CONFIG_FILE, MODEL_FILE
from dehusk.inference.signature import Signature
from dehusk.streams.models.faults import Fault, FaultError
from dehusk.streams.models.files import MOST_BYTES, MOST_TEXT_BYTES, open_plain, read_plain
from dehusk.streams.models.onnx_header import OnnxHeader, read_header, signature_in


@dataclass(frozen=True, slots=True)
class Candidate:
    """Where the files of a version lie."""

    model: Path
    golden: Path
    card: Path | None
    config: Path | None
    """Of its model directory or beside the model file; None where it has none of its own."""
    left_out: tuple[str, ...] = ()
    """What else is in its directory, and no part of a version."""


@dataclass(frozen=True, slots=True, eq=False)
class Examined:
    """What was read of a candidate."""

    content: bytes
    """The model file."""
    header: OnnxHeader
    signature: Signature
    golden: list[GoldenAnswer]


def find_candidate(place: Path) -> Candidate:
    """The files of a version: of its directory, or of a model file with the others beside it.

    Raises:
        FaultError: there is neither.
    """
    if not place.is_dir():
        open_plain(place, MOST_BYTES).close()
        return _candidate(place)
    open_plain(place / MODEL_FILE, MOST_BYTES).close()
    known = {MODEL_FILE, GOLDEN_FILE, CARD_FILE, CONFIG_FILE}
    others = tuple(sorted(each.name for each in place.iterdir() if each.name not in known))
    return _candidate(place / MODEL_FILE, others)


def examine(candidate: Candidate) -> Examined:
    """Read a candidate's model file and golden answers.

    Raises:
        FaultError: the files are not those of a version that workers speak.
    """
    content = read_plain(candidate.model, MOST_BYTES)
    if candidate.card:
        open_plain(candidate.card, MOST_TEXT_BYTES).close()
    header = read_header(content)
    signature = signature_in(header)
    return Examined(content, header, signature, _golden(candidate.golden, signature))


def _candidate(model: Path, left_out: tuple[str, ...] = ()) -> Candidate:
    folder = model.resolve().parent
    configs = [folder / CONFIG_FILE, *([folder.parent / CONFIG_FILE] if folder.name.isdecimal() else [])]
    card = folder / CARD_FILE
    return Candidate(
        model,
        model.with_name(GOLDEN_FILE),
        card if _is_there(card) else None,
        next((config for config in configs if _is_there(config)), None),
        left_out,
    )


def _is_there(file: Path) -> bool:
    return file.is_symlink() or file.exists()


def _golden(file: Path, signature: Signature) -> list[GoldenAnswer]:
    """The golden answers beside a model, one per page.

    Raises:
        FaultError: they are missing, or not answers of this signature to pages that are here.
    """
    open_plain(file, MOST_TEXT_BYTES).close()
    try:
        golden = read_golden(file)
        problem = next(filter(None, (_problem(each, signature) for each in golden)), None)
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FaultError(Fault.WRONG_GOLDEN, f"{file} holds no golden answers: {error!r}") from error
    if problem or not golden:
        raise FaultError(Fault.WRONG_GOLDEN, f"{file}: {problem or 'no answers'}")
    return golden


def _problem(golden: GoldenAnswer, signature: Signature) -> str | None:
    """Why a golden answer is none, if so."""
    if golden.name not in {page.stem for page in GOLDEN_PAGES.glob("*.html")}:
        return f"there is no golden page {golden.name!r}"
    answers = [golden.probabilities, *([golden.comments] if golden.comments is not None else [])]
    if len(answers) != len(signature.answer):
        return f"the answer to {golden.name!r} has {len(answers)} tensors, not {len(signature.answer)}"
    blocks = len(golden.page)
    if any(answer.shape != (blocks,) or not np.isfinite(answer).all() for answer in answers):
        return f"the answer to {golden.name!r} is not one number for each of its {blocks} blocks"
    return None
