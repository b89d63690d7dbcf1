from math import isnan, sqrt

import pytest

from dehusk.training.comparison.summary import estimate, summaries
from dehusk.training.scores import BlockCounts
from tests.unit.training.comparison.judged import judgement, page


def test_a_standard_error_is_that_of_the_mean_where_each_page_is_of_its_own_site():
    found = estimate([0.0, 1.0, 1.0, 0.0], ["a", "b", "c", "d"])
    assert found.mean == 0.5
    assert found.error == pytest.approx(sqrt(1 / 3) / sqrt(4))


def test_pages_of_one_site_that_are_all_alike_count_as_one():
    twice = estimate([0.0, 0.0, 1.0, 1.0, 0.4, 0.4], ["a", "a", "b", "b", "c", "c"])
    once = estimate([0.0, 1.0, 0.4], ["a", "b", "c"])
    assert twice.error == pytest.approx(once.error)


def test_one_site_tells_nothing_of_the_error():
    assert isnan(estimate([0.5, 0.7], ["a", "a"]).error)


def test_blocks_are_scored_over_all_pages_together():
    counts = [BlockCounts(3, 1, 5, 1), BlockCounts(0, 0, 1, 2)]
    (found,) = summaries(
        [page(number, one=judgement(1, blocks=each)) for number, each in enumerate(counts)], {}
    )
    (row,) = found.whole.rows
    content, boilerplate = row.content, row.boilerplate
    assert (content.precision, content.recall) == (3 / 6, 3 / 4)
    assert (boilerplate.precision, boilerplate.recall) == (6 / 7, 6 / 9)
    assert (content.blocks, boilerplate.blocks) == (4, 9)


def test_differences_are_paired_with_the_best_that_was_not_trained_on_the_collection():
    pages = [page(number, one=0.5 + number / 10, other=0.4 + number / 10, best=0.95) for number in range(3)]
    ((section, *_),) = [(each.whole,) for each in summaries(pages, {"a": {"best"}})]
    assert section.reference == "one"
    rows = {row.name: row for row in section.rows}
    assert rows["one"].difference is None
    assert rows["other"].difference.mean == pytest.approx(-0.1)
    assert rows["other"].difference.error == pytest.approx(0)
    assert rows["other"].f1.error > 0.05
    assert [name for name, row in rows.items() if row.is_trained_on_them] == ["best"]


def test_where_all_were_trained_on_the_collection_the_best_is_the_reference():
    (found,) = summaries([page(1, one=0.5, other=0.6)], {"a": {"one", "other"}})
    assert found.whole.reference == "other"


def test_the_reference_can_be_named():
    (found,) = summaries([page(1, one=0.5, other=0.6)], {}, against="one")
    assert found.whole.reference == "one"


def test_collections_and_types_of_pages_are_told_apart():
    pages = [page(1, "a", "blog", one=0.2), page(2, "b", one=0.3), page(3, "a", one=0.4)]
    pages.append(page(4, "a", "blog", one=1.0))
    first, second = summaries(pages, {})
    assert [(each.whole.name, each.whole.pages) for each in (first, second)] == [("a", 3), ("b", 1)]
    assert [(each.name, each.pages, each.rows[0].f1.mean) for each in first.types] == [
        ("unknown", 1, 0.4),
        ("blog", 2, 0.6),
    ]
    assert second.types == ()


def test_pages_that_fail_are_named_with_the_reason():
    (found,) = summaries([page(1, one=judgement(0, problem="no body")), page(2, problem="odd", one=1.0)], {})
    assert found.whole.rows[0].failed == ("1: no body",)
    assert found.unscored == ("2: odd",)
    assert found.whole.rows[0].f1.mean == 0.5
