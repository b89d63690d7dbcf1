from benchmarks.headlines import Right, measure, report
from benchmarks.pages import Page


def page(number: int, label: str | None) -> Page:
    title, text = f"Seen from here - Foxes {number}", f"Foxes number {'x' * number}."
    html = f"<title>{title}</title><h1>Seen from here</h1><p>{text}"
    return Page(f"https://example.org/{number}", html.encode(), title=label)


def test_labeled_headlines_are_right_by_their_words_alone_and_beside_the_other_pages_of_their_site() -> None:
    right = measure([*(page(number, None) for number in range(1, 6)), page(6, "FOXES, 6")])
    assert (right.pages, right.title, right.alone, right.with_site) == (1, 0, 0, 1)
    assert report(Right(4, 1, 2, 3, 4)).splitlines()[0] == "headlines: 4 pages"
    assert [line.split()[-1] for line in report(Right(4, 1, 2, 3, 4)).splitlines()[1:]] == [
        "25.0%",
        "50.0%",
        "75.0%",
        "100.0%",
    ]
