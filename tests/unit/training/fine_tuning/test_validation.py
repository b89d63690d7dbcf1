import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.training.fine_tuning.crawl import LabeledPage
from dehusk.training.fine_tuning.validation import (
    FOLDS,
    STRENGTHS,
    AnsweredPage,
    Validation,
    changes,
    cross_validated,
)
from dehusk.training.scores import score_words

from .conftest import encoded, harbour_html, labels_of, mill_html

pytestmark = pytest.mark.training


def labeled(number, html=mill_html, labels=None):
    segmented = segment(html(number).encode())
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    content = np.array(labels_of(html(number)) if labels is None else labels, np.bool_)
    return LabeledPage(str(number), "mill.example", words, encode(segmented), content)


def everything(page):
    """A model that takes all for content."""
    return np.full((1, len(page)), 0.9, np.float32)


def answered(pages):
    return [AnsweredPage.of(page, everything) for page in pages]


def test_a_site_that_is_misread_gains():
    said = []
    validation = cross_validated(answered(labeled(number) for number in range(15)), said.append)
    assert len(said) == FOLDS
    assert validation.strength in STRENGTHS
    assert validation.before.max() < 0.8
    assert validation.after.min() > 0.95
    assert validation.is_better
    assert validation.gain == pytest.approx((validation.after - validation.before).mean())


def test_random_labels_bring_no_gain():
    random = np.random.default_rng(5)
    pages = [labeled(n, labels=random.random(len(labels_of(mill_html(n)))) < 0.9) for n in range(15)]
    assert not cross_validated(answered(pages), lambda _: None).is_better


def test_one_page_that_gains_is_no_evidence():
    after = np.zeros(20)
    after[3] = 0.5
    pages = [str(number) for number in range(20)]
    assert not Validation(0.1, pages, np.zeros(20), after).is_better
    assert Validation(0.1, pages, np.zeros(20), after + 0.01 * np.arange(20)).is_better


def test_the_page_that_loses_most_and_the_three_lowest_are_named():
    before, after = np.array([0.9, 0.8, 0.7, 0.6, 0.5]), np.array([0.95, 0.75, 0.9, 1.0, 0.4])
    pages = ["https://a.example/", "b", "c", "d", "e\n"]
    assert Validation(0.1, pages, before, after).suspects == [
        r"loses most: e\n, F1 0.500 before, 0.400 after",
        r"lowest after: e\n, F1 0.500 before, 0.400 after",
        "lowest after: b, F1 0.800 before, 0.750 after",
        "lowest after: c, F1 0.700 before, 0.900 after",
    ]


def test_pages_that_neither_lose_nor_lack_anything_are_not_named():
    before, after = np.array([0.9, 0.8, 1.0]), np.array([0.95, 1.0, 0.9996])
    pages = ["a", "b", "c"]
    assert Validation(0.1, pages, before, after).suspects == ["lowest after: a, F1 0.900 before, 0.950 after"]
    assert Validation(0.1, pages, before, np.ones(3)).suspects == []


def test_a_page_with_wrong_labels_is_named():
    pages = [labeled(number) for number in range(15)]
    wrong = labeled(6, labels=[1 - label for label in labels_of(mill_html(6))])
    validation = cross_validated(answered([*pages[:6], wrong, *pages[7:]]), lambda _: None)
    assert validation.suspects[0].startswith("loses most: 6, F1 ")
    assert validation.suspects[1].startswith("lowest after: 6, F1 ")


def test_a_model_that_is_right_already_gains_nothing():
    pages = [labeled(number) for number in range(15)]
    right = [
        AnsweredPage.of(page, lambda _, page=page: np.where(page.content, 0.99, 0.01).astype(np.float32))
        for page in pages
    ]
    validation = cross_validated(right, lambda _: None)
    assert validation.gain == 0
    assert not validation.is_better
    assert validation.strength == max(STRENGTHS)


def test_changes_are_counted_in_blocks_and_pages():
    pages = [encoded(html) for html in (mill_html(1), harbour_html(1))]

    def without_first(page):
        answers = everything(page)
        if len(page) == len(pages[0]):
            answers[0, 0] = 0
        return answers

    found = changes(pages, everything, without_first)
    assert (found.pages, found.changed_pages, found.changed_blocks) == (2, 1, 1)
    assert found.blocks == sum(map(len, pages))
