"""How well the text that is kept agrees with the gold text, by kind and type of page."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt

from dehusk.inference.selection import select
from dehusk.schemas.pages import EncodedPage
from dehusk.training.dehusk.pages import DehuskPage
from dehusk.training.score import kept_words, word_f1

Floats = npt.NDArray[np.float32]
PageScores = Mapping[str, float]
"""Word-level F1 by page id."""


def page_score(page: DehuskPage, encoded: EncodedPage, answers: Floats, gold: Iterable[str]) -> float:
    """The F1 of a page's kept text; `encoded` is the page as it was labeled, in whatever script.

    `answers` has the probabilities of content in its first row, or alone, and perhaps those of comments in a
    second.
    """
    probabilities, *comments = np.atleast_2d(answers)
    told = comments[0] if comments else None
    content = select(probabilities, encoded.words, encoded.repeat, told, encoded.alike)
    return word_f1(kept_words(page.words, content), gold)


def groups(pages: Sequence[DehuskPage]) -> dict[str, list[str]]:
    """The ids of the pages with gold in each group that is reported.

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
    for page_type in sorted({page.page_type for page in whole}):
        found[page_type] = [page.id for page in whole if page.page_type == page_type]
    others = [page for page in pages if not page.page_type]
    for collection in sorted({page.collection for page in others}):
        found[collection] = [page.id for page in others if page.collection == collection]
    for how in sorted({page.altered for page in altered}):
        found[how] = [page.id for page in altered if page.altered == how]
    return found


def table(rows: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[PageScores]]) -> str:
    """Mean F1 of groups of pages as a Markdown table; a column has the scores of one seed or of several."""
    lines = ["| pages | number | " + " | ".join(columns) + " |", "|---|--:|" + "--:|" * len(columns)]
    for name, ids in rows.items():
        cells = [_cell([_mean(scores, ids) for scores in seeds]) for seeds in columns.values()]
        lines.append(f"| {name} | {len(ids)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _mean(scores: PageScores, ids: Iterable[str]) -> float:
    return fmean([scores[each] for each in ids if each in scores] or [0.0])


def _cell(means: Sequence[float]) -> str:
    """The mean over seeds, with its spread where there are several."""
    spread = f" ± {stdev(means):.3f}" if len(means) > 1 else ""
    return f"{fmean(means):.3f}{spread}"
