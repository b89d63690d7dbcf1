"""The model repository: one directory per model, one numbered directory per immutable version.

The field `version_policy` of a model's `config.pbtxt` says which versions are served. It is read here by
patterns, as protobuf's parser with Triton's messages loads gRPC, which takes longer than a model.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion

DEFAULT_REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
"""The repository that comes with dehusk."""

MODEL_FILE = "model.onnx"
CARD_FILE = "card.md"
CONFIG_FILE = "config.pbtxt"

_POLICY = re.compile(
    r"^[ \t]*version_policy\s*:?\s*\{(?P<choice>[^{}]*\{[^{}]*\})?(?:\s|#.*\n)*\}", re.MULTILINE
)
_CHOICE = re.compile(r"(?P<kind>latest|all|specific)\s*:?\s*\{(?P<inside>[^{}]*)\}")
_COMMENT = re.compile(r"#.*")
_NUMBER = re.compile(r"\d+")


def models(repository: Path) -> list[str]:
    """Return the models that have a version, by name."""
    folders = repository.iterdir() if repository.is_dir() else ()
    return sorted(folder.name for folder in folders if versions(repository, folder.name))


def versions(repository: Path, model: str) -> list[str]:
    """Return the versions of a model that hold a model file, oldest first; none if there is no such model."""
    found = (file.parent.name for file in (repository / model).glob(f"*/{MODEL_FILE}"))
    return sorted((name for name in found if name.isdecimal()), key=int)


def served(repository: Path, model: str) -> list[str]:
    """Return the versions of a model that its `config.pbtxt` has served, oldest first."""
    config = repository / model / CONFIG_FILE
    text = config.read_text(encoding="utf-8") if config.is_file() else ""
    return served_versions(text, versions(repository, model))


def find_model(repository: Path, model: str, version: str = "") -> tuple[ModelVersion, Path]:
    """Return the version asked for, or the newest of those that are served, and its model file.

    Raises:
        ConfigurationError: the repository holds no such model or version, or serves none.
    """
    known = versions(repository, model)
    if not known:
        raise ConfigurationError(
            f"{repository} holds no model {model!r}; models there: {', '.join(models(repository)) or 'none'}"
        )
    wanted = version or _newest_served(repository, model)
    if wanted not in known:
        raise ConfigurationError(
            f"{repository} holds no version {version} of model {model!r}; versions there: {', '.join(known)}"
        )
    return ModelVersion(model, wanted), repository / model / wanted / MODEL_FILE


def _newest_served(repository: Path, model: str) -> str:
    by_policy = served(repository, model)
    if not by_policy:
        raise ConfigurationError(
            f"version_policy in {repository / model / CONFIG_FILE} names none of the versions that are there"
        )
    return by_policy[-1]


def served_versions(config: str, versions: Sequence[str]) -> list[str]:
    """Return those of a model's versions, oldest first, that its policy serves; by default the newest."""
    policy = _POLICY.search(config)
    choice = _CHOICE.search(_COMMENT.sub("", policy["choice"] or "")) if policy else None
    if choice is None:
        return [*versions[-1:]]
    numbers = _NUMBER.findall(choice["inside"])
    match choice["kind"]:
        case "specific":
            return [version for version in versions if version in numbers]
        case "latest":
            return [*versions[-int(numbers[0] if numbers else 1) :]]
        case _:
            return [*versions]


def with_versions(config: str, versions: Sequence[str]) -> str:
    """Return the configuration with a policy that serves these versions, and no newer one until it is named.

    All else stays as it is written, with its comments.
    """
    wanted = ", ".join(sorted(versions, key=int))
    policy = f"version_policy {{ specific {{ versions: [ {wanted} ] }} }}"
    if _POLICY.search(config):
        return _POLICY.sub(policy, config, count=1)
    return f"{config.rstrip()}\n{policy}\n"
