import subprocess
import sys

import pytest
import selectolax

from dehusk.inference.markup.elements import TAGS
from dehusk.inference.native.layout import SELECTOLAX_VERSION
from dehusk.inference.native.markup import NUMBERED_ATTRIBUTES, NUMBERED_TAGS
from dehusk.inference.segmentation import parser
from dehusk.inference.segmentation.parser import check_selector
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import BrokenReason


def test_another_selectolax_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectolax, "__version__", "1.0.1")
    with pytest.raises(ConfigurationError) as refused:
        parser.check_version()
    assert str(refused.value).startswith("selectolax 1.0.1 is installed")
    assert str(refused.value).endswith(f"install selectolax=={SELECTOLAX_VERSION}")


def test_another_selectolax_is_refused_before_it_is_used() -> None:
    program = f"""
import sys, selectolax
selectolax.__version__ = "0.1"
sys.modules["selectolax.lexbor"] = None  # cannot be imported
import {parser.__name__}
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ConfigurationError: selectolax 0.1 is installed" in told.stderr.splitlines()[-1]


def test_tags_have_the_numbers_that_the_headers_say() -> None:
    document = parser.parse(b"")
    tags = {tag: document.create_node(tag).tag_id for tag in (*TAGS, *filter(str.isalnum, NUMBERED_TAGS))}
    numbers = {tag: number for tag, number in tags.items() if number < len(NUMBERED_TAGS)}
    assert len(numbers) > 150
    assert numbers == {tag: NUMBERED_TAGS.index(tag) for tag in numbers}
    assert set(tags) - set(numbers) == set(TAGS) - set(NUMBERED_TAGS)


def test_every_tag_that_the_parser_numbers_is_known() -> None:
    assert {tag for tag in NUMBERED_TAGS if tag[0].isalpha()} <= set(TAGS)


def test_names_that_the_parser_numbers_are_numbered_once() -> None:
    for names in (NUMBERED_TAGS, NUMBERED_ATTRIBUTES):
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("selector", ["p[", "..x", "a >", " ", "::text", "\ud800"])
def test_what_is_no_selector_is_refused(selector: str) -> None:
    with pytest.raises(ConfigurationError, match="is no CSS selector"):
        check_selector(selector)


def test_with_scripting_noscript_is_one_text() -> None:
    html = b"<body><noscript><p>x"
    texts = [node.tag for node in parser.parse(html).css("noscript *")]
    assert texts == []
    assert [node.tag for node in parser.parse(html, scripting=False).css("noscript *")] == ["p"]


def test_what_the_parser_refuses_is_a_broken_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise parser.SelectolaxError("no memory")

    monkeypatch.setattr(parser, "LexborHTMLParser", refuse)
    with pytest.raises(PageError, match="1,004 bytes of HTML: no memory") as refused:
        parser.parse(b"<p>x" * 251)
    assert refused.value.reason is BrokenReason.MEMORY_BUDGET_EXCEEDED
