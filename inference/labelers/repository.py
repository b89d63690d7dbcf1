"""The model repository: one directory per model, one numbered directory per immutable version."""

import re
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion

DEFAULT_REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
"""The repository that comes with dehusk."""

MODEL_FILE = "model.onnx"
CARD_FILE = "card.md"
CONFIG_FILE = "config.pbtxt"
_VERSION = re.compile("[1-9][0-9]{0,17}")
"""Names of folders that Triton takes for versions, as far as its policies can name them."""


def models(repository: Path) -> list[str]:
    """Return the models that have a version, by name.

    Raises:
        ConfigurationError: the repository cannot be read.
    """
    return sorted(folder.name for folder in _within(repository) if versions(repository, folder.name))


def versions(repository: Path, model: str) -> list[str]:
    """Return the versions of a model that hold a model file, oldest first; none if there is no such model.

    One that may not be read counts: it may be the one that is meant to label.

    Raises:
        ConfigurationError: the folder of the model cannot be read.
    """
    folders = [each for each in _within(repository / model) if _VERSION.fullmatch(each.name)]
    return sorted((each.name for each in folders if _may_hold_model(each)), key=int)


def _within(folder: Path) -> list[Path]:
    try:
        return [*folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ConfigurationError(f"cannot read {folder}: {error.strerror}") from error


def _may_hold_model(version: Path) -> bool:
    try:
        (version / MODEL_FILE).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


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
    try:
        text = config.read_text(encoding="utf-8", errors="replace") if config.is_file() else ""
        by_policy = served_versions(text, versions(repository, model))
        return by_policy, trusted_version(text, by_policy)
    except OSError as error:
        raise ConfigurationError(f"cannot read {config}: {error.strerror}") from error
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
