import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.schemas.pages import RawPage
from dehusk.training.comparison.labelers import EXTRACTORS, open_competitor
from dehusk.training.comparison.questions import ComparedPage, question_of

PROSE = [f"Mill number {number} grinds slowly, but fine, by day and night." for number in range(9)]
ARTICLE = "".join(f"<p>{each}</p>" for each in PROSE)
HTML = f"<nav><a href=/>Home</a></nav><article>{ARTICLE}</article>".encode()


@pytest.mark.parametrize("name", EXTRACTORS)
def test_an_extractor_keeps_the_blocks_that_its_text_has(name):
    competitor = open_competitor(name, DEFAULT_REPOSITORY)
    outcome = competitor.extract(RawPage("http://mill.example/", HTML))
    assert outcome.content is None
    assert all(each in outcome.text for each in PROSE)
    question = question_of(ComparedPage("1", "a", "s", "", HTML, text=" ".join(PROSE)))
    assert competitor.units(question, outcome).tolist() == [False, *[True] * 9]
