"""Agreement of the text that is kept with the gold text, and of the kind that is told, by kind of page."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from dehusk.schemas.pages import PAGE_KINDS, EncodedPage
from dehusk.training.arrays import Floats
from dehusk.training.pages.prepared import PreparedPage
from dehusk.training.scores import kept_words, markdown_table, word_f1
from dehusk.training.versions import Answer, Kinds, selected

PageScores = Mapping[str, float]
"""Word-level F1 by page id."""


class ToldKind(NamedTuple):
    """Kind of a page, and the one that a model tells."""

    kind: str
    told: str


def page_score(page: PreparedPage, encoded: EncodedPage, answers: Floats, gold: Iterable[str]) -> float:
    """Return the F1 of a page's kept text; `encoded` is the page as it was labeled, in whatever script."""
    return word_f1(kept_words(page.words, selected(encoded, answers)), gold)


def groups(pages: Sequence[PreparedPage]) -> dict[str, list[str]]:
    """Return the ids of the pages with gold by the name of their group.

    They are grouped by their collections and, where it is known, by their kinds; altered ones by how they
    were made.
    """
    altered = [page for page in pages if page.altered]
    pages = [page for page in pages if page.has_gold and not page.altered]
    of_kind = [page for page in pages if page.page_type]
    tests: dict[str, Callable[[PreparedPage], bool]] = {
        "all pages": lambda _: True,
        "labels never repaired": lambda page: not page.repaired,
        "as crawled": lambda page: not page.stripped,
        "stripped": lambda page: page.stripped,
    }
    found = {name: [page.id for page in pages if test(page)] for name, test in tests.items()}
    for some, name, row in (
        (pages, "collection", "{}"),
        (of_kind, "page_type", "kind: {}"),
        (altered, "altered", "{}"),
    ):
        for value in sorted({getattr(page, name) for page in some}):
            found[row.format(value)] = [page.id for page in some if getattr(page, name) == value]
    return found


def table(rows: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[PageScores]]) -> str:
    """Return the mean F1 of groups of pages as a Markdown table; groups without a scored page are left out.

    A column has the scores of one seed or of several. Pages are counted that some column scores.
    """
    scored = {page for seeds in columns.values() for scores in seeds for page in scores}
    counts = {name: len(scored.intersection(ids)) for name, ids in rows.items()}
    cells = [
        [name, counts[name], *(_cell(_means(seeds, ids)) for seeds in columns.values())]
        for name, ids in rows.items()
        if counts[name]
    ]
    return markdown_table(["pages", "number", *columns], cells)


def gold_table(pages: Sequence[PreparedPage], answer: Answer) -> str:
    """Return the F1 of a model by the published and by the repaired gold, of the pages that have one."""
    published: dict[str, float] = {}
    repaired: dict[str, float] = {}
    for page in pages:
        if page.has_gold:
            answers = answer(page.encoded)
            published[page.id] = page_score(page, page.encoded, answers, page.gold)
            if page.is_scored:
                repaired[page.id] = page_score(page, page.encoded, answers, page.best_gold)
    return table(groups(pages), {"published gold": [published], "repaired gold": [repaired]})


def told_kinds(pages: Iterable[PreparedPage], kinds: Kinds) -> dict[str, ToldKind]:
    """Return the kinds of pages as they are known and as a model tells them, by page id.

    Pages whose kind is not known, that have no blocks or were altered are left out.
    """
    return {
        page.id: ToldKind(page.page_type, PAGE_KINDS[int(kinds(page.encoded).argmax())])
        for page in pages
        if page.page_type and len(page.encoded) and not page.altered
    }


def kind_table(seeds: Sequence[Mapping[str, ToldKind]]) -> str:
    """Return how often the kind of a page is told rightly, as a Markdown table; of one seed or of several.

    A row has the pages of a kind, the share of them that are told to be of it, and the share of those told to
    be of it that are.
    """
    told = [each for of_seed in seeds for each in of_seed.values()]
    right = Counter(each.kind for each in told if each.kind == each.told)
    known, named = (Counter(column) for column in zip(*told, strict=True)) if told else (Counter(), Counter())
    cells: list[list[str | int]] = [
        ["all", len(told) // max(len(seeds), 1), _share(right.total(), len(told)), ""]
    ]
    for kind in PAGE_KINDS:
        row = _share(right[kind], known[kind]), _share(right[kind], named[kind])
        cells.append([kind, known[kind] // max(len(seeds), 1), *row])
    return markdown_table(["kind", "pages", "told rightly", "rightly so called"], cells)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else ""


def _means(seeds: Sequence[PageScores], ids: Sequence[str]) -> list[float]:
    """Return the mean of each seed that scored some of the pages."""
    scored = ([scores[each] for each in ids if each in scores] for scores in seeds)
    return [fmean(each) for each in scored if each]


def _cell(means: Sequence[float]) -> str:
    """Return the mean over seeds, with its spread where there are several; empty where there is none."""
    if not means:
        return ""
    spread = f" ± {stdev(means):.3f}" if len(means) > 1 else ""
    return f"{fmean(means):.3f}{spread}"
