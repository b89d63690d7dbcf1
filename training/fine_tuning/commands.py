"""From labeled pages to a version that can be tried, as `python -m training fine-tune` runs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt
import onnx

from dehusk.inference.batching import WINDOW_BLOCKS
from dehusk.inference.onnx import OnnxLabeler
from dehusk.inference.repository import CARD_FILE, find_model
from dehusk.inference.signature import TOKENS
from dehusk.schemas.errors import ConfigurationError
from dehusk.schemas.pages import EncodedPage, ModelVersion
from dehusk.streams.printable import printable
from dehusk.training.fine_tuning.correction import Correction, fit_correction
from dehusk.training.fine_tuning.graph import with_correction
from dehusk.training.fine_tuning.pages import LabeledPage, read_crawled, read_others
from dehusk.training.fine_tuning.validation import AnsweredPage, Changes, Validation, changes, cross_validated
from dehusk.training.predictor import Answer, labeler_answer
from dehusk.training.publish import publish, refuse_existing

Floats = npt.NDArray[np.float32]

NOT_BETTER = 3
"""The exit status where the new version is not better on the labeled pages."""
_CARD = Path(__file__).with_name("card.template.md")


@dataclass(frozen=True, slots=True)
class _Changed:
    """What the new version decides otherwise on pages without labels."""

    crawled: Changes
    others: Changes


def fine_tune(
    labels: Path,
    paths: Sequence[Path],
    base: ModelVersion,
    version: int,
    directory: Path,
    repository: Path,
    *,
    others: Sequence[Path] = (),
    force: bool = False,
) -> None:
    """Write a version that is better on pages like the labeled ones, and answers others as `base` does.

    Raises:
        ConfigurationError: the labels, the pages, the model or the version do not fit.
        SystemExit: with NOT_BETTER where it is not better, unless it is forced.
    """
    published = ModelVersion(base.name, str(version))
    target = directory / published.name / published.version
    for place in (target, repository / published.name / published.version):
        refuse_existing(place)
    answer = _base_answer(base, repository)
    crawled = read_crawled(labels, paths, _say)
    other_pages = read_others(others, _say)
    _say(f"{base.name}/{base.version} answers {len(crawled.labeled)} labeled pages")
    pages = [AnsweredPage.of(page, answer) for page in crawled.labeled]
    validation = cross_validated(pages, _say)
    click.echo(f"{len(pages)} labeled pages, in cross-validation: {validation.summary}")
    _require_gain(validation, force=force)
    correction = fit_correction([page.learned for page in pages], validation.strength)
    tuned = _tuned(answer, correction)
    changed = _Changed(changes(crawled.unlabeled, answer, tuned), changes(other_pages, answer, tuned))
    _tell("pages without labels", changed.crawled)
    _tell("other pages", changed.others)
    _, file = find_model(repository, base.name, base.version)
    model = with_correction(onnx.load(file), correction)
    card = _card(published, base, crawled.labeled, validation, correction, changed)
    card += f"\n{file.with_name(CARD_FILE).read_text(encoding='utf-8')}".replace("\n#", "\n##")
    checked = [page.encoded for page in crawled.labeled] + [*crawled.unlabeled, *other_pages]
    publish(model, tuned, [page for page in checked if len(page) <= WINDOW_BLOCKS], card, target)
    click.echo(f"Wrote {target}. Next: dehusk model verify {target}")


def _base_answer(base: ModelVersion, repository: Path) -> Answer:
    """What the model that is fine-tuned answers.

    Raises:
        ConfigurationError: it is not there, or reads no elements.
    """
    labeler = OnnxLabeler(base.name, base.version, repository)
    if labeler.signature is TOKENS:
        raise ConfigurationError(
            f"{base.name}/{base.version} reads {TOKENS.encoding!r}, and fine-tuning needs a model that reads"
            " the elements of a page, such as `dehusk`"
        )
    return labeler_answer(labeler)


def _tuned(answer: Answer, correction: Correction) -> Answer:
    """The answers of a model with corrected probabilities of content."""

    def tuned(page: EncodedPage) -> Floats:
        assert page.structure is not None  # noqa: S101 -- pages are encoded whole
        content, *rest = np.atleast_2d(answer(page))
        return np.stack([correction(content, page.structure), *rest])

    return tuned


def _require_gain(validation: Validation, *, force: bool) -> None:
    if validation.is_better:
        return
    _say("The new version is not better on your pages: the gain does not exceed its standard error.")
    if not force:
        _say("Nothing was written. Label more pages, or those that are cleaned worst; --force writes it as it is.")
        raise SystemExit(NOT_BETTER)


def _card(
    published: ModelVersion,
    base: ModelVersion,
    pages: Sequence[LabeledPage],
    validation: Validation,
    correction: Correction,
    changed: _Changed,
) -> str:
    """What a version was made of, and what it scores."""
    sites = sorted({page.site for page in pages})
    facts = {
        "name": published.name,
        "version": published.version,
        "base": f"{base.name}/{base.version}",
        "pages": len(pages),
        "sites": len(sites),
        "named": ", ".join(printable(site) for site in sites[:20]) + (" …" if len(sites) > 20 else ""),
        "blocks": sum(len(page.content) for page in pages),
        "content": sum(int(page.content.sum()) for page in pages),
        "structures": int(np.count_nonzero(correction.weights)),
        "strength": validation.strength,
        "before": validation.before.mean(),
        "after": validation.after.mean(),
        "gain": validation.gain,
        "error": validation.error,
        "worst": (validation.after - validation.before).min(),
        "crawled": changed.crawled.summary if changed.crawled.pages else "none were given",
        "others": changed.others.summary if changed.others.pages else "none were given",
    }
    return _CARD.read_text(encoding="utf-8").format_map(facts)


def _tell(what: str, changed: Changes) -> None:
    if changed.pages:
        click.echo(f"{changed.pages} {what}: {changed.summary}")


def _say(text: str) -> None:
    click.echo(printable(text), err=True)
