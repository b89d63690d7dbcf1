"""Labels that people gave to the blocks of a page, and their comparison with a page at hand."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated

from msgspec import Meta

from dehusk.schemas.pickled import PickledByFields

Label = Annotated[int, Meta(ge=0, le=1)] | None
"""1 for content, 0 for boilerplate, None where unlabeled."""
_Name = Annotated[str, Meta(min_length=1)]
_DIGEST_BYTES = 16
_TEXT_BYTES = 4
_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]


class Misfit(StrEnum):
    """Reason why the labels of a page cannot be learned from."""

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
    """Labels of a page of T blocks; `msgspec.convert` checks them where they are read."""

    id: _Name
    """The page's own identifier, else its URL."""
    url: _Name | None
    html_hash: _Digest
    """`html_hash` of the HTML that was labeled."""
    blocks_hash: _Digest
    """`blocks_hash` of its blocks."""
    labels: tuple[Label, ...]
    """T labels, in the order of `SegmentedPage`."""
    labeled_at: Annotated[datetime, Meta(tz=True)]
    """Time of the last of them."""
    text_hashes: tuple[str, ...] = ()
    """`text_hash` of each block, by which labels carry over; empty in lines of earlier versions."""

    @property
    def is_complete(self) -> bool:
        """True if every block has a label."""
        return None not in self.labels

    @property
    def is_started(self) -> bool:
        """True if any block has a label, or the page has no blocks."""
        return self.is_complete or any(label is not None for label in self.labels)

    def misfit_with(self, html_hash: str, texts: Sequence[str]) -> Misfit | None:
        """Return why a page of this hash and these blocks cannot be learned from; None if it can."""
        if html_hash != self.html_hash:
            return Misfit.CHANGED_PAGE
        if len(texts) != len(self.labels) or blocks_hash(texts) != self.blocks_hash:
            return Misfit.OTHER_BLOCKS
        return None if self.is_complete else Misfit.HALF_LABELED

    def carried_to(self, texts: Sequence[str]) -> tuple[Label, ...]:
        """Return the labels of blocks of the same texts, in another version of the page; None for others.

        The n-th block of a text has the label of the n-th one that was labeled.
        """
        labels: defaultdict[str, deque[Label]] = defaultdict(deque)
        for text, label in zip(self.text_hashes, self.labels, strict=False):
            labels[text].append(label)
        waiting = (labels.get(text_hash(text)) for text in texts)
        return tuple(left.popleft() if left else None for left in waiting)


def text_hash(text: str) -> str:
    """Return the BLAKE2b-32 of a block's text, in hexadecimal digits."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_TEXT_BYTES).hexdigest()


def html_hash(html: bytes) -> str:
    """Return the BLAKE2b-128 of a page's HTML in UTF-8, as in `RawPage`, in hexadecimal digits."""
    return blake2b(html, digest_size=_DIGEST_BYTES).hexdigest()


def blocks_hash(texts: Iterable[str]) -> str:
    """Return the BLAKE2b-128 of the texts of blocks, each followed by a NUL, in hexadecimal digits."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
