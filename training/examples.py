"""Labeled pages as the network reads them, and the batches of an epoch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from inference.encoding import encode
from training.config import TrainerConfig
from training.network import Blocks
from training.pages import LabeledPage
from training.vocabulary import Vocabulary


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


def epoch_batches(
    examples: Sequence[Example], config: TrainerConfig, random: np.random.Generator
) -> list[list[Example]]:
    """Every page once, long ones cropped at random, in batches in random order."""
    crops = [_random_crop(each, config.crop_blocks, random) for each in examples]
    if config.by_length:
        order = np.argsort([len(each) * random.uniform(0.8, 1.25) for each in crops])
    else:
        order = random.permutation(len(crops))
    size = config.batch_pages
    batches = [[crops[i] for i in order[first : first + size]] for first in range(0, len(order), size)]
    return [batches[i] for i in random.permutation(len(batches))]


def parts(batch: Sequence[Example]) -> list[list[Example]]:
    """The batch in parts whose shortest page has at least half the blocks of the longest: less is padded."""
    made: list[list[Example]] = []
    for page in sorted(batch, key=len, reverse=True):
        if made and 2 * len(page) >= len(made[-1][0]):
            made[-1].append(page)
        else:
            made.append([page])
    return made


def _random_crop(page: Example, length: int, random: np.random.Generator) -> Example:
    if len(page) <= length:
        return page
    return page.crop(int(random.integers(len(page) - length + 1)), length)
