import pytest

from dehusk.inference import parser
from dehusk.inference.elements import TAGS
from dehusk.inference.native import markup
from dehusk.inference.native.layout import outline
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import BrokenReason


def test_a_tree_is_read_as_it_lies_in_memory() -> None:
    root = parser.parse(b"<html lang=en><title>t</title><p id=i class='a b' hidden>one<x-y>two").root
    assert root is not None
    assert outline(root.mem_id) == [
        ("html", ["en"], "", ""),
        ("head", [], "", ""),
        ("title", [], "", ""),
        "t",
        ("body", [], "", ""),
        ("p", ["i", "a b", ""], "i", "a b"),
        "one",
        ("x-y", [], "", ""),
        "two",
    ]


def test_a_parser_that_keeps_its_tree_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "outline", lambda address: [])
    with pytest.raises(ConfigurationError, match=r"selectolax \S+ keeps .* install selectolax==\S+$"):
        parser.check_layout()


def test_every_tag_that_the_parser_numbers_is_known() -> None:
    document = parser.parse(b"")
    numbers = {document.create_node(tag).tag_id for tag in TAGS}
    numbered = sorted(number for number in numbers if number < 256)
    assert numbered == list(range(numbered[0], numbered[-1] + 1))


def test_a_parser_that_numbers_no_tags_is_refused() -> None:
    try:
        with pytest.raises(ConfigurationError, match="does not number the tags"):
            markup.number_tags(dict.fromkeys(TAGS, 1 << 20))
    finally:
        parser.take_numbers()


def test_with_scripting_noscript_is_one_text() -> None:
    html = b"<body><noscript><p>x"
    texts = [node.tag for node in parser.parse(html).css("noscript *")]
    assert texts == []
    assert [node.tag for node in parser.parse(html, scripting=False).css("noscript *")] == ["p"]


def test_what_the_parser_refuses_is_a_broken_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise parser.SelectolaxError("no memory")

    monkeypatch.setattr(parser, "LexborHTMLParser", refuse)
    with pytest.raises(PageError, match="4 bytes of HTML: no memory") as refused:
        parser.parse(b"<p>x")
    assert refused.value.reason is BrokenReason.MEMORY_BUDGET_EXCEEDED
