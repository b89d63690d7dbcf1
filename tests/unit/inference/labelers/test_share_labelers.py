import numpy as np
import pytest

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.grf.labeler import FieldLabeler, by_words
from dehusk.inference.labelers.labeler import open_local_labeler
from dehusk.inference.labelers.rules import ShareLabeler, boilerpipe_words, declutter
from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import NotEncodedError
from dehusk.schemas.pages import Encoding, ModelVersion, Prediction

PAGE = segment(b"<p>" + b"word " * 20 + b"<div><a href=/>link</a></div>", with_tree=True)


@pytest.mark.parametrize(
    ("name", "encoding", "expected"),
    [
        ("boilerpipe-words", Encoding.BOILERPIPE, [1, 0]),
        ("boilerpipe-density", Encoding.BOILERPIPE, [1, 0]),
        ("declutter", Encoding.DECLUTTER, [1, 0]),
    ],
)
async def test_every_page_is_answered_by_its_shares(
    name: str, encoding: Encoding, expected: list[float]
) -> None:
    labeler = open_local_labeler(name)
    empty = segment(b"", with_tree=True)
    answers = await labeler.label([encode(PAGE, [encoding]), encode(empty, [encoding])])
    await labeler.close()
    assert all(isinstance(answer, Prediction) for answer in answers)
    predictions = [answer for answer in answers if isinstance(answer, Prediction)]
    assert [each.probabilities.tolist() for each in predictions] == [expected, []]
    assert {each.probabilities.dtype for each in predictions} == {np.dtype(np.float32)}
    assert {(each.labeler, each.model) for each in predictions} == {(name, ModelVersion(name, "1"))}


@pytest.mark.parametrize("labeler", [boilerpipe_words(), declutter(), by_words()])
def test_a_page_without_the_encoding_is_to_be_prepared_again(labeler: ShareLabeler | FieldLabeler) -> None:
    with pytest.raises(NotEncodedError) as caught:
        labeler.label_here(encode(PAGE))
    assert {caught.value.encoding} == labeler.encodings


def test_the_shares_are_made_only_where_they_are_asked_for() -> None:
    page = encode(PAGE)
    assert page.boilerpipe is None
    assert page.declutter is None
    with pytest.raises(ValueError, match="declutter"):
        encode(segment(b"<p>x"), [Encoding.DECLUTTER])
