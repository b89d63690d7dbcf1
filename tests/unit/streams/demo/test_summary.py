"""The closing summary: its sums, its JSON, and what a person reads."""

import io
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from dehusk.streams.demo.outcome import Block
from dehusk.streams.demo.summary import Summary, show

SUMMARY = Summary(
    site="python",
    labeler="onnx",
    pages=100,
    documents=90,
    empty_documents=4,
    skipped={"not-html": 7},
    dead_letters={"memory-budget-exceeded": 2, "internal-error": 1},
    seconds=20.0,
    megabytes=50.0,
    visible_characters=1000,
    kept_characters=600,
    example_url="http://127.0.0.1/a.html",
    example=[Block("menu", content=False), Block("[red]a sentence[/red]", content=True)],
    directory=Path("/tmp/out"),
)


def printed(summary: Summary) -> str:
    console = Console(file=io.StringIO(), width=120)
    show(summary, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("change", "unaccounted"),
    [({}, 0), ({"pages": 101}, 1), ({"documents": 91}, -1), ({"skipped": {}}, 7), ({"dead_letters": {}}, 3)],
)
def test_every_page_is_a_document_or_skipped_or_a_dead_letter(change: dict, unaccounted: int) -> None:
    assert replace(SUMMARY, **change).unaccounted == unaccounted


def test_rates_and_share() -> None:
    assert (SUMMARY.pages_per_second, SUMMARY.megabytes_per_second, SUMMARY.kept_share) == (5.0, 2.5, 0.6)
    assert replace(SUMMARY, visible_characters=0, kept_characters=0).kept_share == 0.0


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
    text = printed(replace(SUMMARY, example=blocks))
    assert "before 91." not in text
    assert "before 92." in text
    assert "content 0." in text
    assert [number for number in range(100) if f"content {number}." in text] == [*range(22), *range(91, 100)]
    assert "… 69 blocks …" in text
    assert "a footer" in text
    assert "40 of the page's 201 blocks" in text


def test_a_short_example_is_shown_whole() -> None:
    blocks = [Block(f"block {number}.", content=True) for number in range(40)]
    text = printed(replace(SUMMARY, example=blocks))
    assert [text.count(f" block {number}.") for number in range(40)] == [2] * 40
    assert "…" not in text
    assert "40 of the page's 40 blocks" in text


def test_a_crawl_without_documents_is_summed_up_too() -> None:
    assert "0% of what the pages show" in printed(
        replace(SUMMARY, documents=0, example=[], example_url="", visible_characters=0, kept_characters=0)
    )
