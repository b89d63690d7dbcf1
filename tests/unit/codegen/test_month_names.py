import pytest
from babel import Locale

from codegen import month_names
from dehusk.inference.metadata.dates import read_date
from dehusk.inference.metadata.month_names import AMBIGUOUS, NAMES


def test_the_names_are_those_of_the_library() -> None:
    assert month_names.PATH.read_text() == month_names.module()


def test_names_are_of_one_month_each() -> None:
    names = [name for text in NAMES for name in text.split()]
    assert len(NAMES) == 12
    assert len({*names, *AMBIGUOUS}) == len(names) + len(AMBIGUOUS)


@pytest.mark.parametrize("code", sorted(set(month_names.LOCALES) - {"vi"}))
def test_a_date_is_read_with_each_full_name_of_a_language(code: str) -> None:
    months = Locale.parse(code).months["format"]["wide"]
    language = code[:2]
    found = {month: read_date(f"3 {name} 2024", language) for month, name in months.items()}
    unread = [months[month] for month, day in found.items() if day is None or day.month != month]
    assert unread == {"lb": ["Mee"], "ms": ["Mac"]}.get(code, [])  # too short to be told from other words
