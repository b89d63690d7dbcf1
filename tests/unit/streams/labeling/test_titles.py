"""Titles of pages that are not parsed."""

import pytest

from dehusk.streams.labeling.titles import listed_title


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
    assert listed_title(html) == title
