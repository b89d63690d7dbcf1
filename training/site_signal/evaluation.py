"""Scores of the network on sites that it did not learn from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np

from dehusk.inference.selection.selection import Content, select, takes_content
from dehusk.inference.selection.site_signal import SignalNetwork, corrected_by
from dehusk.training.arrays import Bools, Floats
from dehusk.training.dehusk.config import fold_of
from dehusk.training.scores import WordScores, kept_words, markdown_table, word_scores
from dehusk.training.site_signal.crawls import COUNTED, SitePage, Visit

SETTLED = 5
"""Number of pages from which on the scores of a site are summed up."""
_RULE_SHARE = 0.3
_RULE_PAGES = 3

Way = Callable[[Visit], Bools]
"""Function that returns the blocks of a visited page that are kept."""


class ScoredVisit(NamedTuple):
    """Scores of a visit."""

    site: str
    kind: str
    counted: int
    """Pages that were counted before."""
    scores: Mapping[str, WordScores]
    """Scores by way."""


def score(visit: Visit, ways: Mapping[str, Way]) -> ScoredVisit:
    """Score what is kept of a visited page in each way."""
    page = visit.page
    scores = {
        name: word_scores(kept_words(page.words, way(visit)), page.gold or ()) for name, way in ways.items()
    }
    return ScoredVisit(page.site, page.kind, visit.statistics.pages, scores)


def ways(network: SignalNetwork) -> dict[str, Way]:
    """Return the ways that are compared."""
    return {
        "as labeled": labeled,
        "corrected": lambda visit: _corrected(visit, network),
        "without text on 30 % of the pages": lambda visit: labeled(visit) & ~_is_frequent(visit),
        "without repeated text that is not gold": lambda visit: (
            labeled(visit) & ((visit.statistics.texts == 0) | visit.page.content)
        ),
    }


def labeled(visit: Visit) -> Bools:
    """Return what is kept by the page's own probabilities."""
    return _selected(visit.page, visit.answer)


def _corrected(visit: Visit, network: SignalNetwork) -> Bools:
    """Return what is kept as `choose` does, comments apart."""
    page, alone = visit.page, visit.answer[0]
    probabilities = corrected_by(network, alone, visit.statistics)
    before = Content(alone, labeled(visit))
    after = Content(probabilities, _selected(page, np.stack([probabilities, visit.answer[1]])))
    return before.chosen if takes_content(before, after, page.word_counts) else after.chosen


def folds_of(sites: Iterable[str], folds: int) -> list[list[str]]:
    """Split the sites into so many parts, fewer where some are empty."""
    parts: list[list[str]] = [[] for _ in range(folds)]
    for site in sites:
        parts[fold_of(site, folds)].append(site)
    return [part for part in parts if part]


def by_pages(visits: Sequence[ScoredVisit]) -> str:
    """Return mean scores by the pages counted before, as a Markdown table."""
    rows = {str(counted): [each for each in visits if each.counted == counted] for counted in COUNTED}
    return _table("pages before", {counted: each for counted, each in rows.items() if each}, visits)


def by_kind(visits: Sequence[ScoredVisit]) -> str:
    """Return mean scores of the sites of each kind, from `SETTLED` pages on, as a Markdown table."""
    return _table("kind of site", _settled(visits, "kind"), visits)


def by_site(visits: Sequence[ScoredVisit]) -> str:
    """Return mean scores of each site from `SETTLED` pages on as a Markdown table, the largest loss first."""
    rows = _settled(visits, "site")
    gains = {site: _mean(of, "corrected") - _mean(of, "as labeled") for site, of in rows.items()}
    return _table("site", {site: rows[site] for site in sorted(gains, key=gains.__getitem__)}, visits)


def _settled(visits: Iterable[ScoredVisit], name: str) -> dict[str, list[ScoredVisit]]:
    """Group the visits from `SETTLED` pages on by a field."""
    rows: dict[str, list[ScoredVisit]] = {}
    for visit in visits:
        if visit.counted >= SETTLED:
            rows.setdefault(getattr(visit, name), []).append(visit)
    return rows


def _table(first: str, rows: Mapping[str, Sequence[ScoredVisit]], visits: Sequence[ScoredVisit]) -> str:
    """Return the F1 of each way, and of the first two precision and recall as well."""
    names = list(visits[0].scores) if visits else []
    cells = []
    for name, of in rows.items():
        f1 = [f"{_mean(of, way):.3f}" for way in names]
        more = [f"{_mean(of, way, 'precision'):.3f} / {_mean(of, way, 'recall'):.3f}" for way in names[:2]]
        cells.append([name, len(of), *f1, *more])
    return markdown_table([first, "visits", *names, *(f"{name}, P / R" for name in names[:2])], cells)


def _mean(visits: Iterable[ScoredVisit], way: str, score: str = "f1") -> float:
    return fmean(getattr(each.scores[way], score) for each in visits)


def _selected(page: SitePage, answer: Floats) -> Bools:
    return select(answer[0], page.word_counts, page.repeat, answer[1], page.alike)


def _is_frequent(visit: Visit) -> Bools:
    """Return True for texts on so many of the pages, this one included."""
    counts = visit.statistics.texts + 1
    frequent: Bools = (counts >= _RULE_PAGES) & (counts >= _RULE_SHARE * (visit.statistics.pages + 1))
    return frequent
