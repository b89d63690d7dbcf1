from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dehusk.training.batches import epoch_batches


@dataclass(frozen=True)
class Sizes:
    batch_pages: int = 3
    crop_blocks: int = 10


class Page(NamedTuple):
    blocks: range

    def __len__(self):
        return len(self.blocks)

    def crop(self, first, length):
        return Page(self.blocks[first : first + length])


def batched(pages, seed, sizes=Sizes(), *, by_length):
    batches = epoch_batches(pages, sizes, np.random.default_rng(seed), by_length=by_length)
    return [[page.blocks for page in batch] for batch in batches]


def test_an_epoch_has_every_page_once_long_ones_cropped_in_batches_of_similar_length():
    pages = [Page(range(1000 * blocks, 1001 * blocks)) for blocks in (2, 3, 4, 7, 8, 9, 50)]
    batches = batched(pages, 1, by_length=True)
    assert sorted(len(blocks) for batch in batches for blocks in batch) == [2, 3, 4, 7, 8, 9, 10]
    assert sorted(len(batch) for batch in batches) == [1, 3, 3]
    assert batches == batched(pages, 1, by_length=True) != batched(pages, 2, by_length=True)


def test_batches_of_any_length_hold_every_page_once_mixed_anew_in_each_epoch():
    sizes = replace(Sizes(), crop_blocks=1000)
    pages = [Page(range(blocks)) for blocks in range(1, 41)]
    batches = batched(pages, 1, sizes, by_length=False)
    lengths = [[len(blocks) for blocks in batch] for batch in batches]
    assert sorted(length for batch in lengths for length in batch) == list(range(1, 41))
    assert sorted(map(len, lengths)) == [1, *[3] * 13]
    assert max(max(batch) - min(batch) for batch in lengths) > 10
    assert batches == batched(pages, 1, sizes, by_length=False) != batched(pages, 2, sizes, by_length=False)
