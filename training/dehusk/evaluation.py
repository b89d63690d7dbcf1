"""Agreement of the text that is kept with the gold text, by kind and type of page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, stdev

from dehusk.schemas.pages import EncodedPage
from dehusk.training.arrays import Floats
from dehusk.training.dehusk.examples import DehuskPage
from dehusk.training.scores import kept_words, markdown_table, word_f1
from dehusk.training.versions import Answer, selected

PageScores = Mapping[str, float]
"""Word-level F1 by page id."""


def page_score(page: DehuskPage, encoded: EncodedPage, answers: Floats, gold: Iterable[str]) -> float:
    """Return the F1 of a page's kept text; `encoded` is the page as it was labeled, in whatever script."""
    return word_f1(kept_words(page.words, selected(encoded, answers)), gold)


def groups(pages: Sequence[DehuskPage]) -> dict[str, list[str]]:
    """Return the ids of the pages with gold by the name of their group.

    Pages of a known type are of WCXB; the others are grouped by their collections, altered ones by how
    they were made.
    """
    altered = [page for page in pages if page.altered]
    pages = [page for page in pages if page.has_gold and not page.altered]
    whole = [page for page in pages if page.page_type]
    tests: dict[str, Callable[[DehuskPage], bool]] = {
        "all pages": lambda _: True,
        "labels never repaired": lambda page: not page.repaired,
        "as crawled": lambda page: not page.stripped,
        "stripped": lambda page: page.stripped,
    }
    found = {name: [page.id for page in whole if test(page)] for name, test in tests.items()}
    others = [page for page in pages if not page.page_type]
    for some, name in ((whole, "page_type"), (others, "collection"), (altered, "altered")):
        for value in sorted({getattr(page, name) for page in some}):
            found[value] = [page.id for page in some if getattr(page, name) == value]
    return found


def table(rows: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[PageScores]]) -> str:
    """Return the mean F1 of groups of pages as a Markdown table.

    A column has the scores of one seed or of several.
    """
    cells = [
        [name, len(ids), *(_cell([_mean(scores, ids) for scores in seeds]) for seeds in columns.values())]
        for name, ids in rows.items()
    ]
    return markdown_table(["pages", "number", *columns], cells)


def gold_table(pages: Sequence[DehuskPage], answer: Answer) -> str:
    """Return the F1 of a model by the published and by the repaired gold, of the pages that have one."""
    published: dict[str, float] = {}
    repaired: dict[str, float] = {}
    for page in pages:
        if page.has_gold:
            answers = answer(page.encoded)
            published[page.id] = page_score(page, page.encoded, answers, page.gold)
            repaired[page.id] = page_score(page, page.encoded, answers, page.best_gold)
    return table(groups(pages), {"published gold": [published], "repaired gold": [repaired]})


def _mean(scores: PageScores, ids: Iterable[str]) -> float:
    return fmean([scores[each] for each in ids if each in scores] or [0.0])


def _cell(means: Sequence[float]) -> str:
    """Return the mean over seeds, with its spread where there are several."""
    spread = f" ± {stdev(means):.3f}" if len(means) > 1 else ""
    return f"{fmean(means):.3f}{spread}"
