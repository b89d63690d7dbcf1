from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dehusk.inference.metadata.values import date_in_path, read_date

DAY = date(2024, 5, 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2024-05-01", DAY),
        (" 2024-5-1 ", DAY),
        ("2024/05/01", DAY),
        ("20240501", DAY),
        ("1.5.2024", DAY),
        ("2024年5月1日", DAY),
        ("May 1, 2024", DAY),
        ("1st May 2024", DAY),
        ("01-May-2024", DAY),
        ("Sept. 5, 2024", date(2024, 9, 5)),
        ("Marathon 5, 2023, held on May 1, 2024", DAY),
        ("1. Mai 2024", DAY),
        ("Mittwoch, 5.MÄRZ 2024", date(2024, 3, 5)),
        ("1er mai 2024", DAY),
        ("le 5 août 2024 à 10h", date(2024, 8, 5)),
        ("5 de marzo de 2024", date(2024, 3, 5)),
        ("1º de maio de 2024", DAY),
        ("1 maggio 2024", DAY),
        ("1 mei 2024", DAY),
        ("13/05/2024", date(2024, 5, 13)),
        ("05/13/2024", date(2024, 5, 13)),
        ("13-05-2024", date(2024, 5, 13)),
        ("13/05/2024 10:00 +02:00", datetime(2024, 5, 13, 8, tzinfo=UTC)),
        ("Wed May 01 2024 10:00:00 GMT+0200 (CEST)", datetime(2024, 5, 1, 8, tzinfo=UTC)),
        ("Wed May 01 2024 10:00:00 GMT-0330", datetime(2024, 5, 1, 13, 30, tzinfo=UTC)),
        ("May 1, 2024 10:00 UTC+02:00", datetime(2024, 5, 1, 8, tzinfo=UTC)),
        ("Updated: Wed, May 1st 2024", DAY),
        ("2024-05-01T10:00:00", DAY),
        ("2024-05-01 10:00", DAY),
        ("2024-05-01T10:00:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T10:00:00.123456+02:00", datetime(2024, 5, 1, 8, tzinfo=UTC)),
        ("2024-05-01T10:00:00+0530", datetime(2024, 5, 1, 4, 30, tzinfo=UTC)),
        ("2024-05-01 10:00:00 UTC", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T01:00:00+14:00", datetime(2024, 4, 30, 11, tzinfo=UTC)),
        ("Wed, 01 May 2024 10:00:00 GMT", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("May 1, 2024 at 5:00 pm EDT", datetime(2024, 5, 1, 21, tzinfo=UTC)),
        ("1714557600", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("1714557600000", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T99:00:00Z", DAY),
        ("2024-05-01T10:00:00+99:99", DAY),
    ],
)
def test_a_date_is_read_with_its_time_where_its_zone_is_told(text: str, found: date) -> None:
    assert read_date(text) == found
    assert type(read_date(text)) is type(found)


@pytest.mark.parametrize(
    "text",
    [
        *("", "today", "0000-00-00", "0000-01-01T00:00:00Z", "99999-01-01", "1899-12-31", "2100-01-01"),
        *("2024-02-30", "2024-13-01", "1970-01-01", "1970-01-01T00:00:00Z", "0", "٢٠٢٤-٠٥-٠١٠", "5/1/2024"),
        *(
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59-12:00",
            "Smarch 1, 2024",
            "Marathon 5, 2023",
            "Decade 5, 2023",
            "12 Augen 2023",
            "05/06/2024",
            "05-06-2024",
            "13/13/2024",
            "13/05-2024",
            "x" * 64 + "2024-05-01",
        ),
    ],
)
def test_what_names_no_plausible_day_is_no_date(text: str) -> None:
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://a.test/2024/05/01/title", DAY),
        ("https://a.test/news/2024-05-01-title.html", DAY),
        ("https://a.test/20240501/", DAY),
        ("https://a.test/2024/05/title", None),
        ("https://a.test/2024/02/30/title", None),
        ("https://a.test/p/20240501123", None),
        ("", None),
    ],
)
def test_a_date_in_a_path_is_found(url: str, found: date | None) -> None:
    assert date_in_path(url) == found


PIECE = st.sampled_from(["2024", "0000", "99999", "-", "/", "T", ":", "Z", "+", "May", " ", ".", "日", "٣"])


@given(st.text() | st.lists(PIECE | st.text("0123456789", max_size=5), max_size=12).map("".join))
def test_any_text_is_a_plausible_date_or_none(text: str) -> None:
    found = read_date(text)
    assert found is None or 1899 <= found.year <= 2100
    assert not isinstance(found, datetime) or found.tzinfo is UTC
    date_in_path("https://a.test/" + text)
