"""Keys by which equal and similar texts are found."""

from base64 import b64encode
from dataclasses import dataclass

from dehusk.inference.native.duplicates import keys_of
from dehusk.schemas.options import Duplicates


@dataclass(frozen=True, slots=True)
class DuplicateKeys:
    """Keys of a text, as `CleanedDocument` has them."""

    content_hash: str | None
    simhash: str | None
    minhash: str | None


def duplicate_keys(text: str, near: Duplicates = Duplicates.SIMHASH) -> DuplicateKeys:
    """Return the keys of a text, `near` says by which key near-duplicates are to be found."""
    content, simhash, minhash = keys_of(text, near is Duplicates.SIMHASH, near is Duplicates.MINHASH)
    return DuplicateKeys(
        content,
        None if simhash is None else f"{simhash:016x}",
        None if minhash is None else b64encode(minhash).decode(),
    )
