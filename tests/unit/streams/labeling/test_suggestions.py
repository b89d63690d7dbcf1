"""What is suggested before anything is labeled, and after."""

from typing import Any

import numpy as np
import pytest

from dehusk.inference.encoding import encode
from dehusk.inference.rules import RulesLabeler
from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import ExtractionError
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import EncodedPage, ModelVersion, Prediction
from dehusk.streams.labeling.suggestions import Suggester, centred

CARDS = "".join(f"<li class=card><a href=/{number}>Card {number}</a></li>" for number in range(8))
PROSE = "<p>The mill grinds slowly, but it grinds fine, day and night, in summer as in winter.</p>" * 2
PAGE = encode(segment(f"<ul>{CARDS}</ul><article>{PROSE}</article><footer>Imprint</footer>".encode()))


def prediction(probabilities: list[float]) -> Prediction:
    return Prediction(np.array(probabilities, np.float32), ModelVersion("m", "1"), "onnx")


def test_what_the_model_chooses_is_suggested_whatever_its_probability() -> None:
    page = encode(segment(b"<p>one two three four five six<p>seven eight nine ten<p>eleven"))
    suggested = centred(page, prediction([0.4, 0.35, 0.01]))
    assert (suggested >= 0.5).tolist() == [True, True, False]
    assert suggested[0] > suggested[1]
    assert centred(page, prediction([0.99, 0.98, 0.97])).min() >= 0.5


async def test_a_labeler_suggests_before_anything_is_labeled() -> None:
    suggester = Suggester(RulesLabeler())
    begun = await suggester.begin(PAGE)
    assert begun.shape == (len(PAGE),)
    nothing = await suggester.go_on(PAGE, begun, [None] * len(PAGE))
    assert nothing is begun


async def test_a_label_spreads_to_blocks_that_are_alike() -> None:
    suggester = Suggester(RulesLabeler())
    begun = await suggester.begin(PAGE)
    assert (begun[:8] < 0.5).all()
    suggested = await suggester.go_on(PAGE, begun, [1, *[None] * (len(PAGE) - 2), 0])
    assert suggested is not None
    assert (suggested[1:8] > begun[1:8]).all()
    assert (suggested[[0, 1, -1]] > 0.5).tolist() == [True, True, False]


async def test_labels_spread_where_nothing_was_suggested() -> None:
    suggested = await Suggester(RulesLabeler()).go_on(PAGE, None, [1, *[None] * (len(PAGE) - 2), 0])
    assert suggested is not None
    assert suggested[1] > 0.5 > suggested[-1]


async def test_a_page_without_blocks_has_no_suggestions() -> None:
    suggester, page = Suggester(RulesLabeler()), encode(segment(b""))
    begun = await suggester.begin(page)
    suggested = await suggester.go_on(page, begun, [])
    assert suggested is not None
    assert len(suggested) == 0


async def test_a_labeler_that_says_nothing_that_fits_is_named() -> None:
    class Wrong:
        async def label(self, pages: list[EncodedPage]) -> list[Any]:
            return [Broken(BrokenReason.REJECTED_BY_MODEL, "NaN")]

        async def close(self) -> None: ...

    with pytest.raises(ExtractionError, match="rejected-by-model: NaN"):
        await Suggester(Wrong()).begin(PAGE)
