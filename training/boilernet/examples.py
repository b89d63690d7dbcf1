"""Labeled pages as the network reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dehusk.inference.encoding import encode
from dehusk.training.boilernet.network import Blocks
from dehusk.training.boilernet.pages import LabeledPage
from dehusk.training.boilernet.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """Consecutive blocks of a page with their labels."""

    blocks: Blocks
    content: Tensor
    """Shape [blocks], float32: 1 where a block is content."""

    def __len__(self) -> int:
        return len(self.blocks)

    def crop(self, first: int, length: int) -> "Example":
        """The `length` blocks from `first` on."""
        lengths = self.blocks.lengths
        skipped = int(lengths[:first].sum())
        taken = int(lengths[first : first + length].sum())
        rows = self.blocks.rows[skipped : skipped + taken]
        return Example(Blocks(rows, lengths[first : first + length]), self.content[first : first + length])


def example(page: LabeledPage, vocabulary: Vocabulary) -> Example:
    """A labeled page, encoded as a worker encodes it."""
    encoded = encode(page.segmented)
    blocks = Blocks(
        torch.from_numpy(vocabulary.rows(encoded.ids)),
        torch.from_numpy(encoded.block_lengths.astype(np.int64)),
    )
    return Example(blocks, torch.tensor(page.content, dtype=torch.float32))


def class_weights(examples: Sequence[Example]) -> tuple[float, float]:
    """The weights of boilerplate and content that make both count the same in the loss."""
    blocks = sum(len(each) for each in examples)
    content = sum(float(each.content.sum()) for each in examples)
    return blocks / 2 / (blocks - content), blocks / 2 / content


def parts(batch: Sequence[Example]) -> list[list[Example]]:
    """The batch in parts whose shortest page has at least half the blocks of the longest: less is padded."""
    made: list[list[Example]] = []
    for page in sorted(batch, key=len, reverse=True):
        if made and 2 * len(page) >= len(made[-1][0]):
            made[-1].append(page)
        else:
            made.append([page])
    return made
