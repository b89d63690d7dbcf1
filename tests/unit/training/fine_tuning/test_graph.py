import asyncio
from dataclasses import replace

import numpy as np
import onnx
import pytest

from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.onnx_runtime import RuntimeModel
from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, find_model
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken
from dehusk.training.fine_tuning.correction import Correction, CorrectionExample, fit_correction
from dehusk.training.fine_tuning.graph import with_correction

from .conftest import encoded, harbour_html, labels_of, mill_html

pytestmark = pytest.mark.training

BASE = find_model(DEFAULT_REPOSITORY, "dehusk")[1]


def answers(labeler, *pages):
    return asyncio.run(labeler.label(pages))


def content(labeler, page):
    return answers(labeler, page)[0].probabilities


@pytest.fixture(scope="module")
def base():
    """Return the labeler of the version on ONNX Runtime, which runs the corrected one, too."""
    labeler = OnnxLabeler("dehusk")
    labeler._loaded = RuntimeModel(BASE)
    return labeler


@pytest.fixture(scope="module")
def correction(base):
    pages = [encoded(mill_html(number)) for number in range(10)]
    labels = [np.array(labels_of(mill_html(number)), np.bool_) for number in range(10)]
    return fit_correction(
        [
            CorrectionExample.of(page.structure, page.words, label, content(base, page))
            for page, label in zip(pages, labels, strict=True)
        ],
        0.003,
    )


def labeler_of(model, folder):
    (folder / "dehusk" / "1").mkdir(parents=True)
    onnx.save(model, folder / "dehusk" / "1" / "model.onnx")
    return OnnxLabeler("dehusk", repository=folder)


@pytest.fixture(scope="module")
def tuned(correction, tmp_path_factory):
    return labeler_of(with_correction(onnx.load(BASE), correction), tmp_path_factory.mktemp("tuned"))


ODD = (
    "<p>a",
    "<body class=story><div class=teaser><p>b</p></div>",
    "<div>" * 40 + "deep",
    "<article class=story><div class=text><p>c</p></div></article>",
)
PAGES = [*(mill_html(number) for number in (11, 12, 13)), harbour_html(1), *ODD]


def test_the_graph_answers_as_the_correction_does_in_any_company(base, tuned, correction):
    pages = [encoded(html) for html in PAGES]
    together, before = answers(tuned, *pages), answers(base, *pages)
    moved = 0.0
    for page, after, was in zip(pages, together, before, strict=True):
        expected = correction(was.probabilities, page.structure)
        assert after.probabilities == pytest.approx(expected, abs=1e-5)
        assert after.comments == pytest.approx(was.comments, abs=1e-6)
        assert content(tuned, page) == pytest.approx(expected, abs=1e-5)
        moved = max(moved, np.abs(after.probabilities - was.probabilities).max())
    assert moved > 0.5


def test_a_page_of_another_site_is_answered_to_the_last_bit_as_before(base, tuned):
    page = encoded(harbour_html(2))
    assert (content(tuned, page) == content(base, page)).all()


def test_the_signature_is_the_same(base, tuned):
    assert tuned.signature is base.signature


def test_a_corrected_model_can_be_corrected_again(base, tuned, correction, tmp_path):
    file = find_model(DEFAULT_REPOSITORY, "dehusk")[1]
    twice = labeler_of(with_correction(with_correction(onnx.load(file), correction), correction), tmp_path)
    page = encoded(mill_html(11))
    expected = correction(content(tuned, page), page.structure)
    assert content(twice, page) == pytest.approx(expected, abs=1e-5)
    assert np.abs(expected - content(base, page)).max() > 0.5


@pytest.mark.parametrize("column", ["word_lengths", "element_token_lengths"])
def test_a_page_whose_lengths_contradict_its_tokens_is_rejected_and_its_batch_mates_are_not(tuned, column):
    good, bad = encoded(mill_html(11)), encoded(mill_html(12))
    lengths = getattr(bad.structure, column).copy()
    lengths[0] += 1
    bad = replace(bad, structure=replace(bad.structure, **{column: lengths}))
    first, rejected, second = answers(tuned, good, bad, good)
    assert isinstance(rejected, Broken)
    alone = content(tuned, good)
    assert first.probabilities == pytest.approx(alone, abs=1e-6)
    assert second.probabilities == pytest.approx(alone, abs=1e-6)


def test_a_page_of_very_many_blocks_is_corrected_in_windows(base, tuned, correction):
    parts = "".join(
        f"<div class=text><p>part {k}</p></div><div class=teaser><p>as well {k}</p></div>"
        for k in range(WINDOW_BLOCKS)
    )
    page = encoded(f"<html><body><article class=story>{parts}</article></body></html>")
    expected = correction(content(base, page), page.structure)
    assert content(tuned, page) == pytest.approx(expected, abs=1e-5)


def test_a_correction_of_nothing_changes_nothing(base, tmp_path):
    nothing = Correction(np.zeros(0, np.int64), np.zeros(0, np.float32))
    same = labeler_of(with_correction(onnx.load(BASE), nothing), tmp_path)
    page = encoded(mill_html(11))
    assert (content(same, page) == content(base, page)).all()
    assert (nothing(content(base, page), page.structure) == content(base, page)).all()


def test_a_model_of_other_operators_is_refused(correction):
    model = onnx.load(BASE)
    for each in model.opset_import:
        if each.domain == "":
            each.version = 17
    with pytest.raises(ConfigurationError, match="opset 17, and corrections of 18"):
        with_correction(model, correction)
