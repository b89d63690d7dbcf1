"""Epochs: their settings, and their batches of pages, of which long ones are cropped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np


class Croppable(Protocol):
    """Consecutive blocks of a page."""

    def __len__(self) -> int:
        """Return the number of blocks."""
        ...

    def crop(self, first: int, length: int) -> Self:
        """Return the `length` blocks from `first` on."""
        ...


Page = TypeVar("Page", bound=Croppable)


@dataclass(frozen=True, slots=True)
class EpochSettings:
    """Settings of a network that is trained epoch by epoch."""

    epochs: int
    """Passes over all pages."""
    batch_pages: int
    crop_blocks: int
    """Largest number of blocks; longer pages are cut to a random window in each epoch."""
    learning_rate: float
    """Rate once it has risen."""
    warmup_steps: int
    """Batches over which the rate rises."""
    gradient_norm: float
    """Norm that gradients are cut to."""
    threads: int


def epoch_batches(
    pages: Sequence[Page], settings: EpochSettings, random: np.random.Generator, *, by_length: bool
) -> list[list[Page]]:
    """Return every page once, in batches in random order; long ones are cropped at random."""
    crops = [_random_crop(page, settings.crop_blocks, random) for page in pages]
    if by_length:
        order = np.argsort([len(crop) * random.uniform(0.8, 1.25) for crop in crops])
    else:
        order = random.permutation(len(crops))
    size = settings.batch_pages
    batches = [[crops[i] for i in order[first : first + size]] for first in range(0, len(order), size)]
    return [batches[i] for i in random.permutation(len(batches))]


def _random_crop(page: Page, length: int, random: np.random.Generator) -> Page:
    if len(page) <= length:
        return page
    return page.crop(int(random.integers(len(page) - length + 1)), length)
