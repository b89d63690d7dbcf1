"""Removing a version: never the default one, and never the only one."""

from dehusk.inference.repository import CONFIG_FILE, served, versions
from dehusk.inference.version_policy import names_versions, with_versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.streams.models.removal import Removal
from dehusk.streams.models.server import ModelServer
from dehusk.streams.models.serving import serve
from dehusk.streams.models.shelf import note_removed, withdrawn, write_config


async def check_removable(removal: Removal, server: ModelServer | None) -> None:
    """See whether a version may be removed.

    Raises:
        ConfigurationError: it is the only one, or not there; or it is the default one, or named by the
            policy of its model, and no roll-out names others.
    """
    known = versions(removal.repository, removal.model)
    if removal.version not in known:
        raise ConfigurationError(
            f"{removal.repository} holds no version {removal.version} of model {removal.model!r}; "
            f"versions there: {', '.join(known) or 'none'}"
        )
    if known == [removal.version]:
        raise ConfigurationError(f"{removal} is the only version of its model")
    if not removal.needed:
        await _check_not_served(removal, server)


async def _check_not_served(removal: Removal, server: ModelServer | None) -> None:
    by_policy = served(removal.repository, removal.model)
    config = removal.directory.parent / CONFIG_FILE
    if by_policy[-1:] == [removal.version]:
        raise ConfigurationError(f"{removal} is the default version by the version_policy in {config}")
    if removal.version in by_policy and names_versions(config.read_text(encoding="utf-8")):
        raise ConfigurationError(f"the version_policy in {config} names {removal}: serve others first")
    if server and (await server.ready(removal.model))[-1:] == [removal.version]:
        raise ConfigurationError(f"{removal} is the default version of Triton at {server.address}")


async def remove_version(removal: Removal, server: ModelServer | None) -> None:
    """Remove a version from disk and from Triton, where it is served beside another one.

    What Triton refuses puts it back.

    Raises:
        ConfigurationError: see `check_removable`; or Triton cannot load what remains.
        UnavailableError: Triton does not answer.
    """
    await check_removable(removal, server)
    if removal.needed:
        await _serve_others(removal, server)
    with withdrawn(removal.directory):
        if server and removal.version in await server.ready(removal.model):
            await server.load(removal.model)
        note_removed(removal.directory)


async def _serve_others(removal: Removal, server: ModelServer | None) -> None:
    """Have all that is served but the version, and what roll-outs need, be named in the policy."""
    stored, by_policy = versions(removal.repository, removal.model), served(removal.repository, removal.model)
    ready = await server.ready(removal.model) if server else by_policy
    kept = {*ready, *removal.needed} - {removal.version}
    left = [version for version in stored if version in kept]
    if removal.version not in {*ready, *by_policy} or not left:
        return
    if server:
        await serve(server, removal.repository, removal.model, left)
    else:
        directory = removal.directory.parent
        config = (directory / CONFIG_FILE).read_text(encoding="utf-8")
        write_config(directory, with_versions(config, left))
