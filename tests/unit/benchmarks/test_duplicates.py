"""The keys of duplicates on pages of which some or all have no mirrors."""

from benchmarks.duplicates import measure, report
from benchmarks.pages import Page

WORDS = " ".join(f"word{number}" for number in range(300))
"""No line of it is a sentence that stands in the source as it does in the content."""


def test_pages_without_sentences_have_no_mirrors_with_a_sentence_changed() -> None:
    mirrors, false = measure(
        [Page("http://mill.example/", f"<p>{WORDS}".encode(), content="short")], "dehusk"
    )
    assert "a sentence changed" not in [each.name for each in mirrors]
    assert {each.pages for each in mirrors} == {1}
    assert "of 0 pairs" in report(mirrors, false)


def test_pages_that_are_too_short_have_no_mirrors() -> None:
    mirrors, false = measure([Page("http://mill.example/", b"<p>short", content="short")], "dehusk")
    assert (mirrors, false) == ([], [0, 0, 0, 0])
