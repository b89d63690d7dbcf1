"""The versions of models on disk and on Triton, side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dehusk.inference.repository import CARD_FILE, MODEL_FILE, models, served, versions
from dehusk.inference.signature import SIGNATURE_KEY
from dehusk.streams.models.faults import FaultError
from dehusk.streams.models.files import MOST_BYTES, MOST_TEXT_BYTES, read_plain, sha256
from dehusk.streams.models.onnx_header import OnnxHeader, read_header
from dehusk.streams.models.server import READY, ServedVersion


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version on disk."""

    model: str
    version: str
    bytes: int
    sha256: str
    signature: str
    """The encoding that it declares, e.g. `tokens 2 crc32`; empty where it cannot be read."""
    problem: str
    """Why it cannot be read."""
    is_served: bool
    """Whether the policy of its model serves it."""


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """A version on disk, on Triton, or on both."""

    model: str
    version: str
    stored: StoredVersion | None
    state: str
    """READY, LOADING, UNLOADING or UNAVAILABLE on Triton; empty where that does not know it."""
    reason: str
    is_default: bool
    """Whether those get it who name no version: the newest that Triton serves or, where none was asked, that
    the policy of its model serves. It may be another one than a roll-out has serve."""

    @property
    def was_unloaded(self) -> bool:
        """Whether Triton only says that it served the version before."""
        return self.state == "UNAVAILABLE" and self.reason == "unloaded"

    @property
    def has_failed(self) -> bool:
        """Whether Triton cannot serve it, or its file cannot be read."""
        is_unavailable = self.state == "UNAVAILABLE" and not self.was_unloaded
        return is_unavailable or bool(self.stored and self.stored.problem)


def stored_versions(repository: Path, model: str = "") -> list[StoredVersion]:
    """The versions of all models on disk, or of one."""
    found = [model] if model else models(repository)
    return [stored_version(repository, name, each) for name in found for each in versions(repository, name)]


def stored_version(repository: Path, model: str, version: str) -> StoredVersion:
    """A version on disk."""
    file = repository / model / version / MODEL_FILE
    signature = problem = ""
    try:
        signature = header_of(file).properties.get(SIGNATURE_KEY, "none").partition(";")[0]
    except FaultError as error:
        problem = str(error)
    is_served = version in served(repository, model)
    return StoredVersion(model, version, file.stat().st_size, sha256(file), signature, problem, is_served)


def header_of(file: Path) -> OnnxHeader:
    """What a model file declares.

    Raises:
        FaultError: it cannot be read.
    """
    return read_header(read_plain(file, MOST_BYTES))


def card_of(version: Path) -> str:
    """What a version's card says; empty where it has none."""
    file = version / CARD_FILE
    return read_plain(file, MOST_TEXT_BYTES).decode("utf-8", "replace") if file.exists() else ""


def side_by_side(
    stored: Sequence[StoredVersion], index: Sequence[ServedVersion] | None
) -> list[KnownVersion]:
    """All versions by model and number; `index` is None where no Triton was asked."""
    on_disk = {(each.model, each.version): each for each in stored}
    on_triton = {(each.model, each.version): each for each in index or () if each.version}
    defaults = _defaults(stored, index)
    return [
        KnownVersion(
            *key,
            on_disk.get(key),
            on_triton[key].state if key in on_triton else "",
            on_triton[key].reason if key in on_triton else "",
            key in defaults,
        )
        for key in sorted({*on_disk, *on_triton}, key=lambda key: (key[0], int(key[1])))
    ]


def _defaults(stored: Sequence[StoredVersion], index: Sequence[ServedVersion] | None) -> set[tuple[str, str]]:
    """The newest served version of each model."""
    if index is None:
        newest = {each.model: each.version for each in stored if each.is_served}
    else:
        newest = {each.model: each.version for each in index if each.state == READY}
    return {*newest.items()}
