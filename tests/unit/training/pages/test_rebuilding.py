import numpy as np
import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.pages.gold import Block, rebuilt


def html(blocks):
    return rebuilt(blocks).html


def block(path, text):
    return Block(tuple(path.split()), text)


def test_what_paths_share_stays_open():
    blocks = [
        block("html body div p", "The mill"),
        block("html body div p b", "turns"),
        block("html body ul li", "1"),
    ]
    assert html(blocks) == "<html><body><div><p>The mill <b>turns </b></p></div><ul><li>1 "


def test_text_after_an_inner_element_goes_on():
    blocks = [block("html body p a", "The mill"), block("html body p", "turns.")]
    assert html(blocks) == "<html><body><p><a>The mill </a>turns. "


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("body p", "<body><p>One </p><p>two "),
        ("body td", "<body><td>One </td><td>two "),
        ("body p a", "<body><p><a>One two "),
        ("body p b", "<body><p><b>One two "),
        ("body p span", "<body><p><span>One two "),
    ],
)
def test_the_same_path_again_is_another_element_but_within_a_line(path, expected):
    assert html([block(path, "One"), block(path, "two")]) == expected


def test_text_is_not_taken_for_markup():
    assert segment(html([block("html body p", "1 < 2 & <b>")]).encode()).texts == ("1 < 2 & <b>",)


def test_the_wrapper_of_cleaneval_is_left_out():
    assert html([block("html body text p", "One")]) == "<html><body><p>One "


def test_a_page_without_blocks_is_empty():
    assert html([]) == ""


def test_each_block_is_found_among_the_texts_of_the_page():
    blocks = [
        block("html head title", "Mill"),
        block("html body p", "The mill"),
        block("html body p a", "turns"),
        block("html body p a", " "),
        block("html body p a", "again"),
        block("html body p", " "),
        block("html body p", "."),
        block("html body p", "It grinds."),
    ]
    page = rebuilt(blocks)
    segmented = segment(page.html.encode())
    assert page.texts.tolist() == [-1, 0, 1, -1, 1, -1, 2, 3]
    assert segmented.structure.leaves.sum() == 4
    of_texts = np.repeat(np.arange(len(segmented)), segmented.structure.leaves)
    for each, text in zip(blocks, page.texts, strict=True):
        assert text < 0 or each.text.strip() in segmented.texts[of_texts[text]]
