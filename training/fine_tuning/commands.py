"""From labeled pages to a version that can be tried, as `python -m training fine-tune` runs it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
import onnx

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.onnx import OnnxLabeler
from dehusk.inference.repository import CARD_FILE, find_model
from dehusk.inference.signature import STRUCTURE, STRUCTURE_WITH_COMMENTS
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage, ModelVersion
from dehusk.streams.counted import counted
from dehusk.streams.printable import printable
from dehusk.training.fine_tuning.correction import LEAST_PAGES, UNLIKE, Correction, fit_correction
from dehusk.training.fine_tuning.graph import with_correction
from dehusk.training.fine_tuning.pages import CrawledPages, read_crawled, read_others
from dehusk.training.fine_tuning.validation import AnsweredPage, Changes, Validation, changes, cross_validated
from dehusk.training.predictor import Answer, labeler_answer
from dehusk.training.publish import publish, refuse_existing, refuse_unwritable
from dehusk.training.sources import said_source

Floats = npt.NDArray[np.float32]

NOT_BETTER = 3
"""The exit status where the new version is not better on the labeled pages."""
_CARD = Path(__file__).with_name("card.template.md")
_MOST_NAMED = 20
"""Sites that a card names, and pages that a message does."""
_MUCH = 0.2
"""Of the blocks of pages without labels, those that a new version rarely decides otherwise."""


@dataclass(frozen=True, slots=True)
class FineTuning:
    """What is asked for."""

    labels: Path
    pages: Sequence[Path]
    """Files and directories with the labeled pages."""
    base: ModelVersion
    """The version that is made better; the newest that is served where none is named."""
    version: int
    directory: Path
    """Where the new version is written, as `NAME/VERSION`."""
    repository: Path
    others: Sequence[Path] = ()
    """Files and directories with pages of other sites."""
    base_url: str = ""
    """What the URLs of HTML files begin with, as they were labeled."""
    force: bool = False
    """Whether a version is written that is not better."""

    @property
    def published(self) -> ModelVersion:
        """The new version."""
        return ModelVersion(self.base.name, str(self.version))

    @property
    def target(self) -> Path:
        """The new version's directory."""
        return self.directory / self.published.name / self.published.version


@dataclass(frozen=True, slots=True, eq=False)
class _Tuned:
    """What came of it."""

    crawled: CrawledPages
    validation: Validation
    correction: Correction
    others: Sequence[EncodedPage]
    """Pages of other sites."""
    crawled_changes: Changes
    """What is decided otherwise on pages of the crawl without labels."""
    other_changes: Changes

    @property
    def checked(self) -> list[EncodedPage]:
        """The pages on which the exported model must answer alike."""
        pages = [*(page.encoded for page in self.crawled.labeled), *self.crawled.unlabeled, *self.others]
        return [page for page in pages if len(page) <= WINDOW_BLOCKS]


def fine_tune(asked: FineTuning) -> None:
    """Write a version that is better on pages like the labeled ones, and answers others as before.

    Raises:
        ConfigurationError: the labels, the pages, the model or the version do not fit.
        SystemExit: with NOT_BETTER where it is not better, unless it is forced.
    """
    base, _ = find_model(asked.repository, asked.base.name, asked.base.version)
    asked = replace(asked, base=base)
    for directory in (asked.target, asked.repository / asked.published.name / asked.published.version):
        refuse_existing(directory)
    refuse_unwritable(asked.directory)
    answer = _base_answer(asked.base, asked.repository)
    crawled = read_crawled(asked.labels, asked.pages, _say, asked.base_url)
    _tell_of_lone_pages(crawled)
    _tell_of_empty_pages(crawled)
    others = read_others(asked.others, _say)
    validation, correction = _fitted(crawled, answer, force=asked.force)
    corrected = _corrected(answer, correction)
    on_crawl, on_others = (changes(pages, answer, corrected) for pages in (crawled.unlabeled, others))
    tuned = _Tuned(crawled, validation, correction, others, on_crawl, on_others)
    _tell("without labels", on_crawl)
    _tell("of other sites", on_others)
    _publish(asked, tuned, corrected)
    click.echo(f"Wrote {asked.target}. Next: dehusk model verify {asked.target}")


def _tell_of_lone_pages(crawled: CrawledPages) -> None:
    """Say of how many sites there is one labeled page alone."""
    sites = Counter(page.site for page in crawled.labeled)
    lone = sum(count < LEAST_PAGES for count in sites.values())
    if lone:
        _say(f"{lone} of {len(sites)} sites have one labeled page alone, which tells little: label more")


def _tell_of_empty_pages(crawled: CrawledPages) -> None:
    """Name the labeled pages without any content: one by mistake has its kind of page dropped."""
    empty = [page.id for page in crawled.labeled if not page.content.any()]
    if empty:
        named = ", ".join(empty[:_MOST_NAMED]) + (" …" if len(empty) > _MOST_NAMED else "")
        _say(f"{counted(len(empty), 'labeled page')} without any content: {named}")


def _base_answer(base: ModelVersion, repository: Path) -> Answer:
    """What the version that is made better answers.

    Raises:
        ConfigurationError: it is not there, or reads no elements.
    """
    labeler = OnnxLabeler(base.name, base.version, repository)
    if labeler.signature not in (STRUCTURE, STRUCTURE_WITH_COMMENTS):
        raise ConfigurationError(
            f"{base.name}/{base.version} reads {labeler.signature.encoding!r}, and fine-tuning needs a model"
            " that reads the elements of a page, such as `dehusk`"
        )
    return labeler_answer(labeler)


def _fitted(crawled: CrawledPages, answer: Answer, *, force: bool) -> tuple[Validation, Correction]:
    """What a correction brings, and the one over all labeled pages."""
    pages = [AnsweredPage.of(page, answer) for page in crawled.labeled]
    validation = cross_validated(pages, _say)
    click.echo(f"{len(pages)} labeled pages, in cross-validation: {validation.summary}")
    _require_gain(validation, force=force)
    return validation, fit_correction([page.learned for page in pages], validation.strength)


def _require_gain(validation: Validation, *, force: bool) -> None:
    if validation.is_better:
        return
    _say("The new version is not better on your pages: the gain is within chance.")
    if not force:
        _say("Nothing was written. Label more pages, above all such as are cleaned worst; or give --force.")
        raise SystemExit(NOT_BETTER)


def _corrected(answer: Answer, correction: Correction) -> Answer:
    """The answers of a model with corrected probabilities of content."""

    def corrected(page: EncodedPage) -> Floats:
        assert page.structure is not None  # noqa: S101 -- pages are encoded whole
        content, *rest = np.atleast_2d(answer(page))
        return np.stack([correction(content, page.structure), *rest])

    return corrected


def _publish(asked: FineTuning, tuned: _Tuned, corrected: Answer) -> None:
    """Write the version, with its card and that of the version it was made of."""
    _, file = find_model(asked.repository, asked.base.name, asked.base.version)
    card = _CARD.read_text(encoding="utf-8").format_map(_facts(asked, tuned))
    of_base = file.with_name(CARD_FILE)
    if of_base.is_file():
        card += f"\nIts card follows.\n\n{of_base.read_text(encoding='utf-8')}".replace("\n#", "\n##")
    publish(with_correction(onnx.load(file), tuned.correction), corrected, tuned.checked, card, asked.target)


def _facts(asked: FineTuning, tuned: _Tuned) -> dict[str, object]:
    """What a card says: what the version was made of, and what it scores."""
    pages, validation = tuned.crawled.labeled, tuned.validation
    sites = sorted({page.site for page in pages})
    return {
        "name": asked.published.name,
        "version": asked.published.version,
        "base": f"{asked.base.name}/{asked.base.version}",
        "pages": counted(len(pages), "page"),
        "sites": counted(len(sites), "site"),
        "labels": said_source(asked.labels),
        "files": ", ".join(map(said_source, asked.pages)),
        "named": ", ".join(map(printable, sites[:_MOST_NAMED])) + (" …" if len(sites) > _MOST_NAMED else ""),
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
        "crawled": tuned.crawled_changes.summary if tuned.crawled_changes.pages else "none were given",
        "others": tuned.other_changes.summary if tuned.other_changes.pages else "none were given",
    }


def _tell(what: str, changed: Changes) -> None:
    if changed.pages:
        click.echo(f"{counted(changed.pages, 'page')} {what}: {changed.summary}")
        if changed.share > _MUCH:
            _say("That is much: look at the new version's texts before it serves.")


def _say(text: str) -> None:
    click.echo(printable(text), err=True)
