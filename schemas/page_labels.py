"""Labels that people gave to the blocks of a page, and whether they are those of a page at hand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b

from dehusk.schemas.pickled import PickledByFields

Label = int | None
"""1 for content, 0 for boilerplate, None where nobody has said."""
_DIGEST_BYTES = 16


class Misfit(StrEnum):
    """Why the labels of a page cannot be learned from."""

    UNKNOWN_PAGE = "unknown-page"
    """No page at hand has their identifier."""
    CHANGED_PAGE = "changed-page"
    """The page has other HTML than the one that was labeled."""
    OTHER_BLOCKS = "other-blocks"
    """Another version of dehusk cut the same HTML into other blocks."""
    HALF_LABELED = "half-labeled"
    """Some of its blocks have no label."""


@dataclass(frozen=True, slots=True)
class PageLabels(PickledByFields):
    """The labels of a page of T blocks."""

    id: str
    """The page's own identifier, else its URL."""
    url: str | None
    html_hash: str
    """`html_hash` of the HTML that was labeled."""
    blocks_hash: str
    """`blocks_hash` of its blocks."""
    labels: tuple[Label, ...]
    """T labels, in the order of `SegmentedPage`."""
    labeled_at: datetime
    """When the last of them was given, with a time zone."""

    @property
    def is_complete(self) -> bool:
        """Whether every block has a label."""
        return None not in self.labels

    @property
    def is_begun(self) -> bool:
        """Whether any block has a label; so has a page without blocks, of which nothing is left to say."""
        return self.is_complete or any(label is not None for label in self.labels)

    def misfit_with(self, html_hash: str, texts: Sequence[str]) -> Misfit | None:
        """Why a page of this hash and these blocks cannot be learned from by them; None where it can."""
        if html_hash != self.html_hash:
            return Misfit.CHANGED_PAGE
        if len(texts) != len(self.labels) or blocks_hash(texts) != self.blocks_hash:
            return Misfit.OTHER_BLOCKS
        return None if self.is_complete else Misfit.HALF_LABELED


def html_hash(html: bytes) -> str:
    """The BLAKE2b-128 of a page's HTML, given in UTF-8 as in `RawPage`, in hexadecimal digits."""
    return blake2b(html, digest_size=_DIGEST_BYTES).hexdigest()


def blocks_hash(texts: Iterable[str]) -> str:
    """The BLAKE2b-128 of the texts of a page's blocks, each followed by a NUL, in hexadecimal digits."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
