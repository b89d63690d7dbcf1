"""Adding a version: copied aside, verified there, and only then a directory of its model."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from dehusk.inference.repository import CONFIG_FILE, served, versions
from dehusk.inference.signature import Signature
from dehusk.inference.version_policy import names_versions, with_versions
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.models.candidate import Candidate
from dehusk.streams.models.configuration import check_config, read_config
from dehusk.streams.models.faults import Fault, FaultError
from dehusk.streams.models.files import MOST_BYTES, MOST_TEXT_BYTES, read_plain
from dehusk.streams.models.onnx_header import read_header, signature_in
from dehusk.streams.models.server import ModelServer, RefusedError
from dehusk.streams.models.shelf import (
    check_new,
    copy_version,
    publish_model,
    publish_version,
    staging,
    take_away,
    write_config,
)

Verify = Callable[[Candidate], Awaitable[None]]
"""Raises a `FaultError` for a version that is not to be served."""


async def add_version(
    candidate: Candidate, repository: Path, model: str, version: str, verify: Verify | None, *, hold: bool
) -> Path:
    """Add a version to a repository, and its model where that is new; its directory.

    To `hold` is to name those that are served by now in the version policy, so that the new one waits.

    Raises:
        FaultError: it is not to be served; the repository is as it was.
        ConfigurationError: the version is there already, or cannot be written.
    """
    directory = repository / model
    if _is_new_model(directory, version):
        return await _add_model(candidate, directory, version, verify)
    with staging(directory) as place:
        copied = copy_version(candidate, place / "version")
        copied = replace(copied, config=directory / CONFIG_FILE)
        _check_config(copied)
        if verify:
            await verify(copied)
        if hold:
            _hold(repository, model)
        publish_version(place / "version", directory / version)
    return directory / version


async def load_added(server: ModelServer, added: Path) -> None:
    """Have Triton load the model of a version that was added.

    Raises:
        FaultError: Triton cannot load it. It is taken away again: Triton would not start with it.
        UnavailableError: Triton does not answer; the version stays.
    """
    try:
        await server.load(added.parent.name)
    except RefusedError as error:
        is_new = versions(added.parent.parent, added.parent.name) == [added.name]
        take_away(added.parent if is_new else added)
        raise FaultError(Fault.NOT_LOADED, f"{error}; it is taken away again") from error
    except UnavailableError as error:
        raise UnavailableError(f"{added} is added, and not loaded: {error}") from error


def _is_new_model(directory: Path, version: str) -> bool:
    check_new(directory / version)
    if not directory.parent.is_dir():
        raise ConfigurationError(f"there is no model repository {directory.parent}")
    if (directory / CONFIG_FILE).exists():
        return False
    if directory.exists():
        raise ConfigurationError(f"{directory} has no {CONFIG_FILE}: put one there, or remove the directory")
    return True


async def _add_model(candidate: Candidate, directory: Path, version: str, verify: Verify | None) -> Path:
    if candidate.config is None:
        raise FaultError(Fault.MISSING_FILE, f"a new model needs a {CONFIG_FILE} beside its model file")
    text = read_plain(candidate.config, MOST_TEXT_BYTES).decode("utf-8", "replace")
    with staging(directory.parent) as place:
        (place / "model").mkdir()
        write_config(place / "model", _renamed(text, directory.name))
        copied = copy_version(candidate, place / "model" / version)
        copied = replace(copied, config=place / "model" / CONFIG_FILE)
        _check_config(copied)
        if verify:
            await verify(copied)
        publish_model(place / "model", directory)
    return directory / version


def _hold(repository: Path, model: str) -> None:
    config = repository / model / CONFIG_FILE
    text = config.read_text(encoding="utf-8")
    if not names_versions(text):
        write_config(config.parent, with_versions(text, served(repository, model)))


def _check_config(copied: Candidate) -> None:
    """See whether a model's configuration is one of the version."""
    if copied.config is None:
        raise FaultError(Fault.MISSING_FILE, f"there is no {CONFIG_FILE}")
    config = read_config(read_plain(copied.config, MOST_TEXT_BYTES).decode("utf-8", "replace"))
    check_config(config, signature_of_file(copied.model))


def signature_of_file(model: Path) -> Signature:
    """The signature that a model file declares.

    Raises:
        FaultError: it is no model that workers speak.
    """
    return signature_in(read_header(read_plain(model, MOST_BYTES)))


def _renamed(config: str, model: str) -> str:
    """The configuration of a model of another name.

    Raises:
        FaultError: it names another one, and not so that it can be replaced.
    """
    name = read_config(config).name
    renamed = config.replace(f'name: "{name}"', f'name: "{model}"', 1) if name else config
    if read_config(renamed).name not in {"", model}:
        raise FaultError(Fault.WRONG_CONFIG, f"{CONFIG_FILE} names the model {name!r}, not {model!r}")
    return renamed
