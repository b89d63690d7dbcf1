"""Why a version of a model is not to be served."""

from enum import StrEnum

from dehusk.schemas.errors import ConfigurationError


class Fault(StrEnum):
    """A reason by its name, which scripts may rely on."""

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
    """A version that is not to be served, and why."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(fault, message)
        self.fault = fault
        self.message = message

    def __str__(self) -> str:
        return f"{self.fault}: {self.message}"
