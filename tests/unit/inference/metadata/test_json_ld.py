import pytest

from dehusk.inference.metadata.json_ld import main_item, read_items


@pytest.mark.parametrize(
    "text",
    [
        '{"@type": "Article", "name": "a//b,}"}',
        '[{"@type": "Article", "name": "a//b,}"}]',
        '{"@graph": [[{"@type": "Article", "name": "a//b,}"}]]}',
        '{"@type": "WebPage", "mainEntity": {"@type": "Article", "name": "a//b,}"}}',
        '<!-- {"@type": "Article", "name": "a//b,}"} -->',
        '//<![CDATA[\n{"@type": "Article", "name": "a//b,}"}\n//]]>',
        '/* what */ {"@type": "Article", // which\n "name": "a//b,}",}',
        '{"@type": "Article", "name": "a//b,}"};',
        '{"@type": "Article", "name": "a//b,}",/*c*/}',
        '{"@type": "Article", "name": "a//b,}", // c, d\n /* e */ // f\n}',
        '\ufeff{"@type": "Article", "name": "a//b,}"}',
        '\ufeff <!-- {"@type": "Article", "name": "a//b,}",} -->',
        '{"@type": "Article", "name": "a//b,}"}}',
        '{"@type": "Article", "name": "a//b,}"} <!-- y -->',
        '{"@type": "Article", "name": "a//b,}"}\n/* ]]> */',
        '{"@type": ["Thing", "https://schema.org/Article"], "name": "a//b,}"}',
    ],
)
def test_the_item_of_a_page_is_found_however_it_is_written(text: str) -> None:
    found = main_item(read_items([text]))
    assert found is not None
    assert found["name"] == "a//b,}"


def test_line_breaks_in_strings_are_kept() -> None:
    assert [*read_items(['{"name": "one\ntwo"}'])] == [{"name": "one\ntwo"}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff",
        "{",
        '{"a": 1,,}',
        '{"a": /*',
        '} {"a": 1}',
        "[" * 100_000,
        '{"@type": ' * 40_000,
        "null",
        "1",
        '"x"',
        "var a = {};",
    ],
)
def test_what_is_no_json_has_no_items(text: str) -> None:
    assert read_items([text]) == []


def test_the_most_telling_item_describes_a_page() -> None:
    texts = [
        '{"@type": "WebPage"}',
        '{"@type": "BreadcrumbList"}',
        '{"@type": "Product"}',
        '{"@type": "NewsArticle"}',
    ]
    assert main_item(read_items(texts)) == {"@type": "NewsArticle"}
    assert main_item(read_items(texts[:3])) == {"@type": "Product"}
    assert main_item(read_items(texts[:2])) == {"@type": "WebPage"}
    assert main_item(read_items(texts[1:2])) is None


def test_articles_that_a_page_lists_do_not_describe_it() -> None:
    listed = '{"@type": "ItemList", "itemListElement": [{"@type": "Article"}]}'
    assert main_item(read_items([listed])) is None


def test_items_are_bounded() -> None:
    assert len(read_items(["[" + ",".join(["{}"] * 10_000) + "]", "{}"])) == 500
