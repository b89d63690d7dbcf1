"""From labeled pages to a version that can be tried, as `python -m training fine-tune` runs it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
import onnx

from dehusk.inference.labelers.batching import WINDOW_BLOCKS
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import CARD_FILE, find_model
from dehusk.inference.labelers.signature import STRUCTURE
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage, ModelVersion
from dehusk.streams.wording import pluralize, printable
from dehusk.training.arrays import Floats
from dehusk.training.fine_tuning.correction import MIN_PAGES, UNLIKE, Correction, fit_correction
from dehusk.training.fine_tuning.crawl import CrawledPages, read_crawled, read_others
from dehusk.training.fine_tuning.graph import with_correction
from dehusk.training.fine_tuning.validation import AnsweredPage, Changes, Validation, changes, cross_validated
from dehusk.training.runs import describe_source, report
from dehusk.training.versions import (
    Answer,
    Kinds,
    labeler_answer,
    labeler_kinds,
    new_version,
    publish,
    refuse_unwritable,
)

NOT_BETTER = 3
"""Exit status where the new version is not better on the labeled pages."""
_CARD = Path(__file__).with_name("card.template.md")
_MAX_NAMED = 20
"""Most sites that a card names, and pages that a message does."""
_MAX_USUAL_SHARE = 0.2
"""Largest usual share of blocks of pages without labels that a new version decides otherwise."""


@dataclass(frozen=True, slots=True)
class FineTuning:
    """Options of a fine-tuning."""

    labels: Path
    pages: Sequence[Path]
    """Files and directories with the labeled pages."""
    base: ModelVersion
    """Version that is made better; the newest that is served where none is named."""
    version: int
    directory: Path
    """Directory where the new version is written, as `NAME/VERSION`."""
    repository: Path
    others: Sequence[Path] = ()
    """Files and directories with pages of other sites."""
    base_url: str = ""
    """Beginning of the URLs of HTML files, as they were labeled."""
    force: bool = False
    """True if a version is written that is not better."""

    @property
    def published(self) -> ModelVersion:
        """New version."""
        return ModelVersion(self.base.name, str(self.version))

    @property
    def target(self) -> Path:
        """Directory of the new version."""
        return self.directory / self.published.name / self.published.version


@dataclass(frozen=True, slots=True, eq=False)
class _Tuned:
    """Result of a fine-tuning."""

    crawled: CrawledPages
    validation: Validation
    correction: Correction
    others: Sequence[EncodedPage]
    """Pages of other sites."""
    crawled_changes: Changes
    """Changes on pages of the crawl without labels."""
    other_changes: Changes
    kinds: Kinds | None
    """Kinds of pages, which stay as the base tells them."""

    @property
    def checked(self) -> list[EncodedPage]:
        """Pages on which the exported model must answer alike."""
        pages = [*(page.encoded for page in self.crawled.labeled), *self.crawled.unlabeled, *self.others]
        return [page for page in pages if len(page) <= WINDOW_BLOCKS]


def fine_tune(options: FineTuning) -> None:
    """Write a version that is better on pages like the labeled ones, and answers others as before.

    Raises:
        ConfigurationError: the labels, the pages, the model or the version do not fit.
        SystemExit: with NOT_BETTER where it is not better, unless it is forced.
    """
    base, _ = find_model(options.repository, options.base.name, options.base.version)
    options = replace(options, base=base)
    for repository in (options.directory, options.repository):
        new_version(repository, options.published)
    refuse_unwritable(options.directory)
    labeler = _base_labeler(options.base, options.repository)
    answer = labeler_answer(labeler)
    crawled = read_crawled(options.labels, options.pages, report, options.base_url)
    _require_short_pages(crawled, options.labels)
    _report_lone_pages(crawled)
    _report_empty_pages(crawled)
    others = read_others(options.others, report)
    validation, correction = _fitted(crawled, answer, force=options.force)
    corrected = _corrected(answer, correction)
    report(f"comparison on {pluralize(len(crawled.unlabeled) + len(others), 'page')} without labels")
    on_crawl, on_others = (changes(pages, answer, corrected) for pages in (crawled.unlabeled, others))
    kinds = labeler_kinds(labeler)
    tuned = _Tuned(crawled, validation, correction, others, on_crawl, on_others, kinds)
    _show_changes("without labels", on_crawl)
    _show_changes("of other sites", on_others)
    _publish(options, tuned, corrected)
    click.echo(f"Wrote {options.target}. Next: dehusk model verify {options.target}")


def _require_short_pages(crawled: CrawledPages, file: Path) -> None:
    """Check that a labeled page shows that the correction is exported right: longer ones are read in parts.

    Raises:
        ConfigurationError: none does.
    """
    if all(len(page.encoded) > WINDOW_BLOCKS for page in crawled.labeled):
        raise ConfigurationError(
            f"all pages in {file} have more than {WINDOW_BLOCKS:,} blocks, so that a new version could not be"
            " checked: label a shorter one"
        )


def _report_lone_pages(crawled: CrawledPages) -> None:
    sites = Counter(page.site for page in crawled.labeled)
    lone = sum(count < MIN_PAGES for count in sites.values())
    if lone:
        report(f"{lone} of {len(sites)} sites have one labeled page alone, which tells little: label more")


def _report_empty_pages(crawled: CrawledPages) -> None:
    """Name the labeled pages without any content: one by mistake has its kind of page dropped."""
    empty = [page.id for page in crawled.labeled if not page.content.any()]
    if empty:
        named = ", ".join(empty[:_MAX_NAMED]) + (" …" if len(empty) > _MAX_NAMED else "")
        report(f"{pluralize(len(empty), 'labeled page')} without any content: {named}")


def _base_labeler(base: ModelVersion, repository: Path) -> OnnxLabeler:
    """Return the labeler with the version that is made better.

    Raises:
        ConfigurationError: it is not there, or reads no elements.
    """
    labeler = OnnxLabeler(base.name, base.version, repository)
    if labeler.signature.encoding != STRUCTURE.encoding:
        raise ConfigurationError(
            f"{base.name}/{base.version} reads {labeler.signature.encoding!r}, and fine-tuning needs a model"
            " that reads the elements of a page, such as `dehusk`"
        )
    return labeler


def _fitted(crawled: CrawledPages, answer: Answer, *, force: bool) -> tuple[Validation, Correction]:
    """Return the gain of a correction, and the one over all labeled pages."""
    pages = [AnsweredPage.of(page, answer) for page in crawled.labeled]
    validation = cross_validated(pages, report)
    click.echo(f"{len(pages)} labeled pages, in cross-validation: {validation.summary}")
    for line in validation.suspects:
        click.echo(line)
    _require_gain(validation, force=force)
    return validation, fit_correction([page.learned for page in pages], validation.strength)


def _require_gain(validation: Validation, *, force: bool) -> None:
    if validation.is_better:
        return
    report("The new version is not better on your pages: the gain is within chance.")
    if not force:
        report(
            "Nothing was written. Label more pages, above all such as are cleaned worst, or mend labels that"
            " contradict each other; or give --force."
        )
        raise SystemExit(NOT_BETTER)


def _corrected(answer: Answer, correction: Correction) -> Answer:

    def corrected(page: EncodedPage) -> Floats:
        assert page.structure is not None  # noqa: S101 -- pages are encoded whole
        content, *rest = np.atleast_2d(answer(page))
        return np.stack([correction(content, page.structure), *rest])

    return corrected


def _publish(options: FineTuning, tuned: _Tuned, corrected: Answer) -> None:
    _, file = find_model(options.repository, options.base.name, options.base.version)
    card = _CARD.read_text(encoding="utf-8").format_map(_facts(options, tuned))
    of_base = file.with_name(CARD_FILE)
    if of_base.is_file():
        card += f"\nIts card follows.\n\n{of_base.read_text(encoding='utf-8')}".replace("\n#", "\n##")
    model = with_correction(onnx.load(file), tuned.correction)
    report(f"check of the exported version on {pluralize(len(tuned.checked), 'page')}")
    publish(model, corrected, tuned.checked, card, options.target, kinds=tuned.kinds)


def _facts(options: FineTuning, tuned: _Tuned) -> dict[str, object]:
    """Return what a card says: the pages that the version was made of, and its scores."""
    pages, validation = tuned.crawled.labeled, tuned.validation
    sites = sorted({page.site for page in pages})
    return {
        "name": options.published.name,
        "version": options.published.version,
        "base": f"{options.base.name}/{options.base.version}",
        "pages": pluralize(len(pages), "page"),
        "sites": pluralize(len(sites), "site"),
        "labels": describe_source(options.labels),
        "files": ", ".join(map(describe_source, options.pages)),
        "named": ", ".join(map(printable, sites[:_MAX_NAMED])) + (" …" if len(sites) > _MAX_NAMED else ""),
        "unlike": UNLIKE,
        "blocks": sum(len(page.content) for page in pages),
        "content": sum(int(page.content.sum()) for page in pages),
        "structures": int(np.count_nonzero(tuned.correction.weights)),
        "strength": validation.strength,
        "before": validation.before.mean(),
        "after": validation.after.mean(),
        "gain": validation.gain,
        "error": validation.error,
        "worst": validation.worst,
        "suspects": "\n".join(f"- {line}" for line in validation.suspects) or "- none: each has an F1 of 1",
        "crawled": tuned.crawled_changes.summary if tuned.crawled_changes.pages else "none were given",
        "others": tuned.other_changes.summary if tuned.other_changes.pages else "none were given",
    }


def _show_changes(what: str, changed: Changes) -> None:
    if changed.pages:
        click.echo(f"{pluralize(changed.pages, 'page')} {what}: {changed.summary}")
        if changed.share > _MAX_USUAL_SHARE:
            report("That is much: look at the new version's texts before it serves.")
