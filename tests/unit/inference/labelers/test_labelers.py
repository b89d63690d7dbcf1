"""The labelers by name."""

import pytest

from dehusk.inference.labelers.labeler import LABELERS, LOCAL_LABELERS, encodings_read, open_local_labeler
from dehusk.inference.preparing import prepare
from dehusk.schemas.pages import Prediction, PreparedPage, RawPage

PAGE = (
    b"<nav><a href=/>Home</a></nav><article><p>"
    + b"One word and another. " * 20
    + b"<p>"
    + b"A paragraph with other words. " * 20
    + b"</article><div><a href=/i>Imprint</a></div>"
)


@pytest.mark.parametrize("name", LOCAL_LABELERS)
@pytest.mark.parametrize("html", [PAGE, b"", b"<p>x", b"<div>" * 3000 + b"x"])
def test_answers_any_page_by_what_it_reads(name: str, html: bytes) -> None:
    labeler = open_local_labeler(name)
    page = prepare(RawPage("https://a.test/", html), encodings=encodings_read(labeler))
    assert isinstance(page, PreparedPage)
    answer = labeler.label_here(page.encoded)
    assert isinstance(answer, Prediction)
    assert answer.labeler == name
    assert answer.probabilities.shape == (len(page.segmented),)
    assert ((answer.probabilities >= 0) & (answer.probabilities <= 1)).all()
    if html is PAGE:
        assert (answer.probabilities >= 0.5).tolist() == [False, True, True, False]


def test_names_all_that_can_be_asked_for() -> None:
    assert set(LABELERS) == {"triton", "onnx", *LOCAL_LABELERS}
