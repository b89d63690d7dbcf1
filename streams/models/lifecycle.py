"""Lifecycle of versions: copy, verify and publish a new one; remove one unless it is needed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dehusk.inference.labelers.repository import CONFIG_FILE, served, trusted, versions
from dehusk.inference.labelers.triton_client import RefusedError
from dehusk.inference.labelers.version_policy import named_trusted, names_versions, with_versions
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.streams.folders import writing
from dehusk.streams.models.candidate import Candidate, Check, header_of, read_text
from dehusk.streams.models.model_config import WARMUP, as_override, check_config, read_config, warmup_files
from dehusk.streams.models.names import Fault, FaultError
from dehusk.streams.models.onnx_header import signature_in
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import check_stored, set_policy
from dehusk.streams.models.store import (
    Guard,
    check_new,
    copy_version,
    note_removed,
    publish,
    remove_at_once,
    staging,
    unguarded,
    withdrawn,
    write_config,
)


@dataclass(frozen=True, slots=True)
class Held:
    """Texts of a configuration by which a new version is not served yet."""

    before: str
    """The text as it was, by which it would be served."""
    text: str


@dataclass(frozen=True, slots=True)
class Added:
    """A version that was added to a repository."""

    directory: Path
    is_of_new_model: bool = False
    held: Held | None = None
    """None where the configuration of its model was left as it was."""

    @property
    def is_held(self) -> bool:
        """True while it is held, and nobody else has changed the configuration."""
        if self.held is None:
            return False
        return read_text(self.directory.parent / CONFIG_FILE) == self.held.text

    def release(self) -> None:
        """Have it be served as by the configuration before, unless somebody else has changed that."""
        if self.held is not None and self.is_held:
            write_config(self.directory.parent, self.held.before)


async def add_version(
    candidate: Candidate, repository: Path, model: str, version: str, verify: Check | None, *, hold: bool
) -> Added:
    """Add a version to a repository, and its model where that is new.

    With `hold`, the version policy is set to the versions served now, so that the new one is not served yet.
    One that is not verified is held, too.

    Raises:
        FaultError: it is not to be served; the repository is as it was.
        ConfigurationError: the version is there already, or cannot be written.
    """
    directory = repository / model
    if _is_new_model(directory, version):
        return await _add_model(candidate, directory, version, verify)
    with staging(directory) as place:
        await _copy(candidate, place / "version", directory / CONFIG_FILE, verify)
        held = _hold(repository, model) if hold or verify is None else None
        added = Added(directory / version, held=held)
        try:
            publish(place / "version", added.directory)
        except ConfigurationError:
            added.release()
            raise
    return added


async def load_added(server: ModelServer, added: Added) -> None:
    """Have Triton load a version that was added and held, by the configuration before it was.

    The file becomes this configuration again when Triton has loaded it. Where another command has changed the
    file meanwhile, that counts, and the version may wait.

    Raises:
        FaultError: Triton cannot load it. It is removed again, as Triton would not start with it.
        UnavailableError: Triton does not answer; the version stays, and waits.
    """
    model = added.directory.parent.name
    try:
        if added.held is not None and added.is_held:
            await server.load(model, as_override(read_config(added.held.before)))
        if not added.is_held:
            await server.load(model)
    except RefusedError as error:
        remove_at_once(added.directory.parent if added.is_of_new_model else added.directory)
        added.release()
        raise FaultError(Fault.NOT_LOADED, f"{error}; it is taken away again") from error
    except UnavailableError as error:
        raise UnavailableError(f"{added.directory} is added, and not loaded: {error}") from error
    added.release()


def _is_new_model(directory: Path, version: str) -> bool:
    check_new(directory / version)
    if not directory.parent.is_dir():
        raise ConfigurationError(f"there is no model repository {directory.parent}")
    if (directory / CONFIG_FILE).exists():
        return False
    if directory.exists():
        raise ConfigurationError(f"{directory} has no {CONFIG_FILE}: put one there, or remove the directory")
    return True


async def _add_model(candidate: Candidate, directory: Path, version: str, verify: Check | None) -> Added:
    if candidate.config is None:
        raise FaultError(Fault.MISSING_FILE, f"a new model needs a {CONFIG_FILE} beside its model file")
    text = read_text(candidate.config)
    warmup = warmup_files(read_config(text), candidate.config.parent)
    with staging(directory.parent) as place:
        staged = place / "model"
        staged.mkdir()
        staged.chmod(0o755)
        write_config(staged, _renamed(text, directory.name))
        _write_warmup(staged, warmup)
        await _copy(candidate, staged / version, staged / CONFIG_FILE, verify)
        publish(staged, directory)
    return Added(directory / version, is_of_new_model=True)


def _write_warmup(staged: Path, files: Mapping[str, bytes]) -> None:
    with writing(staged):
        for name, content in files.items():
            (staged / WARMUP).mkdir(exist_ok=True)
            (staged / WARMUP / name).write_bytes(content)


async def _copy(candidate: Candidate, version: Path, config: Path, verify: Check | None) -> None:
    """Copy a candidate, and check the copy with the configuration of its model."""
    copied = replace(copy_version(candidate, version), config=config)
    check_config(read_config(read_text(config)), signature_in(header_of(copied.model)))
    if verify:
        await verify(copied)


def _hold(repository: Path, model: str) -> Held | None:
    """Name the versions served now in the configuration; None if it is as it was."""
    config = repository / model / CONFIG_FILE
    text, by_policy = read_text(config), served(repository, model)
    if not by_policy or names_versions(text):
        return None
    held = Held(text, with_versions(text, by_policy))
    write_config(config.parent, held.text)
    return held


def _renamed(config: str, model: str) -> str:
    """Return the configuration of a model of another name.

    Raises:
        FaultError: it names another model in a way that cannot be replaced.
    """
    name = read_config(config).name
    renamed = config.replace(f'name: "{name}"', f'name: "{model}"', 1) if name else config
    if read_config(renamed).name not in {"", model}:
        raise FaultError(Fault.WRONG_CONFIG, f"{CONFIG_FILE} names the model {name!r}, not {model!r}")
    return renamed


@dataclass(frozen=True, slots=True)
class Removal:
    """A version that is to be removed from a repository."""

    repository: Path
    model: str
    version: str
    needed: frozenset[str] = frozenset()
    """Versions of the model that roll-outs name; empty where there are none, or none were asked."""

    @property
    def directory(self) -> Path:
        """Directory of the version."""
        return self.repository / self.model / self.version

    def __str__(self) -> str:
        return f"{self.model}/{self.version}"


async def check_removable(removal: Removal, server: ModelServer | None) -> None:
    """Check that a version may be removed.

    Raises:
        ConfigurationError: it is the only one, or not there, or named as the trusted one; or it is the
            default one, or named by the policy of its model, and no roll-out names others.
    """
    check_stored(removal.repository, removal.model, [removal.version])
    if versions(removal.repository, removal.model) == [removal.version]:
        raise ConfigurationError(f"{removal} is the only version of its model")
    config = removal.directory.parent / CONFIG_FILE
    if named_trusted(read_text(config)) == removal.version:
        raise ConfigurationError(f"{removal} is the default version: {config} names it as the trusted one")
    if not removal.needed:
        await _check_not_served(removal, server)


async def _check_not_served(removal: Removal, server: ModelServer | None) -> None:
    by_policy = served(removal.repository, removal.model)
    config = removal.directory.parent / CONFIG_FILE
    if trusted(removal.repository, removal.model) == removal.version:
        raise ConfigurationError(f"{removal} is the default version by the version_policy in {config}")
    if removal.version in by_policy and names_versions(read_text(config)):
        raise ConfigurationError(f"the version_policy in {config} names {removal}: serve others first")
    ready = await server.ready(removal.model) if server else []
    if server and await server.trusted(removal.model, ready) == removal.version:
        raise ConfigurationError(f"{removal} is the default version of Triton at {server.address}")


async def remove_version(removal: Removal, server: ModelServer | None, guard: Guard = unguarded) -> None:
    """Remove a version from disk and, where it is served beside another one, from Triton.

    If Triton refuses, the version is put back.

    Raises:
        ConfigurationError: see `check_removable`; or Triton cannot load what remains.
        UnavailableError: Triton does not answer.
    """
    await check_removable(removal, server)
    if removal.needed:
        await _serve_others(removal, server, guard)
    guard()
    note_removed(removal.directory)
    with withdrawn(removal.directory):
        if server and removal.version in await server.ready(removal.model):
            await server.load(removal.model)


async def _serve_others(removal: Removal, server: ModelServer | None, guard: Guard) -> None:
    """Have the policy name what roll-outs need and what is served, but for the version."""
    stored, by_policy = versions(removal.repository, removal.model), served(removal.repository, removal.model)
    ready = await server.ready(removal.model) if server else by_policy
    kept = {*ready, *removal.needed} - {removal.version}
    left = [version for version in stored if version in kept]
    if removal.version in {*ready, *by_policy} and left:
        await set_policy(server, removal.repository, removal.model, left, guard=guard)
