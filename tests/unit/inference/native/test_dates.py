"""Texts in which a date may stand."""

import pytest

from dehusk.inference.metadata.dates import dates_in
from dehusk.inference.native.dates import any_with_date, texts_with_dates

DATES = [
    "5 January 2024",
    "Posted on 2024-01-05 at 10:00",
    "25/1/1999",
    "Jan. 5th, 2024",
    "2024년 1월 5일",
    "5. января 2024 г.",
    "令和6年1月5日",
    "二〇二四年一月五日",
    "٥ يناير ٢٠٢٤",
    "5 มกราคม 2567",
]


@pytest.mark.parametrize("text", DATES)
def test_a_text_with_a_date_may_have_one(text: str) -> None:
    assert dates_in(text)
    assert texts_with_dates([text], 0, 1, 100) == [0]
    assert any_with_date(["", text], 100)


@pytest.mark.parametrize(
    "text",
    ["", "5 January", "© 2024", "in 2024 123", "5 of 12024", "5 in 1066", "20 of 19", "été 2024"],
)
def test_a_text_without_a_year_and_a_day_has_none(text: str) -> None:
    assert not dates_in(text)
    assert texts_with_dates([text], 0, 1, 100) == []
    assert not any_with_date([text], 100)


def test_texts_are_looked_at_in_a_range_and_up_to_a_length() -> None:
    assert texts_with_dates(DATES, 1, 3, 100) == [1, 2]
    assert texts_with_dates(tuple(DATES), 2, 100, len(DATES[2])) == [2, 6, 7]
    assert not any_with_date(DATES[:1], len(DATES[0]) - 1)
