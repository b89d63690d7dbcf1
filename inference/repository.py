"""The model repository: one directory per model, one numbered directory per immutable version."""

from pathlib import Path

from schemas.errors import ConfigurationError
from schemas.pages import ModelVersion

DEFAULT_REPOSITORY = Path(__file__).resolve().parents[1] / "model_repository"
"""The repository that comes with dehusk."""

MODEL_FILE = "model.onnx"


def versions(repository: Path, model: str) -> list[str]:
    """The versions of a model that hold a model file, oldest first; empty where there is no such model."""
    found = (file.parent.name for file in (repository / model).glob(f"*/{MODEL_FILE}"))
    return sorted((name for name in found if name.isdecimal()), key=int)


def find_model(repository: Path, model: str, version: str = "") -> tuple[ModelVersion, Path]:
    """The version asked for, else the newest, and its model file.

    Raises:
        ConfigurationError: the repository holds no such model or version.
    """
    known = versions(repository, model)
    wanted = version or (known[-1] if known else "")
    if wanted not in known:
        raise ConfigurationError(
            f"{repository} holds no version {version or 'at all'} of model {model!r};"
            f" versions there: {', '.join(known) or 'none'}"
        )
    return ModelVersion(model, wanted), repository / model / wanted / MODEL_FILE
