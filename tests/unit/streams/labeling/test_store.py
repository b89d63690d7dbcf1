"""Pages that are offered, and pages that are refused."""

from dataclasses import replace

import pytest

from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason
from dehusk.schemas.page_labels import html_hash
from dehusk.schemas.pages import RawPage
from dehusk.streams.labeling.store import find_title, open_store

PAGE = RawPage("https://example.org/a", b"<p>one", "a")


def test_pages_come_back_as_they_were() -> None:
    pages = [PAGE, replace(PAGE, id=None, html=b""), replace(PAGE, id="c", html=b"<p>three", url="")]
    with open_store(pages) as store:
        assert [store.page(number) for number in (2, 0, 1)] == [pages[2], pages[0], pages[1]]
        assert [(entry.id, entry.url) for entry in store.entries] == [
            ("a", "https://example.org/a"),
            ("https://example.org/a", "https://example.org/a"),
            ("c", None),
        ]
        assert store.entries[0].html_hash == html_hash(b"<p>one")


def test_what_cannot_be_labeled_has_its_reason() -> None:
    pages = [
        PAGE,
        Skipped(SkipReason.NOT_A_PAGE, "a request"),
        Broken(BrokenReason.PAGE_TOO_LARGE, "2 bytes", "https://example.org/b"),
        RawPage("", b"<p>nameless"),
        replace(PAGE, html=b"<p>other"),
    ]
    with open_store(pages) as store:
        assert [entry.refusal for entry in store.entries] == [
            None,
            "page-too-large: 2 bytes",
            "missing-id: it has neither an id nor a URL to save its labels under",
            "same-id: page 1 has the same id, or the same URL and none",
        ]
        assert [store.page(number) for number in (1, 2, 3)] == [None] * 3


def test_so_many_pages_are_read_at_most() -> None:
    def pages():
        yield PAGE
        yield replace(PAGE, id="b")
        pytest.fail("a further page was read")

    with open_store(pages(), 2) as store:
        assert [entry.id for entry in store.entries] == ["a", "b"]


def test_no_pages_are_an_error() -> None:
    with (
        pytest.raises(ConfigurationError, match="no pages"),
        open_store([Skipped(SkipReason.NOT_A_PAGE, "a request")]),
    ):
        pass


@pytest.mark.parametrize(
    ("html", "title"),
    [
        (b"<title>A page</title><p>text", "A page"),
        (b"<html><head><TITLE lang=en>\n A \tpage </TITLE>", "A page"),
        ("<title>Mühle &amp; Rad &#8211; ä</title>".encode(), "Mühle & Rad – ä"),
        (b"<title>Never closed <p>text", "Never closed <p>text"),
        (b"<title>  </title>", None),
        (b"<p>text", None),
        (b"<title", None),
        (b"", None),
        (b" " * 70_000 + b"<title>Late</title>", None),
        (b"<title>" + b"long " * 1_000, "long " * 39 + "long"),
        (b"<title>" + "ä".encode() * 600, "ä" * 200),
    ],
)
def test_the_title_of_a_page_is_found_in_its_beginning(html: bytes, title: str | None) -> None:
    assert find_title(html) == title
