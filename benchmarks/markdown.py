"""Structure of the content that is kept in the Markdown, compared with another extractor, and its cost.

Of the content are headings, items of lists, cells of tables and lines of code of the page whose text is a
line of `main_content`, or lies in it and is no short one, as those of menus are; and links in such a text.
One is found if the Markdown, rendered to HTML, has one of the same kind with the same letters and digits.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import trafilatura
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser, LexborNode

from benchmarks.extractors import cleaner
from benchmarks.pages import Page
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions, Rendering
from dehusk.schemas.pages import RawPage

KINDS = ("headings", "items", "links", "cells", "code lines")
_HEADINGS = "h1, h2, h3, h4, h5, h6"
_LINES = frozenset("p li td th dd dt h1 h2 h3 h4 h5 h6 blockquote figcaption".split())  # noqa: SIM905
_LISTS = frozenset({"ul", "ol"})
_MIN_LETTERS = 2
"""Least letters and digits of an element that is looked for."""
_MIN_SENTENCE_LETTERS = 20
"""Least letters and digits of a text that is told from a menu's by its length."""
_RENDERER = MarkdownIt("commonmark").enable("table")

ToMarkdown = Callable[[Page], str]
Elements = dict[str, Counter[str]]


@dataclass(slots=True)
class KeptElements:
    """Elements of all pages that an extractor kept, and its time."""

    found: Counter[str] = field(default_factory=Counter)
    milliseconds: float = 0.0
    milliseconds_of_text: float = 0.0
    """Milliseconds of its text alone."""


@dataclass(frozen=True, slots=True)
class Extractor:
    """Functions from a page to its Markdown, and to its text."""

    markdown: ToMarkdown
    text: ToMarkdown


def measure(pages: Sequence[Page], model: str) -> tuple[Counter[str], dict[str, KeptElements]]:
    """Count the elements of each kind in the content of the pages, and those that each extractor kept."""
    wanted: Counter[str] = Counter()
    extractors = {f"dehusk ({model})": _dehusk(model), "trafilatura": _trafilatura()}
    kept = {name: KeptElements() for name in extractors}
    for page in pages:
        gold = of_content(page)
        wanted.update({kind: gold[kind].total() for kind in KINDS})
        for name, extractor in extractors.items():
            found = _elements(_RENDERER.render(_timed(extractor, page, kept[name])))
            kept[name].found.update({kind: (gold[kind] & found[kind]).total() for kind in KINDS})
    for each in kept.values():
        each.milliseconds /= len(pages)
        each.milliseconds_of_text /= len(pages)
    return wanted, kept


def report(wanted: Counter[str], kept: dict[str, KeptElements]) -> str:
    """Return the shares as a table."""
    lines = [f"{'':20}" + "".join(f"{kind:>12}" for kind in KINDS) + "  ms/page  text alone"]
    lines.append(f"{'of the content':20}" + "".join(f"{wanted[kind]:12,}" for kind in KINDS))
    for name, each in kept.items():
        shares = "".join(f"{each.found[kind] / max(wanted[kind], 1):12.1%}" for kind in KINDS)
        lines.append(f"{name:20}{shares}{each.milliseconds:9.2f}{each.milliseconds_of_text:12.2f}")
    return "\n".join(lines)


def _timed(extractor: Extractor, page: Page, kept: KeptElements) -> str:
    """Return the Markdown of a page, after its text."""
    started = time.process_time()
    extractor.text(page)
    between = time.process_time()
    written = extractor.markdown(page)
    kept.milliseconds_of_text += (between - started) * 1000
    kept.milliseconds += (time.process_time() - between) * 1000
    return written


def _dehusk(model: str) -> Extractor:
    clean = cleaner(model)

    def written(page: Page, options: DocumentOptions) -> str:
        document = clean(RawPage(page.url, page.html), options)
        if document is None:
            return ""
        return document.markdown if document.markdown is not None else document.text

    return Extractor(
        lambda page: written(page, DocumentOptions(rendering=Rendering(markdown=True))),
        lambda page: written(page, DEFAULT_OPTIONS),
    )


def _trafilatura() -> Extractor:
    def markdown(page: Page) -> str:
        return (
            trafilatura.extract(
                page.html,
                url=page.url or None,
                output_format="markdown",
                include_links=True,
                include_images=True,
                include_formatting=True,
            )
            or ""
        )

    return Extractor(markdown, lambda page: trafilatura.extract(page.html) or "")


def of_content(page: Page) -> Elements:
    """Return the elements of a page that are of its content."""
    content = page.content or ""
    gold, lines = _letters(content), {_letters(line) for line in content.splitlines()} - {""}

    def is_wanted(text: str) -> bool:
        return text in lines or (len(text) >= _MIN_SENTENCE_LETTERS and text in gold)

    return _elements(page.html.decode("utf-8", "replace"), is_wanted)


def _elements(html: str, is_wanted: Callable[[str], bool] = lambda _: True) -> Elements:
    """Return the letters of the wanted elements of each kind."""
    document = LexborHTMLParser(html)
    document.strip_tags(["script", "style", "template", "noscript"], recursive=True)
    found = {
        "headings": map(_text, document.css(_HEADINGS)),
        "items": map(_own_text, document.css("li")),
        "cells": (text for table in document.css("table") for text in _cells(table)),
        "code lines": (
            _letters(line) for node in document.css("pre") for line in (node.text() or "").splitlines()
        ),
    }
    links = [_text(node) for node in document.css("a[href]") if is_wanted(_around(node))]
    return {
        **{kind: _count(filter(is_wanted, texts)) for kind, texts in found.items()},
        "links": _count(links),
    }


def _count(texts: Iterable[str]) -> Counter[str]:
    return Counter(text for text in texts if len(text) >= _MIN_LETTERS)


def _cells(table: LexborNode) -> Iterator[str]:
    """Return the cells of a table of several rows and columns that holds no other."""
    rows = table.css("tr")
    cells = table.css("td, th")
    if len(rows) < 2 or len(cells) < 2 * len(rows) or table.css("table table"):
        return
    yield from map(_text, cells)


def _around(link: LexborNode) -> str:
    """Return the letters of the line that a link stands in."""
    node: LexborNode | None = link
    while node is not None and node.tag not in _LINES:
        node = node.parent
    return _text(node) if node is not None else ""


def _own_text(item: LexborNode) -> str:
    """Return the letters of an item without the lists in it."""
    children = (child for child in item.iter(include_text=True) if child.tag not in _LISTS)
    return _letters("".join(child.text(deep=True) or "" for child in children))


def _text(node: LexborNode) -> str:
    return _letters(node.text(deep=True) or "")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()
