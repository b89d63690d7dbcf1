"""The exceptions of dehusk.

    DehuskError                   anything dehusk raises on purpose; the message says what to do
    ├── ConfigurationError        a setting, option or model does not fit; nothing was started
    ├── UnavailableError          a dependency (Kafka, Redis, Triton) did not answer; trying again may help
    │   └── LateError             it did not answer in time
    ├── ConflictError             somebody else has changed what was to be changed; nothing was written
    ├── NotEncodedError           a page lacks what its labeler reads; it is to be prepared again
    ├── PageError                 this one page cannot be cleaned; carries a `BrokenReason`
    └── ExtractionError           this one page has no document; carries a `BrokenReason` or a `SkipReason`

Third-party exceptions are translated into these at the one module that imports the third party.
Expected outcomes of a page are not exceptions but values: see `dehusk.schemas.outcomes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dehusk.schemas.outcomes import BrokenReason, SkipReason

if TYPE_CHECKING:
    from dehusk.schemas.pages import Encoding

Part = TypeVar("Part")


class DehuskError(Exception):
    """Base of every exception that dehusk raises on purpose."""


class ConfigurationError(DehuskError):
    """A setting, option or model that does not fit; the message says what to change."""


class UnavailableError(DehuskError):
    """A dependency that did not answer; trying again may help."""


class LateError(UnavailableError):
    """A dependency that did not answer in time."""


class ConflictError(DehuskError):
    """A concurrent change of the same thing by somebody else; the message names both."""


class NotEncodedError(DehuskError):
    """A page prepared without an encoding that its labeler reads; it is to be prepared again."""

    def __init__(self, encoding: Encoding) -> None:
        super().__init__(f"the labeler reads the encoding {encoding!r}, which the page was prepared without")
        self.encoding = encoding


def require_encoding(part: Part | None, encoding: Encoding) -> Part:
    """Return an optional part of an `EncodedPage`.

    Raises:
        NotEncodedError: the page was prepared without it.
    """
    if part is None:
        raise NotEncodedError(encoding)
    return part


class PageError(DehuskError):
    """A page that cannot be cleaned, however often it is tried."""

    def __init__(self, reason: BrokenReason, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message


class ExtractionError(DehuskError):
    """A page without a document: it is no HTML page, or it cannot be cleaned, however often it is tried."""

    def __init__(self, reason: BrokenReason | SkipReason, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"
