"""What the network brings, on sites that it did not learn from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from dehusk.inference.selection import select
from dehusk.inference.site_signal import SignalNetwork, corrected_by
from dehusk.training.dehusk.parts import fold_of
from dehusk.training.score import WordScores, kept_words, word_scores
from dehusk.training.site_signal.crawls import COUNTED, Visit
from dehusk.training.site_signal.pages import Bools, Floats, SitePage

SETTLED = 5
"""From so many pages on, the scores of a site are summed up."""
_RULE_SHARE = 0.3
_RULE_PAGES = 3

Way = Callable[[Visit], Bools]
"""Which blocks of a visited page are kept."""


@dataclass(slots=True)
class Crawled:
    """The scores of each visit, by way, with its site and the pages counted before it."""

    sites: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    scores: dict[str, list[WordScores]] = field(default_factory=dict)

    def add(self, visit: Visit, ways: Mapping[str, Way]) -> None:
        """Score a visit."""
        self.sites.append(visit.page.site)
        self.kinds.append(visit.page.kind)
        self.counted.append(visit.statistics.pages)
        for name, way in ways.items():
            kept = kept_words(visit.page.words, way(visit))
            self.scores.setdefault(name, []).append(word_scores(kept, visit.page.gold or ()))


def ways(network: SignalNetwork) -> dict[str, Way]:
    """What is compared."""
    return {
        "as labeled": labeled,
        "corrected": lambda visit: _selected(
            visit.page, _with(visit.answer, corrected_by(network, visit.answer[0], visit.statistics))
        ),
        "without text on 30 % of the pages": lambda visit: labeled(visit) & ~_is_frequent(visit),
        "without repeated text that is not gold": lambda visit: (
            labeled(visit) & ((visit.statistics.texts == 0) | visit.page.content)
        ),
    }


def labeled(visit: Visit) -> Bools:
    """What is kept by the page's own probabilities."""
    return _selected(visit.page, visit.answer)


def folds_of(sites: Iterable[str], folds: int) -> list[list[str]]:
    """The sites in so many parts, fewer where some are empty."""
    parts: list[list[str]] = [[] for _ in range(folds)]
    for site in sites:
        parts[fold_of(site, folds)].append(site)
    return [part for part in parts if part]


def by_pages(crawled: Crawled) -> str:
    """Mean scores by the pages counted before, as a Markdown table."""
    rows: dict[str, list[int]] = {str(counted): [] for counted in COUNTED}
    for place, counted in enumerate(crawled.counted):
        rows[str(counted)].append(place)
    return _table("pages before", {counted: places for counted, places in rows.items() if places}, crawled)


def by_kind(crawled: Crawled) -> str:
    """Mean scores of the sites of each kind, from `SETTLED` pages on, as a Markdown table."""
    return _table("kind of site", _settled(crawled, crawled.kinds), crawled)


def by_site(crawled: Crawled) -> str:
    """Mean scores of each site, from `SETTLED` pages on, as a Markdown table; what loses most comes first."""
    rows = _settled(crawled, crawled.sites)
    gains = {
        site: _mean(crawled, "corrected", places) - _mean(crawled, "as labeled", places)
        for site, places in rows.items()
    }
    worst_first = sorted(gains, key=gains.__getitem__)
    return _table("site", {site: rows[site] for site in worst_first}, crawled)


def _settled(crawled: Crawled, groups: Iterable[str]) -> dict[str, list[int]]:
    """The visits of each group, from `SETTLED` pages on."""
    rows: dict[str, list[int]] = {}
    for place, (group, counted) in enumerate(zip(groups, crawled.counted, strict=True)):
        if counted >= SETTLED:
            rows.setdefault(group, []).append(place)
    return rows


def _table(first: str, rows: Mapping[str, Sequence[int]], crawled: Crawled) -> str:
    """F1 of each way, and of the first two precision and recall as well."""
    with_more = list(crawled.scores)[:2]
    names = [*crawled.scores, *(f"{name}, P / R" for name in with_more)]
    lines = [f"| {first} | visits | " + " | ".join(names) + " |", "|---|--:|" + "--:|" * len(names)]
    for name, places in rows.items():
        cells = [f"{_mean(crawled, way, places):.3f}" for way in crawled.scores]
        cells += [
            " / ".join(f"{_mean(crawled, way, places, score):.3f}" for score in ("precision", "recall"))
            for way in with_more
        ]
        lines.append(f"| {name} | {len(places)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _mean(crawled: Crawled, way: str, places: Sequence[int], score: str = "f1") -> float:
    return fmean(getattr(crawled.scores[way][place], score) for place in places)


def _selected(page: SitePage, answer: Floats) -> Bools:
    return select(answer[0], page.word_counts, page.repeat, answer[1], page.alike)


def _with(answer: Floats, probabilities: Floats) -> Floats:
    return np.stack([probabilities, answer[1]])


def _is_frequent(visit: Visit) -> Bools:
    """Whether a text is on so many of the pages, this one included."""
    counts = visit.statistics.texts + 1
    frequent: Bools = (counts >= _RULE_PAGES) & (counts >= _RULE_SHARE * (visit.statistics.pages + 1))
    return frequent
