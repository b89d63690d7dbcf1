"""What Triton has to serve for a roll-out: what its state names, beside what is served already."""

from pathlib import Path

from dehusk.inference.repository import versions
from dehusk.schemas.errors import ConfigurationError, UnavailableError
from dehusk.schemas.rollout import Rollout
from dehusk.streams.models.server import ModelServer


async def to_serve(server: ModelServer, repository: Path, model: str, state: Rollout) -> list[str]:
    """The versions to serve from a repository, oldest first; none where Triton serves all that is needed.

    What is served stays served. The version to which the state goes back is among them while it is on disk.
    A repository that does not hold what Triton serves is not the one that it reads.

    Raises:
        ConfigurationError: Triton does not serve all that is named, and the repository does not hold it.
        UnavailableError: Triton does not answer.
    """
    stored, ready = versions(repository, model), await ready_versions(server, model)
    wanted = [version for version in stored if version in {*state.kept, *ready}]
    if {*state.versions, *ready} <= set(stored):
        return wanted if set(wanted) != set(ready) else []
    if missing := [version for version in state.versions if version not in ready]:
        raise ConfigurationError(_told(server, repository, model, missing, ready))
    return []


async def ready_versions(server: ModelServer, model: str) -> list[str]:
    """The versions that Triton serves, oldest first.

    Raises:
        UnavailableError: it does not answer; the message says what to do where there is none.
    """
    try:
        return await server.ready(model)
    except UnavailableError as error:
        raise UnavailableError(
            f"{error}; name it with --triton, or give --without-triton for workers with --labeler onnx"
        ) from error


def _told(server: ModelServer, repository: Path, model: str, missing: list[str], ready: list[str]) -> str:
    return (
        f"Triton at {server.address} serves version {', '.join(ready) or 'none'} of model {model!r}, and not "
        f"{', '.join(missing)}, and {repository} does not hold all of them: put it there with `dehusk model "
        "add`, or name the repository that this Triton serves with --model-repository"
    )
