import io

from rich.console import Console

from dehusk.training.comparison.summary import summaries
from dehusk.training.comparison.tables import Table, markdown, overview, show, tables
from tests.unit.training.comparison.judged import judgement, page


def collected(trained=(), **fields):
    pages = [page(number, one=0.5, two=0.6 + number / 10, **fields) for number in range(3)]
    return summaries(pages, {"a": set(trained)})


def test_a_table_of_texts_has_scores_differences_and_times():
    (found,) = collected()
    text, blocks = tables(found)
    assert text.title == "a: text of 3 pages of 3 sites"
    assert text.columns[-2:] == ("F1 less that of two", "ms/page")
    assert list(text.rows) == [
        ["one", "0.500 ± 0.000", "0.500", "0.500", "-0.200 ± 0.058", "1.00"],
        ["two", "0.700 ± 0.058", "0.700", "0.700", "", "1.00"],
    ]
    assert text.notes == ["Keeping every block scores 0.500, keeping just the content blocks 0.900."]
    assert blocks.title == "a: 12 blocks"
    assert next(iter(blocks.rows)) == ["one", *["0.500"] * 6]


def test_who_was_trained_on_the_collection_is_marked():
    (found,) = collected(["two"])
    text, blocks = tables(found)
    assert [row[0] for row in text.rows] == [row[0] for row in blocks.rows] == ["one", "two *"]
    assert "no fair comparison" in text.notes[-1]


def test_failed_pages_are_named_five_at_most():
    pages = [page(number, one=judgement(0, problem="no body")) for number in range(7)]
    pages.append(page(7, problem="odd", one=1.0))
    (found,) = summaries(pages, {})
    text, blocks = tables(found)
    assert text.notes[-1].startswith("one failed on 7 pages: 0: no body; 1: no body")
    assert text.notes[-1].endswith("4: no body and 2 more.")
    assert blocks.notes == ["The blocks of page 7: odd are not scored."]


def test_types_of_pages_have_tables_of_their_own():
    (found,) = summaries([page(1, page_type="blog", one=0.2), page(2, page_type="shop", one=0.3)], {})
    *_, words, content, boilerplate = tables(found)
    assert words.columns == ("labeler", "blog (1)", "shop (1)")
    assert list(words.rows) == [["one", "0.200", "0.300"]]
    assert content.title == "a: block F1 of content by type of page"
    assert list(boilerplate.rows) == [["one", "0.500", "0.500"]]


def test_several_collections_stand_side_by_side():
    both = summaries([page(1, "a", one=0.2), page(2, "b", one=0.3)], {"b": {"one"}})
    words, *_, times = overview(both)
    assert words.columns == ("labeler", "a (1)", "b (1)")
    assert list(words.rows) == [["one", "0.200", "0.300 *"]]
    assert list(times.rows) == [["one", "1.00", "1.00"]]
    assert list(overview(both[:1])) == []


TABLE = Table("a: b", ("labeler", "F1"), [["one *", "0.5"], ["a|b", "0.6"]], ["* is no fair comparison."])


def test_a_table_is_printed_in_columns():
    output = io.StringIO()
    show(TABLE, Console(file=output, width=200, markup=False))
    assert [line.split() for line in output.getvalue().splitlines()] == [
        ["a:", "b"],
        ["labeler", "F1"],
        ["one", "*", "0.5"],
        ["a|b", "0.6"],
        ["*", "is", "no", "fair", "comparison."],
        [],
    ]


def test_a_table_is_written_as_markdown():
    assert markdown(TABLE).splitlines() == [
        "**a: b**",
        "",
        "| labeler | F1 |",
        "|---|--:|",
        "| one \\* | 0.5 |",
        "| a\\|b | 0.6 |",
        "",
        "\\* is no fair comparison.",
    ]
