from datetime import UTC, date, datetime

import pytest

from dehusk.inference.metadata.reading import authors_in, date_in


@pytest.mark.parametrize(
    ("byline", "names"),
    [
        ("By Ann Lee", ["Ann Lee"]),
        ("by Ann Lee, Bo van der Berg and Cy Doe", ["Ann Lee", "Bo van der Berg", "Cy Doe"]),
        ("Written by Ann Lee | May 1, 2024", ["Ann Lee"]),
        ("BY ANN LEE", ["ANN LEE"]),
        ("By Ann Lee May 1, 2024 in News", ["Ann Lee"]),
        ("May Lee", ["May Lee"]),
        ("Von Änne Groß", ["Änne Groß"]),
        ("Ann Lee Updated 3 hours ago", ["Ann Lee"]),
        ("Ann", []),
        ("About The Author", []),
        ("Sign In", []),
        ("12 posts by readers of this page", []),
        ("By Ann Lee " + "is a writer " * 10, []),
        ("", []),
    ],
)
def test_names_are_read_from_a_byline(byline: str, names: list[str]) -> None:
    assert authors_in([byline]) == names


def test_the_first_byline_with_a_name_counts() -> None:
    assert authors_in(["", "Share", "By Ann Lee", "By Bo Doe"]) == ["Ann Lee"]


def test_the_one_day_that_texts_name_is_read() -> None:
    assert date_in(["Share", "Posted: May 1, 2024", "2024-05-01T08:00:00Z"]) == date(2024, 5, 1)
    assert date_in(["2024-05-01T08:00:00Z"]) == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert date_in(["May 1, 2024", "May 2, 2024"]) is None
    assert date_in(["May 1, 2024 " + "was a day " * 10]) is None
    assert date_in([]) is None
