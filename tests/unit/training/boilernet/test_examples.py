import pytest
import torch

from dehusk.training.boilernet.examples import Example, class_weights, example, parts
from dehusk.training.boilernet.network import Blocks
from dehusk.training.boilernet.pages import label
from dehusk.training.boilernet.vocabulary import most_frequent
from dehusk.training.pages import GoldPage

pytestmark = pytest.mark.training


def numbered(blocks, first=0):
    """An example whose block k has k % 3 + 1 rows, all equal to k."""
    lengths = torch.tensor([block % 3 + 1 for block in range(blocks)])
    rows = torch.repeat_interleave(torch.arange(blocks), lengths)
    return Example(Blocks(rows + first, lengths), (torch.arange(blocks) % 2).float())


def test_a_page_is_encoded_as_a_worker_encodes_it_with_its_labels():
    page = label(
        GoldPage("1", "a.example", "article", "<p>the mill turns</p><div>imprint</div>", "the mill turns"),
        2 / 3,
    )
    vocabulary = most_frequent([page.segmented], tag_limit=9, word_limit=9)
    made = example(page, vocabulary)
    names = ["", "", *vocabulary.tags, *vocabulary.words]
    assert [names[row] for row in made.blocks.rows] == (
        [
            *page.segmented.paths[0].split("/"),
            "the",
            "mill",
            "turns",
            *page.segmented.paths[1].split("/"),
            "imprint",
        ]
    )
    assert made.content.tolist() == [1.0, 0.0]


def test_a_crop_keeps_the_rows_and_labels_of_its_blocks():
    crop = numbered(20).crop(5, 4)
    assert crop.blocks.lengths.tolist() == [3, 1, 2, 3]
    assert crop.blocks.rows.tolist() == [5, 5, 5, 6, 7, 7, 8, 8, 8]
    assert crop.content.tolist() == [1, 0, 1, 0]


def test_both_classes_weigh_the_same():
    pages = [Example(numbered(4).blocks, torch.tensor([1.0, 0, 0, 0])), numbered(6)]
    boilerplate, content = class_weights(pages)
    assert boilerplate * 6 == pytest.approx(content * 4) == pytest.approx(5)


def test_the_parts_of_a_batch_are_little_padded():
    lengths = [
        [len(page) for page in part] for part in parts([numbered(each) for each in (7, 40, 10, 5, 20, 4)])
    ]
    assert lengths == [[40, 20], [10, 7, 5], [4]]
