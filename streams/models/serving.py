"""Which versions of a model are served at once: written into its `config.pbtxt`, then loaded by Triton.

A policy that names versions is what holds: it survives a restart of Triton, a load by anybody, and
versions that are added. One that a load overrides is lost with the next version on disk. Requests that name
no version get the newest of those that are served, so whoever must stay with an older one names it.
"""

from collections.abc import Sequence
from pathlib import Path

from dehusk.inference.repository import CONFIG_FILE, versions
from dehusk.inference.version_policy import with_versions
from dehusk.schemas.errors import ConfigurationError, DehuskError, UnavailableError
from dehusk.streams.models.configuration import read_config
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.shelf import write_config


async def serve(server: ModelServer, repository: Path, model: str, wanted: Sequence[str]) -> None:
    """Make sure that these versions are served, and no others; what was served answers meanwhile.

    What fails puts the configuration back, and loads it.

    Raises:
        ConfigurationError: the repository holds no such version, or Triton cannot load one.
        UnavailableError: Triton does not answer.
    """
    _check_there(repository, model, wanted)
    directory = repository / model
    before = (directory / CONFIG_FILE).read_text(encoding="utf-8")
    after = with_versions(before, wanted)
    if sorted(read_config(after).version_policy.specific.versions) != sorted(map(int, wanted)):
        raise ConfigurationError(f"version_policy in {directory / CONFIG_FILE} cannot be replaced; edit it")
    if after != before:
        write_config(directory, after)
    try:
        await server.load(model)
        await _check_served(server, model, wanted)
    except BaseException:
        if after != before:
            write_config(directory, before)
            await _load_again(server, model)
        raise


def _check_there(repository: Path, model: str, wanted: Sequence[str]) -> None:
    known = versions(repository, model)
    missing = [version for version in wanted if version not in known]
    if missing or not wanted:
        raise ConfigurationError(
            f"{repository} holds no version {', '.join(missing) or 'that is named'} of model {model!r}; "
            f"versions there: {', '.join(known) or 'none'}"
        )


async def _check_served(server: ModelServer, model: str, wanted: Sequence[str]) -> None:
    ready = await server.ready(model)
    if set(ready) != set(wanted):
        raise UnavailableError(
            f"Triton at {server.address} serves version {', '.join(ready) or 'none'} of model {model!r}, "
            f"not {', '.join(wanted)}: does it read this repository?"
        )


async def _load_again(server: ModelServer, model: str) -> None:
    """Let Triton read the configuration as it was; what made this necessary is told, not what fails here."""
    try:
        await server.load(model)
    except DehuskError:
        return
