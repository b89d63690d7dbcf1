"""Trials of fine-tuning on sites whose gold is known: the gain there, and the cost on all others."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.pages import ModelVersion
from dehusk.training.fine_tuning.correction import Correction, fit_correction
from dehusk.training.fine_tuning.crawl import LabeledPage
from dehusk.training.fine_tuning.validation import AnsweredPage, cross_validated
from dehusk.training.pages.alignment import CONTENT_SHARE
from dehusk.training.pages.gold import GoldPage, align, collection_of, read_gold
from dehusk.training.runs import Report
from dehusk.training.scores import markdown_table, word_f1
from dehusk.training.versions import Answer, labeler_answer

MIN_SCORED = 8
"""Least pages of a site that are left to be scored."""
DRAWS = 12
"""Number of trials where several sites are labeled."""


@dataclass(frozen=True, slots=True, eq=False)
class _Page:
    """A page whose gold text is known."""

    collection: str
    gold: tuple[str, ...]
    answered: AnsweredPage

    @property
    def site(self) -> str:
        """Site of the page."""
        return self.answered.page.site

    def score(self, correction: Correction | None = None) -> float:
        """Return the word-level F1 of what is kept, by the gold text."""
        return word_f1(self.answered.kept(correction), self.gold)

    def change(self, correction: Correction) -> float:
        """Return the change of the score."""
        if not correction.likeness(self.answered.learned.keys):
            return 0.0
        return self.score(correction) - self.score()


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of labeling some pages of some sites."""

    before: float
    """Mean F1 of the sites' other pages."""
    after: float
    is_better: bool
    """True if `fine-tune` would write the version."""
    others: Mapping[str, float]
    """Change of the mean F1 of other sites, by collection."""


def try_fine_tuning(
    files: Sequence[Path], base: ModelVersion, repository: Path, pages: int, sites: int, *, report: Report
) -> str:
    """Return a table of trials with so many labeled pages, of each site or of so many at a time.

    Raises:
        ConfigurationError: there are too few sites of enough pages, or too few pages for the sites.
    """
    if pages < sites:
        raise ConfigurationError(f"{pages} labeled pages cannot be of {sites} sites: give more --pages")
    found = list(_pages(files, labeler_answer(OnnxLabeler(base.name, base.version, repository)), report))
    of_sites: dict[str, list[_Page]] = defaultdict(list)
    for page in found:
        of_sites[page.site].append(page)
    per_site = pages // sites
    large = sorted(site for site, its in of_sites.items() if len(its) >= per_site + MIN_SCORED)
    if len(large) < sites:
        raise ConfigurationError(f"only {len(large)} sites have {per_site + MIN_SCORED} pages")
    trials = []
    for number, labeled in enumerate(_choices(large, sites)):
        report(f"trial {number + 1}: {', '.join(labeled)}")
        trials.append(_trial(found, [of_sites[site] for site in labeled], per_site, number))
    return _table(trials)


def _pages(files: Sequence[Path], answer: Answer, report: Report) -> Iterator[_Page]:
    for number, page in enumerate(read_gold(files)):
        if page.text is None:
            continue
        try:
            found = _page(page, answer)
        except PageError as error:
            report(f"left out {page.id}: {error}")
            continue
        if len(found.answered.page.content):
            yield found
        if number % 100 == 0:
            report(f"{number} pages read")


def _page(page: GoldPage, answer: Answer) -> _Page:
    aligned = align(page, CONTENT_SHARE)
    labeled = LabeledPage(page.id, page.site, aligned.words, encode(aligned.segmented), aligned.content)
    return _Page(collection_of(page.collection), aligned.gold, AnsweredPage.of(labeled, answer))


def _choices(sites: Sequence[str], together: int) -> list[Sequence[str]]:
    if together == 1:
        return [[site] for site in sites]
    randoms = (np.random.default_rng(number) for number in range(DRAWS))
    return [
        [sites[place] for place in random.choice(len(sites), together, replace=False)] for random in randoms
    ]


def _trial(pages: Sequence[_Page], sites: Sequence[Sequence[_Page]], per_site: int, seed: int) -> Trial:
    """Label `per_site` random pages of some sites; score their others, and all pages of other sites."""
    labeled, held_out = [], []
    for of_site in sites:
        order = np.random.default_rng(seed).permutation(len(of_site))
        labeled += [of_site[place].answered for place in order[:per_site]]
        held_out += [of_site[place] for place in order[per_site:]]
    validation = cross_validated(labeled, lambda _: None)
    correction = fit_correction([each.learned for each in labeled], validation.strength)
    own = {page.site for page in held_out}
    changes: dict[str, list[float]] = defaultdict(list)
    for page in pages:
        if page.site not in own:
            changes[page.collection].append(page.change(correction))
    return Trial(
        before=fmean(page.score() for page in held_out),
        after=fmean(page.score(correction) for page in held_out),
        is_better=validation.is_better,
        others={name: fmean(each) for name, each in changes.items()},
    )


def _table(trials: Sequence[Trial]) -> str:
    """Return the trials in a row, and another row for each collection of other sites."""
    gains = [trial.after - trial.before for trial in trials]
    written = [gain for gain, trial in zip(gains, trials, strict=True) if trial.is_better]
    means = [fmean(trial.before for trial in trials), fmean(trial.after for trial in trials)]
    summary = [
        len(trials),
        *(f"{mean:.4f}" for mean in means),
        *(f"{gain:+.4f}" for gain in (fmean(gains), min(gains))),
        len(written),
        *(f"{gain:+.4f}" for gain in (fmean(written or [0]), min(written, default=0))),
    ]
    columns = ["trials", "before", "after", "gain", "worst", "written", "their gain", "their worst"]
    others = []
    for name in sorted({name for trial in trials for name in trial.others}):
        changes = [trial.others[name] for trial in trials if name in trial.others]
        others.append([name, f"{fmean(changes):+.5f}", f"{min(changes):+.5f}"])
    of_others = markdown_table(["other sites of", "mean change", "worst trial"], others)
    return f"{markdown_table(columns, [summary], first='--:')}\n\n{of_others}"
