import time
from functools import partial
from multiprocessing import active_children

import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY, versions
from dehusk.schemas.errors import ConfigurationError
from dehusk.training.comparison.judging import JudgingOptions, judge_pages
from dehusk.training.comparison.labelers import open_competitor
from dehusk.training.comparison.questions import ComparedPage
from tests.unit.training.comparison.hanging import Labeler, refuse

HTML = b"<p>The mill stood by the river, and its wheel turned night and day for the whole village."
KNOWN = partial(open_competitor, repository=DEFAULT_REPOSITORY)


def pages(*htmls):
    return [
        ComparedPage(str(number), "a", "s", "", html, text="The mill") for number, html in enumerate(htmls)
    ]


def judging(*names, opens=KNOWN, seconds=600.0, wall_seconds=600.0):
    return JudgingOptions(names, opens, 1, seconds, wall_seconds)


def test_pages_are_judged_in_order_by_several_processes():
    newest = f"dehusk/{versions(DEFAULT_REPOSITORY, 'dehusk')[-1]}"
    judged = list(judge_pages(pages(*[HTML] * 9), judging("rules", newest), 2))
    assert [page.id for page in judged] == [str(number) for number in range(9)]
    assert all(list(page.judgements) == ["rules", newest] for page in judged)


@pytest.mark.parametrize(
    ("name", "limit", "said"),
    [
        ("compute", {"seconds": 0.2}, "time-limit: it took more than 0.2 s of CPU time (--page-seconds)"),
        ("wait", {"wall_seconds": 1.0}, "time-limit: it took longer than 1 s, most of them waiting"),
    ],
)
def test_who_hangs_fails_on_that_page_alone_and_all_others_go_on(name, limit, said):
    hostile = pages(HTML, HTML + name.encode(), HTML)
    judged = list(judge_pages(hostile, judging("good", name, opens=Labeler, **limit), 1))
    assert [page.judgements[name].problem for page in judged] == ["", said, ""]
    assert [page.judgements[name].words.f1 > 0 for page in judged] == [True, False, True]
    assert judged[1].judgements[name].milliseconds == 1000 * limit.get("seconds", 600)
    assert [page.judgements["good"].words.f1 for page in judged] == [1.0] * 3


def test_several_hang_on_a_page():
    hostile = pages(HTML + b"compute wait")
    (judged,) = judge_pages(
        hostile, judging("wait", "good", "compute", opens=Labeler, seconds=0.2, wall_seconds=1), 1
    )
    assert [name for name, each in judged.judgements.items() if each.problem] == ["wait", "compute"]


def test_a_page_that_a_process_died_of_is_named():
    with pytest.raises(ConfigurationError, match="exit status 3, on page 1"):
        list(judge_pages(pages(HTML, HTML + b"die"), judging("die", opens=Labeler), 1))


def test_processes_that_cannot_start_are_told(capfd):
    with pytest.raises(ConfigurationError, match="started: exit status 1"):
        list(judge_pages(pages(HTML), judging("none", opens=refuse), 1))
    assert "OSError: none" in capfd.readouterr().err


def test_processes_end_with_the_last_page_that_is_wanted():
    judged = judge_pages(pages(*[HTML] * 3000), judging("rules"), 2)
    next(judged)
    judged.close()
    children, end = active_children(), time.monotonic() + 60
    while (left := [each for each in children if each.exitcode is None]) and time.monotonic() < end:
        time.sleep(0.01)  # not `join`: while a thread reaps a process, it has no exit code for a moment
    assert left == []


def test_a_process_that_somebody_killed_is_told():
    judged = judge_pages(pages(*[HTML] * 3000), judging("rules"), 1)
    next(judged)
    for child in active_children():
        child.kill()
    with pytest.raises(ConfigurationError, match=r"want of memory, on page \d+"):
        list(judged)
