"""The closing summary: its sums, its JSON, and what a person reads."""

import io
from collections import Counter
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from dehusk.streams.demo.summary import Block, Cleaned, Crawled, Dead, Display, Document, Summary, show

BLOCKS = [Block("menu", content=False), Block("[red]a sentence[/red]", content=True)]
REASONS = Counter({"memory-budget-exceeded": 2, "internal-error": 1})


def keys(count: int) -> set[bytes]:
    return {b"http://127.0.0.1/%d" % number for number in range(count)}


CRAWLED = Crawled(keys(100), 100, 50_000_000, 1000.0)
CLEANED = Cleaned(keys(90), 4, 1000, 600, "http://127.0.0.1/a.html", BLOCKS)
SUMMARY = Summary(
    "python", "onnx", CRAWLED, CLEANED, Dead(set(), REASONS), {"not-html": 7}, 1020.0, Path("/tmp/out")
)


def printed(summary: Summary) -> str:
    console = Console(file=io.StringIO(), width=120, markup=False)
    show(summary, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "unaccounted"),
    [
        ({}, 0),
        ({"crawled": Crawled(keys(101))}, 1),
        ({"cleaned": Cleaned(keys(91))}, -1),
        ({"cleaned": Cleaned({b"another", *keys(90)})}, 0),
        ({"skipped": {}}, 7),
        ({"dead": Dead()}, 3),
    ],
)
def test_every_page_is_a_document_or_skipped_or_a_dead_letter(change: dict, unaccounted: int) -> None:
    assert replace(SUMMARY, **change).unaccounted == unaccounted


def test_rates_and_share() -> None:
    assert (SUMMARY.pages_per_second, SUMMARY.megabytes_per_second, CLEANED.kept_share) == (5.0, 2.5, 0.6)
    assert Cleaned().kept_share == 0.0


def test_the_json_holds_the_sums_and_the_example() -> None:
    fields = orjson.loads(SUMMARY.to_json())
    assert b"\n" not in SUMMARY.to_json()
    assert (fields["pages"], fields["unaccounted"], fields["kept_share"]) == (100, 0, 0.6)
    assert (fields["documents"], fields["empty_documents"]) == (90, 4)
    assert fields["example"]["before"] == ["menu", "[red]a sentence[/red]"]
    assert fields["example"]["after"] == ["[red]a sentence[/red]"]


def test_a_person_reads_the_reasons_and_where_the_documents_are() -> None:
    text = printed(SUMMARY)
    assert "90, 4 of them without text" in text
    assert "7 (7 not-html)" in text
    assert "3 (1 internal-error, 2 memory-budget-exceeded)" in text
    assert "/tmp/out/documents.jsonl" in text
    assert "60% of what the pages show" in text


def test_the_example_shows_text_as_it_is_beside_what_was_kept_of_it() -> None:
    rows = [line for line in printed(SUMMARY).splitlines() if "menu" in line or "sentence" in line]
    assert [row.count("menu") for row in rows] == [1, 0]
    assert rows[1].count("[red]a sentence[/red]") == 2


def test_the_example_shows_where_the_content_begins_and_how_the_page_ends() -> None:
    blocks = [Block(f"before {number}.", content=False) for number in range(100)]
    blocks += [Block(f"content {number}.", content=True) for number in range(100)]
    blocks += [Block("a footer", content=False)]
    text = printed(replace(SUMMARY, cleaned=Cleaned(example=blocks)))
    assert "before 91." not in text
    assert "before 92." in text
    assert "content 0." in text
    assert [number for number in range(100) if f"content {number}." in text] == [*range(22), *range(91, 100)]
    assert "… 92 blocks …" in text
    assert "… 69 blocks …" in text
    assert "a footer" in text
    assert "40 of the page's 201 blocks" in text


def test_a_short_example_is_shown_whole() -> None:
    blocks = [Block(f"block {number}.", content=True) for number in range(40)]
    text = printed(replace(SUMMARY, cleaned=Cleaned(example=blocks)))
    assert [text.count(f" block {number}.") for number in range(40)] == [2] * 40
    assert "…" not in text
    assert "40 of the page's 40 blocks" in text


def test_a_crawl_without_documents_is_summed_up_too() -> None:
    assert "0% of what the pages show" in printed(replace(SUMMARY, cleaned=Cleaned()))


def document(url: str, *blocks: tuple[str, bool]) -> Document:
    text = "\n".join(text for text, content in blocks if content)
    return Document(url, text, [Block(text, content) for text, content in blocks])


def test_text_is_counted_and_documents_that_have_none() -> None:
    cleaned = Cleaned()
    cleaned.add(document("a", ("menu", False), ("a sentence", True)))
    cleaned.add(document("b", ("footer", False)))
    assert (cleaned.visible, cleaned.kept) == (20, 10)
    assert cleaned.empty == 1


def test_the_example_is_the_page_nearest_to_a_readable_length() -> None:
    cleaned = Cleaned()
    for url, length in (("short", 10), ("right", 2900), ("long", 90_000)):
        cleaned.add(document(url, ("x" * length, True)))
    assert cleaned.example_url == "right"
    assert cleaned.example == [Block("x" * 2900, content=True)]


def test_a_page_without_text_is_no_better_example_than_one_with() -> None:
    cleaned = Cleaned()
    cleaned.add(document("with", ("text", True)))
    cleaned.add(document("without"))
    assert cleaned.example_url == "with"


def said(*told: tuple[str, ...]) -> list[str]:
    console = Console(file=io.StringIO(), width=40)
    with Display(console) as display:
        for name, *text in told:
            getattr(display, name)(*text)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_milestones_are_lines_that_nothing_breaks() -> None:
    assert said(("milestone", "x" * 100)) == ["x" * 100]


def test_of_a_service_only_its_readiness_stays() -> None:
    assert said(("service", "kafka", "starting"), ("service", "kafka", "ready")) == ["kafka is ready"]


def test_progress_is_told_now_and_then() -> None:
    assert said(("progress", "1 page"), ("progress", "2 pages")) == ["1 page"]
