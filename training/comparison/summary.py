"""Summaries of the scores of many pages: means with standard errors, by collection and type of page."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from statistics import fmean

from dehusk.training.comparison.judging import JudgedPage
from dehusk.training.scores import BlockCounts, BlockScore

TRAINED = "*"
"""Mark of a labeler that was trained on the pages."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over pages."""

    mean: float
    error: float
    """Standard error, as pages of the same site are alike; NaN where all are of one site."""


@dataclass(frozen=True, slots=True)
class Row:
    """Scores of one labeler on some pages."""

    name: str
    is_trained_on_them: bool
    """True if its card names a file that they come from: then its scores flatter."""
    f1: Estimate
    precision: float
    recall: float
    difference: Estimate | None
    """F1 less that of the reference, page by page; None of the reference itself."""
    content: BlockScore
    boilerplate: BlockScore
    milliseconds: float
    """CPU time a page."""
    failed: tuple[str, ...]
    """Pages that it gave no text or labels of."""

    @property
    def marked_name(self) -> str:
        """Name, marked where the scores flatter."""
        return self.marked(self.name)

    def marked(self, text: str) -> str:
        """Mark a text about it where the scores flatter."""
        return f"{text} {TRAINED}" if self.is_trained_on_them else text


@dataclass(frozen=True, slots=True)
class Section:
    """Scores of all labelers on some pages."""

    name: str
    pages: int
    sites: int
    blocks: int
    everything: float
    """F1 of keeping every block."""
    oracle: float
    """F1 of keeping the content blocks."""
    reference: str
    """Labeler that the others are compared with."""
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class CollectionScores:
    """One collection as a whole, and by the types of its pages."""

    whole: Section
    types: tuple[Section, ...]
    unscored: tuple[str, ...]
    """Pages whose blocks are not scored, each with the reason."""


def summaries(
    pages: Iterable[JudgedPage], trained: Mapping[str, Collection[str]], against: str | None = None
) -> list[CollectionScores]:
    """Summarise each collection, in order; `trained` has by its name who was trained on it.

    The reference is whom `against` names, else the best of those that were not trained on the collection.
    """
    by_collection: dict[str, list[JudgedPage]] = defaultdict(list)
    for page in pages:
        by_collection[page.collection].append(page)
    return [_collected(name, of, trained.get(name, ()), against) for name, of in by_collection.items()]


def _collected(
    name: str, pages: Sequence[JudgedPage], trained: Collection[str], against: str | None
) -> CollectionScores:
    reference = against or _best(pages, trained)
    types = sorted({page.page_type for page in pages})
    of_types = ((each or "unknown", [page for page in pages if page.page_type == each]) for each in types)
    return CollectionScores(
        whole=_section(name, pages, trained, reference),
        types=tuple(_section(*each, trained, reference) for each in of_types) if len(types) > 1 else (),
        unscored=tuple(f"{page.id}: {page.problem}" for page in pages if page.problem),
    )


def _best(pages: Sequence[JudgedPage], trained: Collection[str]) -> str:
    names = list(pages[0].judgements)
    fair = [name for name in names if name not in trained] or names
    return max(fair, key=lambda name: fmean(page.judgements[name].words.f1 for page in pages))


def _section(name: str, pages: Sequence[JudgedPage], trained: Collection[str], reference: str) -> Section:
    rows = (_row(each, pages, reference, is_trained=each in trained) for each in pages[0].judgements)
    return Section(
        name=name,
        pages=len(pages),
        sites=len({page.site for page in pages}),
        blocks=sum(map(sum, (page.judgements[reference].blocks for page in pages))),
        everything=fmean(page.everything for page in pages),
        oracle=fmean(page.oracle for page in pages),
        reference=reference,
        rows=tuple(rows),
    )


def _row(name: str, pages: Sequence[JudgedPage], reference: str, *, is_trained: bool) -> Row:
    sites = [page.site for page in pages]
    own = [page.judgements[name] for page in pages]
    theirs = [page.judgements[reference] for page in pages]
    differences = [one.words.f1 - other.words.f1 for one, other in zip(own, theirs, strict=True)]
    boilerplate, content = BlockCounts.total(each.blocks for each in own).scores
    return Row(
        name=name,
        is_trained_on_them=is_trained,
        f1=estimate([each.words.f1 for each in own], sites),
        precision=fmean(each.words.precision for each in own),
        recall=fmean(each.words.recall for each in own),
        difference=None if name == reference else estimate(differences, sites),
        content=content,
        boilerplate=boilerplate,
        milliseconds=fmean(each.milliseconds for each in own),
        failed=tuple(
            f"{page.id}: {each.problem}" for page, each in zip(pages, own, strict=True) if each.problem
        ),
    )


def estimate(values: Sequence[float], sites: Sequence[str]) -> Estimate:
    """Return the mean of pages' values and its standard error, for pages that are drawn by sites."""
    mean = fmean(values)
    deviations: dict[str, float] = defaultdict(float)
    for value, site in zip(values, sites, strict=True):
        deviations[site] += value - mean
    number = len(deviations)
    if number < 2:
        return Estimate(mean, nan)
    squares = sum(each * each for each in deviations.values())
    return Estimate(mean, sqrt(squares * number / (number - 1)) / len(values))
