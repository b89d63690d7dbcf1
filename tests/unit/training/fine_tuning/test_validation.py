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

from .conftest import harbour_html, labels_of, mill_html

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
    assert not Validation(0.1, np.zeros(20), after).is_better
    assert Validation(0.1, np.zeros(20), after + 0.01 * np.arange(20)).is_better


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
    pages = [encode(segment(html.encode())) for html in (mill_html(1), harbour_html(1))]

    def without_first(page):
        answers = everything(page)
        if len(page) == len(pages[0]):
            answers[0, 0] = 0
        return answers

    found = changes(pages, everything, without_first)
    assert (found.pages, found.changed_pages, found.changed_blocks) == (2, 1, 1)
    assert found.blocks == sum(map(len, pages))
