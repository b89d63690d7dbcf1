from multiprocessing import active_children

import pytest

from dehusk.inference.repository import DEFAULT_REPOSITORY
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.comparison.pages import ComparedPage
from dehusk.training.comparison.run import judge_pages

HTML = b"<p>The mill stood by the river, and its wheel turned night and day for the whole village."


def pages(count):
    return [ComparedPage(str(number), "a", "s", "", HTML, text="The mill") for number in range(count)]


def test_pages_are_judged_in_order_by_several_processes():
    judged = list(judge_pages(iter(pages(9)), ["rules", "dehusk/7"], DEFAULT_REPOSITORY, 1, 2))
    assert [page.id for page in judged] == [str(number) for number in range(9)]
    assert all(list(page.judgements) == ["rules", "dehusk/7"] for page in judged)


def test_pages_that_a_process_may_have_died_of_are_named():
    judged = judge_pages(iter(pages(3000)), ["rules"], DEFAULT_REPOSITORY, 1, 1)
    next(judged)
    for child in active_children():
        child.kill()
    with pytest.raises(
        ConfigurationError, match=r"a process died, .* on one of the pages [0-9, ]+: leave it out"
    ):
        list(judged)
