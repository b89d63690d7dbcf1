import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from dehusk.inference.labelers.repository import DEFAULT_REPOSITORY
from dehusk.schemas.pages import RawPage
from dehusk.training.__main__ import main
from dehusk.training.comparison.labelers import (
    EXTRACTORS,
    installed_extractors,
    known_names,
    open_competitor,
)
from dehusk.training.comparison.questions import ComparedPage, question_of

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")
"""Of lark-parser, which magic-html needs."""

PROSE = [
    f"Mill number {number} grinds slowly, but it grinds fine, and so it has done by day and by night for as "
    "long as anyone in the village can say, whether there is corn for it or not, and it will go on when we "
    "are no more."
    for number in range(9)
]
ARTICLE = "".join(f"<p>{each}</p>" for each in PROSE)
HTML = f"<nav><a href=/>Home</a></nav><article>{ARTICLE}</article>".encode()


@pytest.mark.parametrize("name", installed_extractors())
def test_an_extractor_keeps_the_blocks_that_its_text_has(name):
    competitor = open_competitor(name, DEFAULT_REPOSITORY)
    outcome = competitor.extract(RawPage("http://mill.example/", HTML))
    assert outcome.content is None
    assert all(each in outcome.text for each in PROSE)
    question = question_of(ComparedPage("1", "a", "s", "", HTML, text=" ".join(PROSE)))
    assert competitor.units(question, outcome).tolist() == [False, *[True] * 9]


@pytest.mark.parametrize("name", ["trafilatura", "resiliparse"])
def test_only_what_names_none_has_comments(name):
    remark = "I have lived beside the mill for thirty years, and it grinds far too loud at night."
    comments = (
        f"<div id=comments class=comments><ol class=commentlist>{f'<li><p>{remark}</p></li>' * 9}</ol></div>"
    )
    page = RawPage("http://mill.example/", f"<article>{ARTICLE}</article>{comments}".encode())
    assert remark in open_competitor(name, DEFAULT_REPOSITORY).extract(page).text
    assert remark not in open_competitor(f"{name}-no-comments", DEFAULT_REPOSITORY).extract(page).text


def test_bytes_that_are_no_utf8_are_read_on():
    page = RawPage("http://mill.example/", HTML.replace(b"slowly", b"sl\xffwly"))
    for name in installed_extractors():
        assert "by day and by night" in open_competitor(name, DEFAULT_REPOSITORY).extract(page).text, name


def test_what_does_not_install_everywhere_is_compared_where_it_is(monkeypatch):
    monkeypatch.setitem(sys.modules, "rs_trafilatura", ModuleType("rs_trafilatura"))
    sys.modules["rs_trafilatura"].__spec__ = ModuleSpec("rs_trafilatura", None)
    monkeypatch.setitem(sys.modules, "magic_html", None)
    assert known_names(DEFAULT_REPOSITORY)[-1] == "rs-trafilatura"
    assert set(EXTRACTORS) - set(installed_extractors()) == {"magic-html"}


def test_an_extractor_that_does_not_install_everywhere_is_named_with_its_place(monkeypatch, tmp_path):
    (tmp_path / "pages.jsonl.xz").touch()
    monkeypatch.setitem(sys.modules, "magic_html", None)
    options = ["--labeler", "magic-html", str(tmp_path / "pages.jsonl.xz")]
    monkeypatch.setattr(sys, "argv", ["training", "compare", *options])
    with pytest.raises(SystemExit, match=r"magic_html is not installed here; docs/how-to/training\.md"):
        main()
