from dataclasses import replace

import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.grf.labeler import FieldLabeler, by_features, by_words
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import Encoding, ModelVersion, Prediction

PARAGRAPH = "<p>The harbour was closed for three days, and no ship left it before the storm had passed.</p>"
SHORT = "<p>No ship left it, and none came in, said the pilot.</p>"
MENU = "".join(f"<li><a href=/{place}>Part {place}</a>" for place in range(6))
PAGE = encode(
    segment(
        f"""<nav><ul>{MENU}<li>Part 6</ul></nav><article>{PARAGRAPH * 3}{SHORT}{PARAGRAPH * 3}</article>
        <footer><p>All rights reserved.</p></footer>""".encode()
    ),
    (Encoding.TOKENS,),
)
UNKNOWN = 10
LABELS = [0] * 7 + [1] * 3 + [-1] + [1] * 3 + [0]


def test_seeds_keep_their_labels_and_spread_to_what_is_unknown() -> None:
    probabilities = by_features().label_here(PAGE).probabilities
    assert np.delete(probabilities, UNKNOWN).tolist() == [label for label in LABELS if label >= 0]
    assert 0.5 < probabilities[UNKNOWN] < 1


@pytest.mark.parametrize(("labeler", "name"), [(by_features(), "grf"), (by_words(), "grf-words")])
async def test_every_page_is_answered_in_order(labeler: FieldLabeler, name: str) -> None:
    answers = await labeler.label([PAGE, encode(segment(b""), (Encoding.TOKENS,)), PAGE])
    await labeler.close()
    assert [isinstance(answer, Prediction) and len(answer.probabilities) for answer in answers] == [15, 0, 15]
    assert {(answer.model, answer.labeler) for answer in answers if isinstance(answer, Prediction)} == {
        (ModelVersion(name, "1"), name)
    }


def test_the_edges_make_the_difference() -> None:
    by_word, by_feature = (labeler.label_here(PAGE).probabilities for labeler in (by_words(), by_features()))
    assert by_word[UNKNOWN] != by_feature[UNKNOWN]


def test_a_page_of_which_only_texts_are_known_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="only texts and paths"):
        by_features().label_here(replace(PAGE, structure=None))
