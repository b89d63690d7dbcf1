"""Removing a version: never one that answers, and never the only one."""

from pathlib import Path

from dehusk.inference.repository import CONFIG_FILE, served, versions
from dehusk.inference.version_policy import names_versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.shelf import withdrawn


async def check_removable(repository: Path, model: str, version: str, server: ModelServer | None) -> None:
    """See whether a version may be removed.

    Raises:
        ConfigurationError: it answers, is the only one, named by the policy of its model, or not there.
    """
    known = versions(repository, model)
    name = f"{model}/{version}"
    if version not in known:
        raise ConfigurationError(
            f"{repository} holds no version {version} of model {model!r}; "
            f"versions there: {', '.join(known) or 'none'}"
        )
    if known == [version]:
        raise ConfigurationError(f"{name} is the only version of its model")
    by_policy = served(repository, model)
    config = repository / model / CONFIG_FILE
    if by_policy[-1:] == [version]:
        raise ConfigurationError(f"{name} is the version that answers by the version_policy in {config}")
    if version in by_policy and names_versions(config.read_text(encoding="utf-8")):
        raise ConfigurationError(f"the version_policy in {config} names {name}: serve others first")
    if server and (await server.ready(model))[-1:] == [version]:
        raise ConfigurationError(f"{name} is the version that answers on Triton at {server.address}")


async def remove_version(repository: Path, model: str, version: str, server: ModelServer | None) -> None:
    """Remove a version from disk and from Triton, where it is served beside another one.

    What Triton refuses puts it back.

    Raises:
        ConfigurationError: see `check_removable`; or Triton cannot load what remains.
        UnavailableError: Triton does not answer.
    """
    await check_removable(repository, model, version, server)
    with withdrawn(repository / model / version):
        if server and version in await server.ready(model):
            await server.load(model)
