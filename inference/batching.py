"""How pages are cut into windows that a model reads, grouped into batches, and their answers joined again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from schemas.outcomes import Broken, BrokenReason
from schemas.pages import EncodedPage, Labels, ModelVersion

WINDOW_BLOCKS = 2048
"""Most blocks a model sees at once: a page of more is labelled in consecutive windows.

A recurrent model takes time in proportion to the blocks, and batch mates wait for the longest.
"""
WINDOW_IDS = 1 << 18
"""Most ids a model sees at once; more than one block can hold, so that every window has a block."""
GROUP_SIZE = 4
"""Most windows that run together on a CPU, where a larger batch gains nothing."""
GROUP_PADDING = 1.25
"""By how much padding to the longest may enlarge a group."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Consecutive blocks of one page as a model reads them."""

    ids: npt.NDArray[np.uint32]
    block_lengths: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.block_lengths)


def windows(page: EncodedPage) -> list[Window]:
    """The page's blocks, in order, in windows of at most WINDOW_BLOCKS blocks and WINDOW_IDS ids."""
    ends = np.cumsum(page.block_lengths, dtype=np.int64)
    cut: list[Window] = []
    block = taken = 0
    while block < len(page):
        last = min(block + WINDOW_BLOCKS, int(np.searchsorted(ends, taken + WINDOW_IDS, side="right")))
        upto = int(ends[last - 1]) if last < len(page) else len(page.ids)
        cut.append(Window(page.ids[taken:upto], page.block_lengths[block:last]))
        block, taken = last, upto
    return cut


def groups(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of windows of similar length that run together, the longest first."""
    grouped: list[list[int]] = []
    total = 0
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        total += lengths[index]
        if grouped and _fits(grouped[-1], lengths, total):
            grouped[-1].append(index)
        else:
            grouped.append([index])
            total = lengths[index]
    return grouped


def _fits(group: list[int], lengths: Sequence[int], total: int) -> bool:
    """Whether one more window, `total` blocks in all, leaves the group small and little padded."""
    return len(group) < GROUP_SIZE and lengths[group[0]] * (len(group) + 1) <= GROUP_PADDING * total


def join(
    page: EncodedPage, answers: Sequence[npt.NDArray[np.float32]], model: ModelVersion, labeler: str
) -> Labels | Broken:
    """The labels of a page from the answers to its windows, or why the model's answer is none."""
    probabilities = np.concatenate([np.empty(0, np.float32), *answers])
    if len(probabilities) != len(page):
        return _rejected(f"{len(probabilities)} probabilities for {len(page)} blocks", model)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        return _rejected("an answer that is no probability", model)
    return Labels(probabilities, model, labeler)


def _rejected(detail: str, model: ModelVersion) -> Broken:
    return Broken(BrokenReason.REJECTED_BY_MODEL, f"{model.name} version {model.version} gave {detail}")
