"""The model repository: one directory per model, one numbered directory per immutable version."""

from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion

DEFAULT_REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
"""The repository that comes with dehusk."""

MODEL_FILE = "model.onnx"
CARD_FILE = "card.md"
CONFIG_FILE = "config.pbtxt"


def models(repository: Path) -> list[str]:
    """Return the models that have a version, by name."""
    folders = repository.iterdir() if repository.is_dir() else ()
    return sorted(folder.name for folder in folders if versions(repository, folder.name))


def versions(repository: Path, model: str) -> list[str]:
    """Return the versions of a model that hold a model file, oldest first; none if there is no such model."""
    found = (file.parent.name for file in (repository / model).glob(f"*/{MODEL_FILE}"))
    return sorted((name for name in found if name.isdecimal()), key=int)


def served(repository: Path, model: str) -> list[str]:
    """Return the versions of a model that its `config.pbtxt` has served, oldest first.

    Raises:
        ConfigurationError: its policy cannot be read.
    """
    return _by_config(repository, model)[0]


def trusted(repository: Path, model: str) -> str:
    """Return the trusted one of the versions that are served; empty where none is served.

    The trusted version labels for all who name none. `config.pbtxt` names it or, where it does not, it is the
    newest that is served.

    Raises:
        ConfigurationError: the policy or the parameters of `config.pbtxt` cannot be read.
    """
    return _by_config(repository, model)[1]


def _by_config(repository: Path, model: str) -> tuple[list[str], str]:
    from dehusk.inference.labelers.version_policy import served_versions, trusted_version  # noqa: PLC0415 protobuf is loaded only where it is used

    config = repository / model / CONFIG_FILE
    text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
    try:
        by_policy = served_versions(text, versions(repository, model))
        return by_policy, trusted_version(text, by_policy)
    except ConfigurationError as error:
        raise ConfigurationError(f"{config}: {error}") from error


def find_model(repository: Path, model: str, version: str = "") -> tuple[ModelVersion, Path]:
    """Return the version asked for, or the trusted one of those that are served, and its model file.

    Raises:
        ConfigurationError: the repository holds no such model or version, or serves none that can be told.
    """
    known = versions(repository, model)
    if not known:
        raise ConfigurationError(
            f"{repository} holds no model {model!r}; models there: {', '.join(models(repository)) or 'none'}"
        )
    wanted = version or _trusted_version(repository, model)
    if wanted not in known:
        raise ConfigurationError(
            f"{repository} holds no version {version} of model {model!r}; versions there: {', '.join(known)}"
        )
    return ModelVersion(model, wanted), repository / model / wanted / MODEL_FILE


def _trusted_version(repository: Path, model: str) -> str:
    version = trusted(repository, model)
    if not version:
        raise ConfigurationError(
            f"version_policy in {repository / model / CONFIG_FILE} names none of the versions that are there"
        )
    return version
