"""The pages of an epoch: long ones cropped, in batches."""

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

import numpy as np


class Croppable(Protocol):
    """Consecutive blocks of a page."""

    def __len__(self) -> int:
        """How many blocks."""
        ...

    def crop(self, first: int, length: int) -> Self:
        """The `length` blocks from `first` on."""
        ...


Page = TypeVar("Page", bound=Croppable)


class Sizes(Protocol):
    """How batches are made."""

    @property
    def batch_pages(self) -> int:
        """Pages in a batch."""
        ...

    @property
    def crop_blocks(self) -> int:
        """Longer pages are cut to a random window of this many blocks in each epoch."""
        ...


def epoch_batches(
    pages: Sequence[Page], sizes: Sizes, random: np.random.Generator, *, by_length: bool
) -> list[list[Page]]:
    """Every page once, long ones cropped at random, in batches, of similar length or not, in random order."""
    crops = [_random_crop(page, sizes.crop_blocks, random) for page in pages]
    if by_length:
        order = np.argsort([len(crop) * random.uniform(0.8, 1.25) for crop in crops])
    else:
        order = random.permutation(len(crops))
    size = sizes.batch_pages
    batches = [[crops[i] for i in order[first : first + size]] for first in range(0, len(order), size)]
    return [batches[i] for i in random.permutation(len(batches))]


def _random_crop(page: Page, length: int, random: np.random.Generator) -> Page:
    if len(page) <= length:
        return page
    return page.crop(int(random.integers(len(page) - length + 1)), length)
