"""Gold labels that were repaired by hand (docs/labeling.md): block labels by page, without page text.

A page's content is given as spans of characters in the text of all its blocks, white space left out, so that
the labels outlive a change in where blocks begin and end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import orjson

from schemas.errors import ConfigurationError

_FILE = Path(__file__).with_name("labels.json")


@dataclass(frozen=True, slots=True)
class Labels:
    """The content of one page."""

    characters: int
    """Characters of all blocks, white space left out."""
    spans: tuple[tuple[int, int], ...]
    """First and one past the last character of each run of content."""

    def content(self, page: str, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which blocks are content: those that lie in the spans by more than half.

        Raises:
            ConfigurationError: the labels are of another page, or of this one as it was segmented otherwise.
        """
        lengths = np.array([len("".join(text.split())) for text in texts], np.int64)
        if lengths.sum() != self.characters and self != DROPPED:
            raise ConfigurationError(
                f"the repaired labels of page {page} are for {self.characters} characters, not"
                f" {lengths.sum()}"
            )
        inside = np.zeros(lengths.sum() + 1, np.int64)
        for first, end in self.spans:
            inside[first + 1 : end + 1] = 1
        before = np.cumsum(inside)
        ends = np.cumsum(lengths)
        content: npt.NDArray[np.bool_] = 2 * (before[ends] - before[ends - lengths]) > lengths
        return content


DROPPED = Labels(0, ())
"""Of a page whose content is not in its blocks, or cannot be told."""


def read_labels(file: Path = _FILE) -> dict[str, Labels]:
    """The repaired labels by page id."""
    return {
        page: Labels(fields["characters"], tuple((first, end) for first, end in fields["content"]))
        if fields
        else DROPPED
        for page, fields in orjson.loads(file.read_bytes()).items()
    }
