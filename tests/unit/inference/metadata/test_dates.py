from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dehusk.inference.metadata.dates import (
    DayOrder,
    date_in_path,
    dates_in,
    month_in_path,
    read_date,
)
from dehusk.schemas.metadata import day_of

DAY = date(2024, 5, 1)


def at(hour: int, minute: int = 0, *, east: float = 0, day: date = DAY) -> datetime:
    """Return a time in a zone some hours east of Greenwich."""
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=timezone(timedelta(hours=east)))


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
        ("13/05/2024 10:00 +02:00", at(10, east=2, day=date(2024, 5, 13))),
        ("Wed May 01 2024 10:00:00 GMT+0200 (CEST)", at(10, east=2)),
        ("Wed May 01 2024 10:00:00 GMT-0330", at(10, east=-3.5)),
        ("May 1, 2024 10:00 UTC+02:00", at(10, east=2)),
        ("May 1, 2024 10:00 UTC+2", at(10, east=2)),
        ("2024-05-01 10:00 GMT +8", at(10, east=8)),
        ("1 May 2024 10:00 GMT+5:30", at(10, east=5.5)),
        ("May 1, 2024 at 10:00 AM GMT-7", at(10, east=-7)),
        ("1 May 2024 10:00 EST-5", DAY),
        ("Updated: Wed, May 1st 2024", DAY),
        ("2024-05-01T10:00:00", DAY),
        ("2024-05-01 10:00", DAY),
        ("2024-05-01T10:00:00Z", at(10)),
        ("2024-05-01T00:00:00+02:00", at(0, east=2)),
        ("2024-05-01T10:00:00-00:00", at(10)),
        ("2024-05-01T10:00:00.123456+02:00", at(10, east=2)),
        ("2024-05-01T10:00:00+01:59:50", at(10, east=2)),
        ("2024-05-01T10:00:00+0530", at(10, east=5.5)),
        ("2024-05-01 10:00:00 UTC", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T01:00:00+14:00", at(1, east=14)),
        ("2024-05-01T01:00:00+14:01", DAY),
        ("Wed, 01 May 2024 10:00:00 GMT", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("May 1, 2024 at 5:00 pm EDT", at(17, east=-4)),
        ("1714557600", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("1714557600000", datetime(2024, 5, 1, 10, tzinfo=UTC)),
        ("2024-05-01T99:00:00Z", DAY),
        ("2024-05-01T10:00:00+99:99", DAY),
    ],
)
def test_a_date_is_read_with_its_time_where_its_zone_is_told(text: str, found: date) -> None:
    assert read_date(text) == found
    assert type(read_date(text)) is type(found)
    if isinstance(found, datetime):
        assert read_date(text).isoformat() == found.isoformat()  # type: ignore[union-attr]  # the offset, too


def test_the_day_of_a_time_is_that_of_its_own_clock() -> None:
    midnight = read_date("2024-05-01T00:00:00+02:00")
    assert midnight is not None
    assert midnight.isoformat() == "2024-05-01T00:00:00+02:00"
    assert day_of(midnight) == day_of(DAY) == DAY


@pytest.mark.parametrize(
    "text",
    [
        *("2024 May 1", "2024-May-01", "1st of May, 2024", "01/May/2024:10:00", "May 1, 2024", "MAY 1. 2024"),
        *(
            "1 мая 2024 г.",
            "Среда, 1 Мая, 2024",
            "1 травня 2024",
            "1 мај 2024.",
            "1 май 2024 г.",
            "1 мамыр 2024",
        ),
        *("1 maja 2024", "1. května 2024", "1. mája 2024", "1. maj 2024", "1 mai 2024", "1. maijs 2024"),
        *(
            "2024. május 1.",
            "2024 m. gegužės 1 d.",
            "2024. gada 1. maijs",
            "1. toukokuuta 2024",
            "1. mai 2024",
        ),
        *(
            "1 Mayıs 2024",
            "1 MAYIS 2024",
            "1 may 2024",
            "1 Mei 2024",
            "ngày 1 tháng 5 năm 2024",
            "1 tháng 5, 2024",
        ),
        *("1 Μαΐου 2024", "1 Μαϊου 2024", "1 ΜΑΪΟΥ 2024", "1 de maig de 2024", "1 de mayo del 2024"),
        *("١ مايو ٢٠٢٤", "1 أيار 2024", "1 ماي 2024", "۱ مه ۲۰۲۴", "1 מאי 2024", "1 במאי 2024"),
        *("१ मई २०२४", "১ মে ২০২৪", "1 พฤษภาคม 2567", "1 พ.ค. 2567", "1 მაისი 2024", "1 մայիսի 2024"),
        *(
            "2024年5月1日",
            "2024年05月01日(水)",
            "２０２４年５月１日",
            "二〇二四年五月一日",
            "二零二四年五月一日",
        ),
        *(
            "令和6年5月1日",
            "2024년 5월 1일",
            "2024. 5. 1.",
            "2024.05.01",
            "2024年5月1号",
            "\u200f1 مايو 2024",
        ),
    ],
)
def test_a_day_is_read_in_the_words_and_digits_of_any_language(text: str) -> None:
    assert read_date(text) == DAY


def test_the_language_decides_between_months_of_the_same_name() -> None:
    assert read_date("1 listopada 2024", "pl") == date(2024, 11, 1)
    assert read_date("1 listopada 2024", "hr") == date(2024, 10, 1)
    assert read_date("1 listopada 2024") is None


def test_an_order_decides_between_day_and_month() -> None:
    assert read_date("05/06/2024", "", DayOrder.DAY_FIRST) == date(2024, 6, 5)
    assert read_date("05/06/2024", "", DayOrder.MONTH_FIRST) == date(2024, 5, 6)
    assert read_date("05/05/2024") == date(2024, 5, 5)
    for order in DayOrder:
        assert read_date("05/13/2024", "", order) == date(2024, 5, 13)
        assert read_date("13/05/2024", "", order) == date(2024, 5, 13)


def test_all_dates_of_a_text_are_found_in_their_places() -> None:
    text = "Posted: May 1, 2024 | Updated 2 June 2024 at 10:00 UTC"
    first, second = dates_in(text)
    assert (first.when, text[first.start : first.end]) == (DAY, "May 1, 2024")
    assert (second.when, text[second.start : second.end]) == (
        at(10, day=date(2024, 6, 2)),
        "2 June 2024 at 10:00 UTC",
    )
    assert dates_in("20240501 2024-13-01 1970-01-01 call 0123 2024 for 1 May") == []


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
        ("https://a.test/2024/05/01?utm_source=rss", DAY),
        ("https://a.test/2024/05/01#more", DAY),
        ("https://a.test/share?u=/2024/05/01/", None),
        ("", None),
    ],
)
def test_a_date_in_a_path_is_found(url: str, found: date | None) -> None:
    assert date_in_path(url) == found


PIECE = st.sampled_from(
    [
        *(
            "2024",
            "0000",
            "99999",
            "-",
            "/",
            "T",
            ":",
            "Z",
            "+",
            "May",
            " ",
            ".",
            "日",
            "٣",
            "年",
            "月",
            "令和",
            "元",
        ),
        *(
            "tháng",
            "năm",
            "gada",
            "listopada",
            "كانون الثاني",
            "十",
            "二〇二四",
            "1",
            "12",
            "31",
            ",",
            "de",
            "\u200f",
        ),
    ]
)


@settings(max_examples=300)
@given(st.text() | st.lists(PIECE | st.text("0123456789", max_size=5), max_size=12).map("".join))
def test_any_text_is_a_plausible_date_or_none(text: str) -> None:
    for order in (None, *DayOrder):
        found = read_date(text, "hr", order)
        assert found is None or 1900 <= found.year <= 2099
        if isinstance(found, datetime):
            offset = found.utcoffset()
            assert offset is not None
            assert offset % timedelta(minutes=1) == timedelta()
            assert found.astimezone(UTC)
        mentions = dates_in(text, "hr", order)
        assert all(one.end <= other.start for one, other in pairwise(mentions))
        assert all(0 <= each.start < each.end <= len(text) for each in mentions)
    date_in_path("https://a.test/" + text)
    month_in_path("https://a.test/" + text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "1" * 100_000,
        "1 " * 50_000,
        "2024 " * 20_000,
        "1 May " * 20_000,
        "ا" * 100_000,
        "二" * 100_000,
        "年" * 100_000,
        "1. " * 33_000,
        "a " * 50_000 + "1 2024",
        "1" + " " * 100_000 + "May",
        "٣" * 100_000,
        "1/1/" * 25_000,
    ],
)
def test_a_huge_text_is_read_up_to_its_bound(text: str) -> None:
    assert read_date(text) is None
    dates_in(text[:1_000])
