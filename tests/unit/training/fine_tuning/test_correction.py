import numpy as np
import pytest

from dehusk.training.fine_tuning.correction import CorrectionExample, fit_correction
from dehusk.training.fine_tuning.crawl import structure_keys

from .conftest import encoded, harbour_html, labels_of, mill_html

pytestmark = pytest.mark.training


def unsure(page):
    return np.full(len(page), 0.5, np.float32)


def answered(numbers, html=mill_html):
    pages = [(encoded(html(number)), np.array(labels_of(html(number)), np.bool_)) for number in numbers]
    return [
        CorrectionExample.of(page.structure, page.words, content, unsure(page)) for page, content in pages
    ]


def test_pages_of_the_site_are_corrected():
    correction = fit_correction(answered(range(10)), 0.003)
    page = encoded(mill_html(11))
    corrected = correction(unsure(page), page.structure)
    labels = np.array(labels_of(mill_html(11)), np.bool_)
    assert corrected[labels].min() > 0.8
    assert corrected[~labels].max() < 0.2


def test_pages_of_other_sites_are_answered_to_the_last_bit_as_before():
    correction = fit_correction(answered(range(10)), 0.003)
    page = encoded(harbour_html(1))
    before = np.linspace(0, 1, len(page), dtype=np.float32)
    assert (correction(before, page.structure) == before).all()


def test_a_page_that_is_half_like_the_labeled_ones_is_corrected_by_half():
    correction = fit_correction(answered(range(10)), 0.003)
    labeled = encoded(mill_html(11))
    keys = structure_keys(labeled.structure)
    half = np.concatenate([keys, np.full_like(keys, 1)], 1)
    probabilities = np.full(half.shape[1], 0.5, np.float32)
    in_full = correction.applied(unsure(labeled), keys)
    by_half = correction.applied(probabilities, half)[: len(labeled)]
    logit = np.log(by_half / (1 - by_half))
    assert logit == pytest.approx(np.log(in_full / (1 - in_full)) / 2, abs=1e-3)


def test_the_stronger_it_is_held_the_less_is_corrected():
    page = encoded(mill_html(11))
    moved = [
        np.abs(fit_correction(answered(range(10)), strength)(unsure(page), page.structure) - 0.5).sum()
        for strength in (0.003, 0.1, 1.0)
    ]
    assert moved[0] > moved[1] > moved[2] > 0


def test_structures_of_a_single_page_are_not_corrected():
    correction = fit_correction([*answered([1]), *answered([1], lambda _: "<dl><dt>a<dd>b</dl>")], 0.003)
    page = encoded(mill_html(2))
    assert (correction(unsure(page), page.structure) == 0.5).all()


def test_the_labels_of_a_page_count_as_much_however_many_blocks_it_has():
    short, long = answered([0]), answered([2])
    assert short[0].weights.sum() == pytest.approx(long[0].weights.sum())


def test_certain_answers_stay_probabilities():
    correction = fit_correction(answered(range(10)), 0.003)
    page = encoded(mill_html(11))
    for certain in (0, 1):
        before = np.full(len(page), certain, np.float32)
        assert (correction(before, page.structure) == certain).all()
