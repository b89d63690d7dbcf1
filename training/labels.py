"""Labels of pages that have no gold text, or a wrong one: block labels by page, without page text.

Some were repaired by hand (docs/labeling.md), others are what several extractors agree on. They are given as
spans of characters in the text of all blocks, white space left out, so that they outlive a change in where
blocks begin and end.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import orjson

from dehusk.schemas.errors import ConfigurationError

Bools = npt.NDArray[np.bool_]
Spans = tuple[tuple[int, int], ...]
"""First and one past the last character of each run."""

REPAIRED = Path(__file__).with_name("labels.json")
TAUGHT = Path(__file__).with_name("taught.json")


@dataclass(frozen=True, slots=True)
class Labels:
    """What the blocks of one page are."""

    characters: int
    """Characters of all blocks, white space left out."""
    spans: Spans
    """The content."""
    uncertain: Spans = ()
    """Where not all agree."""

    @classmethod
    def of(cls, texts: Sequence[str], content: Bools, uncertain: Bools) -> Self:
        """Those of a page with these blocks."""
        lengths = _lengths(texts)
        return cls(int(lengths.sum()), _spans(lengths, content), _spans(lengths, uncertain))

    def content(self, page: str, texts: Sequence[str]) -> Bools:
        """Which blocks are content: those that lie in the spans by more than half.

        Raises:
            ConfigurationError: the labels are of another page, or of this one as it was segmented otherwise.
        """
        return self._inside(self.spans, page, texts)

    def doubted(self, page: str, texts: Sequence[str]) -> Bools:
        """Which blocks are uncertain.

        Raises:
            ConfigurationError: the labels are of another page, or of this one as it was segmented otherwise.
        """
        return self._inside(self.uncertain, page, texts)

    def _inside(self, spans: Spans, page: str, texts: Sequence[str]) -> Bools:
        lengths = _lengths(texts)
        if lengths.sum() != self.characters and self != DROPPED:
            raise ConfigurationError(
                f"the labels of page {page} are for {self.characters} characters, not {lengths.sum()}"
            )
        inside = np.zeros(lengths.sum() + 1, np.int64)
        for first, end in spans:
            inside[first + 1 : end + 1] = 1
        before = np.cumsum(inside)
        ends = np.cumsum(lengths)
        found: Bools = 2 * (before[ends] - before[ends - lengths]) > lengths
        return found


DROPPED = Labels(0, ())
"""Of a page whose content is not in its blocks, or cannot be told."""


def read_labels(file: Path) -> dict[str, Labels]:
    """The labels in a file, by page id."""
    return {
        page: Labels(fields["characters"], _pairs(fields["content"]), _pairs(fields.get("uncertain", ())))
        if fields
        else DROPPED
        for page, fields in orjson.loads(file.read_bytes()).items()
    }


def write_labels(file: Path, labels: Mapping[str, Labels]) -> None:
    """Write labels as `read_labels` reads them, a line for each page."""
    lines = (orjson.dumps(page) + b":" + orjson.dumps(_fields(each)) for page, each in labels.items())
    file.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")


def _fields(labels: Labels) -> dict[str, int | Spans] | None:
    if labels == DROPPED:
        return None
    return {"characters": labels.characters, "content": labels.spans, "uncertain": labels.uncertain}


def _pairs(spans: Iterable[Sequence[int]]) -> Spans:
    return tuple((first, end) for first, end in spans)


def _lengths(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """The characters of each block, white space left out."""
    return np.array([len("".join(text.split())) for text in texts], np.int64)


def _spans(lengths: npt.NDArray[np.int64], blocks: Bools) -> Spans:
    """The runs of characters of these blocks."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], blocks, [False]]).astype(np.int8)))
    before = np.concatenate([[0], np.cumsum(lengths)])
    return tuple((int(before[first]), int(before[end])) for first, end in edges.reshape(-1, 2))
