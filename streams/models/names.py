"""Names of models and versions, as `MODEL` and `MODEL/VERSION`, and the faults of versions.

Nothing here loads numpy or a client, so that commands can name them at once.
"""

import re
from enum import StrEnum

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.rollout import is_version

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def split_name(name: str) -> tuple[str, str]:
    """Return the model and the version of a name; an empty version where it names none.

    Raises:
        ConfigurationError: it is no name.
    """
    model, slash, version = name.partition("/")
    return check_model(model), check_version(version) if slash else ""


def check_model(model: str) -> str:
    """Return a model's name if it can be a directory of a repository.

    Raises:
        ConfigurationError: it cannot.
    """
    if not _MODEL.fullmatch(model):
        raise ConfigurationError(f"{model!r} is no name of a model: letters, digits, '.', '_' and '-'")
    return model


def check_version(version: str) -> str:
    """Return a version if Triton takes its directory for one.

    Raises:
        ConfigurationError: it does not.
    """
    if not is_version(version) or version.startswith("0"):
        raise ConfigurationError(f"{version!r} is no version: a number without zeros in front")
    return version


class Fault(StrEnum):
    """Reason why a version is not to be served, by a name that scripts may rely on."""

    MISSING_FILE = "missing-file"
    SYMBOLIC_LINK = "symbolic-link"
    NOT_A_FILE = "not-a-file"
    TOO_LARGE = "too-large"
    NOT_ONNX = "not-onnx"
    UNKNOWN_SIGNATURE = "unknown-signature"
    OTHER_TENSORS = "other-tensors"
    WRONG_CONFIG = "wrong-config"
    WRONG_GOLDEN = "wrong-golden"
    NOT_LOADED = "not-loaded"
    NOT_RUN = "not-run"
    TIMEOUT = "timeout"
    WRONG_SHAPE = "wrong-shape"
    NOT_FINITE = "not-finite"
    NOT_PROBABILITIES = "not-probabilities"
    OTHER_ANSWERS = "other-answers"
    DEPENDS_ON_BATCH = "depends-on-batch"
    TOO_SLOW = "too-slow"


class FaultError(ConfigurationError):
    """A version that is not to be served."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(fault, message)
        self.fault = fault
        self.message = message

    def __str__(self) -> str:
        return f"{self.fault}: {self.message}"


MAX_LATENCY = 10.0
"""Greatest latency of a page, as a multiple of the default version's, by the medians."""
