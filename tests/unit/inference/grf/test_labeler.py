from dataclasses import replace

import pytest

from dehusk.inference.encoding import encode
from dehusk.inference.grf.labeler import FieldLabeler, by_features, by_words
from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import ModelVersion, Prediction

PARAGRAPH = "The harbour was closed for three days, and no ship left it before the storm had passed."
PAGE = encode(
    segment(
        f"""<nav><ul><li><a href=/a>Timetable</a><li><a href=/b>Fares</a></ul></nav>
        <article><h1>Storm</h1><p>{PARAGRAPH}</p><p>No ship left it, and none came in, said the pilot.</p><p>{PARAGRAPH}</p></article>
        <footer><p>All rights reserved.</p></footer>""".encode()
    )
)


def test_seeds_are_spread_to_what_is_unknown() -> None:
    probabilities = by_features().label_here(PAGE).probabilities
    assert probabilities[[0, 1, 3, 5, 6]].tolist() == [0, 0, 1, 1, 0]
    assert 0.5 < probabilities[4] < 1


@pytest.mark.parametrize(("labeler", "name"), [(by_features(), "grf"), (by_words(), "grf-words")])
async def test_every_page_is_answered_in_order(labeler: FieldLabeler, name: str) -> None:
    answers = await labeler.label([PAGE, encode(segment(b"")), PAGE])
    await labeler.close()
    assert [isinstance(answer, Prediction) and len(answer.probabilities) for answer in answers] == [7, 0, 7]
    assert {(answer.model, answer.labeler) for answer in answers if isinstance(answer, Prediction)} == {
        (ModelVersion(name, "1"), name)
    }


def test_words_connect_what_features_do_not() -> None:
    assert (by_words().label_here(PAGE).probabilities != by_features().label_here(PAGE).probabilities).any()


def test_a_page_of_which_only_texts_are_known_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="only texts and paths"):
        by_features().label_here(replace(PAGE, structure=None))
