import signal
from contextlib import contextmanager

import numpy as np
import pytest

from dehusk.schemas.errors import PageError
from dehusk.schemas.outcomes import BrokenReason
from dehusk.training.comparison.judging import Timeout, judge
from dehusk.training.comparison.labelers import Outcome
from dehusk.training.comparison.questions import ComparedPage
from dehusk.training.scores import BlockCounts

HTML = b"<nav>Home again</nav><p>The mill turns slowly.<p>It grinds by night."
PAGE = ComparedPage("1", "a", "site", "article", HTML, text="The mill turns slowly. It grinds by night.")


class Keeping:
    """A labeler that keeps the blocks of a number."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)
        self.pages = 0

    def extract(self, page):
        self.pages += 1
        texts = ["Home again", "The mill turns slowly.", "It grinds by night."]
        content = np.isin(np.arange(3), self.numbers)
        return Outcome("\n".join(texts[number] for number in self.numbers), content)

    def units(self, _question, outcome):
        return outcome.content


class Failing:
    def __init__(self, error):
        self.error = error

    def extract(self, _page):
        raise self.error


def judged_by(competitors, rounds=1, turn=0, timeouts=()):
    """The page as it is judged, and who was at work, in order."""
    watched = []

    @contextmanager
    def watch(name):
        watched.append(name)
        yield

    return judge(PAGE, competitors, rounds, turn, watch=watch, timeouts=dict(timeouts)), watched


def test_texts_and_blocks_are_scored():
    judged, _ = judged_by({"some": Keeping(0, 1), "all": Keeping(0, 1, 2), "right": Keeping(1, 2)})
    some = judged.judgements["some"]
    assert some.words == pytest.approx((2 * 4 / (6 + 8), 4 / 6, 4 / 8))
    assert some.blocks == BlockCounts(
        content_found=1, content_missed=1, boilerplate_found=0, boilerplate_missed=1
    )
    assert judged.judgements["right"].words.f1 == 1
    assert judged.judgements["all"].words.f1 == judged.everything == pytest.approx(16 / 18)
    assert judged.oracle == 1
    assert (judged.site, judged.page_type, judged.collection) == ("site", "article", "a")


def test_everybody_extracts_a_page_in_each_round_and_is_timed():
    competitors = {"one": Keeping(1), "other": Keeping(2)}
    judged, _ = judged_by(competitors, 3, 5)
    assert [each.pages for each in competitors.values()] == [3, 3]
    assert all(each.milliseconds > 0 for each in judged.judgements.values())


def test_times_are_of_the_page_while_its_time_is_limited():
    """A timer of CPU time has the clock of the process advance by ticks, of which a page takes none."""
    signal.setitimer(signal.ITIMER_PROF, 60)
    try:
        judged, _ = judged_by({"one": Keeping(1)}, 3)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    assert judged.judgements["one"].milliseconds > 0


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PageError(BrokenReason.TOO_MANY_BLOCKS, "x"), "too-many-blocks: x"),
        (ZeroDivisionError("of nothing"), "ZeroDivisionError: of nothing"),
    ],
)
def test_who_fails_on_a_page_has_an_empty_text_there_and_no_content_and_says_why(error, said):
    judged, _ = judged_by({"failing": Failing(error), "right": Keeping(1, 2)}, 2)
    failing = judged.judgements["failing"]
    assert (failing.words.f1, failing.problem) == (0, said)
    assert failing.blocks == BlockCounts(0, 2, 1, 0)
    assert judged.judgements["right"].problem == ""


def test_all_are_watched_while_they_extract_and_label():
    _, watched = judged_by({"one": Keeping(1), "failing": Failing(ValueError())}, 2)
    assert (watched.count("one"), watched.count("failing")) == (3, 2)


def test_who_was_given_up_on_a_page_is_not_called_and_fails_in_its_place():
    competitors = {"slow": Keeping(1, 2), "right": Keeping(1, 2)}
    judged, watched = judged_by(competitors, timeouts={"slow": Timeout("time-limit: 2 s", 2.0)})
    slow = judged.judgements["slow"]
    assert list(judged.judgements) == ["slow", "right"]
    assert set(watched) == {"right"}
    assert (slow.words.f1, slow.blocks, slow.milliseconds) == (0, BlockCounts(0, 2, 1, 0), 2000)
    assert slow.problem == "time-limit: 2 s"
    assert judged.judgements["right"].words.f1 == 1
