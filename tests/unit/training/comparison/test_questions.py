import pytest

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.training.comparison import questions
from dehusk.training.comparison.questions import ComparedPage, question_of
from dehusk.training.pages.gold import LabeledBlock

HTML = b"<nav>Home</nav><p>The mill turns slowly.<p>It grinds by night."


def page(**fields):
    known = {"id": "1", "collection": "a", "site": "s", "page_type": "", "html": HTML}
    return ComparedPage(**{**known, **fields})


def block(text, label, path=("html", "body", "p")):
    return LabeledBlock(path, text, label)


def test_of_a_page_with_gold_text_the_units_are_its_blocks_and_those_in_the_text_are_content():
    question = question_of(page(text="The mill turns slowly."))
    assert question.truth.tolist() == [False, True, False]
    assert question.places.tolist() == [0, 1, 2]
    assert question.gold == ["the", "mill", "turns", "slowly"]


def test_a_page_is_asked_about_at_its_address():
    assert question_of(page(url="https://mills.test/wheel")).raw.url == "https://mills.test/wheel"


def test_of_a_page_with_labels_the_gold_text_is_that_of_its_content():
    question = question_of(page(labels=(False, False, True)))
    assert question.truth.tolist() == [False, False, True]
    assert question.gold == ["it", "grinds", "by", "night"]


def test_of_a_page_of_blocks_the_units_are_those_with_text_and_their_places_are_those_of_ours():
    link = ("html", "body", "p", "a")
    title = block("Mill", 0, ("html", "head", "title"))
    blocks = (title, block("turns", 1), block(" ", 0), block("on", 1, link))
    question = question_of(page(html=b"<p>turns <a>on</a>", blocks=blocks))
    assert question.units == [["mill"], ["turns"], ["on"]]
    assert question.truth.tolist() == [False, True, True]
    assert question.places.tolist() == [-1, 0, 0]
    assert question.gold == ["turns", "on"]
    assert len(question.as_it_came.places) == 3


def test_a_page_that_cannot_be_segmented_has_no_units_and_says_why(monkeypatch):
    def fail(_html, **_options):
        raise PageError(BrokenReason.TOO_MANY_BLOCKS, "far too many")

    assert len(segment(HTML)) == 3
    monkeypatch.setattr(questions, "segment", fail)
    question = question_of(page(text="The mill"))
    assert (question.units, question.gold) == ([], ["the", "mill"])
    assert question.problem == "too-many-blocks: far too many"


@pytest.mark.parametrize("path", [("html", "textarea", "p")])
def test_a_page_that_cannot_be_rebuilt_says_so(path):
    question = question_of(page(blocks=(block("a b", 1, path), block("c d", 0, path))))
    assert "no page can be made" in question.problem
    assert question.places.tolist() == [-1, -1]
