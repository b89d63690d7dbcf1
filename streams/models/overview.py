"""The versions of models on disk and on Triton, side by side."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dehusk.inference.labelers.repository import CARD_FILE, MODEL_FILE, models, served, trusted, versions
from dehusk.inference.labelers.signature import SIGNATURE_KEY
from dehusk.inference.labelers.triton_client import READY, ServedVersion, ready_in
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.candidate import MAX_MODEL_BYTES, header_of, open_plain, read_text
from dehusk.streams.models.names import FaultError
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.store import removed_versions


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version on disk."""

    model: str
    version: str
    bytes: int
    sha256: str
    signature: str
    """Encoding that it declares, e.g. `tokens 2 crc32`; empty where it cannot be read."""
    problem: str
    """Reason why it cannot be read; empty where it can."""
    is_served: bool
    """True if the policy of its model serves it."""
    is_trusted: bool
    """True if it is the trusted one of those."""


@dataclass(frozen=True, slots=True)
class OnTriton:
    """The versions on a Triton."""

    index: Sequence[ServedVersion]
    trusted: Mapping[str, str]
    """Trusted version of each model that has a version which is ready."""


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
    """True for the trusted version, which labels for those who name none: by Triton or, where Triton was not
    asked, by the configuration of its model. It may be another one than a roll-out has serve."""

    @property
    def was_unloaded(self) -> bool:
        """True if Triton served the version before."""
        return self.state == "UNAVAILABLE" and self.reason == "unloaded"

    @property
    def has_failed(self) -> bool:
        """True if Triton cannot serve it, or its file cannot be read."""
        is_unavailable = self.state == "UNAVAILABLE" and not self.was_unloaded
        return is_unavailable or bool(self.stored and self.stored.problem)


def stored_versions(repository: Path, model: str = "") -> list[StoredVersion]:
    """Return the versions of all models on disk, or of one."""
    found = [model] if model else models(repository)
    return [_stored_version(repository, name, each) for name in found for each in versions(repository, name)]


def _stored_version(repository: Path, model: str, version: str) -> StoredVersion:
    file = repository / model / version / MODEL_FILE
    signature = problem = ""
    size, sha256 = 0, ""
    try:
        with open_plain(file, MAX_MODEL_BYTES) as opened:
            size = os.fstat(opened.fileno()).st_size
            sha256 = hashlib.file_digest(opened, "sha256").hexdigest()
        signature = header_of(file).properties.get(SIGNATURE_KEY, "none").partition(";")[0]
    except FaultError as error:
        problem = str(error)
    except OSError as error:
        problem = f"{file}: {error.strerror}"
    try:
        is_served, is_trusted = version in served(repository, model), version == trusted(repository, model)
    except ConfigurationError as error:
        is_served, is_trusted, problem = False, False, problem or str(error)
    return StoredVersion(model, version, size, sha256, signature, problem, is_served, is_trusted)


def card_of(version: Path) -> str:
    """Return the card of a version; empty where it has none that can be seen."""
    file = version / CARD_FILE
    return read_text(file) if is_seen(file) else ""


def is_seen(file: Path) -> bool:
    """Return True if there is a file, and the rights to see it."""
    return os.path.exists(file)  # noqa: PTH110 a Path raises an error without the rights


async def read_versions(server: ModelServer) -> OnTriton:
    """Return the versions on a Triton.

    Raises:
        UnavailableError: it does not answer.
    """
    index = await server.index()
    served_models = {each.model for each in index if each.state == READY}
    return OnTriton(
        index, {each: await server.trusted(each, ready_in(index, each)) for each in served_models}
    )


def match_versions(stored: Sequence[StoredVersion], triton: OnTriton | None) -> list[KnownVersion]:
    """Return all versions by model and number; `triton` is None where none was asked."""
    on_disk = {(each.model, each.version): each for each in stored}
    on_triton = {
        (each.model, each.version): each for each in (triton.index if triton else ()) if each.version
    }
    by_disk = {(each.model, each.version) for each in stored if each.is_trusted}
    defaults = by_disk if triton is None else {*triton.trusted.items()}
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


def was_removed(known: KnownVersion, repository: Path) -> bool:
    """Return True if a version was removed from the repository, and Triton has it loaded no more."""
    is_gone = known.stored is None and known.state in {"", "UNAVAILABLE"}
    return is_gone and known.version in removed_versions(repository / known.model)
