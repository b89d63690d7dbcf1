"""The pages that were labeled by hand, found among pages and checked against them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.inference.sites import site_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.page_labels import Misfit, PageLabels, html_hash
from dehusk.schemas.pages import EncodedPage, RawPage
from dehusk.streams.labeling.labels_file import read_labels_file, refuse_misfits
from dehusk.training.by_hand import Say, pages_of
from dehusk.training.score import score_words

Bools = npt.NDArray[np.bool_]

LEAST_PAGES = 10
"""Labeled pages that fine-tuning takes."""
MOST_UNLABELED = 200
"""Pages without labels that are looked at, the first ones."""
NO_SITE = "(no site)"
"""What stands for the site of pages whose URL names none."""
_SAID_EVERY = 10


@dataclass(frozen=True, slots=True, eq=False)
class LabeledPage:
    """A page of T blocks, T > 0, and its labels."""

    id: str
    site: str
    words: tuple[tuple[str, ...], ...]
    """The words of each block, as they are scored."""
    encoded: EncodedPage
    content: Bools
    """Shape [T]."""


@dataclass(frozen=True, slots=True, eq=False)
class CrawledPages:
    """What is known of a crawl."""

    labeled: Sequence[LabeledPage]
    unlabeled: Sequence[EncodedPage]
    """The first MOST_UNLABELED pages that have no labels, those without blocks left out."""


def read_crawled(labels_file: Path, paths: Sequence[Path], say: Say, base_url: str = "") -> CrawledPages:
    """The labeled pages among those in files and directories, and some without labels.

    The URLs of HTML files begin with `base_url`, where it is given.

    Raises:
        ConfigurationError: labels do not fit their pages, or cannot be learned from; the message says why.
    """
    labels = read_labels_file(labels_file)
    misfits = dict.fromkeys(labels, Misfit.UNKNOWN_PAGE)
    labeled: dict[str, LabeledPage] = {}
    unlabeled: list[EncodedPage] = []
    for page in pages_of(paths, base_url, say):
        name = page.name
        if name in labeled or (name not in labels and len(unlabeled) == MOST_UNLABELED):
            continue
        try:
            read = _read(page, labels.get(name))
        except PageError as error:
            say(f"left out {name}: {error}")
            continue
        if isinstance(read, Misfit):
            misfits[name] = read
        elif isinstance(read, LabeledPage):
            misfits.pop(name)
            labeled[name] = read
            if len(labeled) % _SAID_EVERY == 0:
                say(f"{len(labeled)} of {len(labels)} labeled pages read")
        elif len(read):
            unlabeled.append(read)
        if not misfits and len(unlabeled) == MOST_UNLABELED:
            break
    refuse_misfits(misfits, labels_file)
    return CrawledPages(_learnable(list(labeled.values()), labels_file), unlabeled)


def read_others(paths: Sequence[Path], say: Say) -> list[EncodedPage]:
    """The pages in files and directories that have blocks."""
    found = []
    for page in pages_of(paths, say=say):
        try:
            found.append(encode(segment(page.html)))
        except PageError as error:
            say(f"left out {page.name}: {error}")
    return [page for page in found if len(page)]


def _read(page: RawPage, labels: PageLabels | None) -> LabeledPage | EncodedPage | Misfit:
    """A page with its labels, if it has any, or what is wrong with them."""
    segmented = segment(page.html)
    if labels is None:
        return encode(segmented)
    misfit = labels.misfit_with(html_hash(page.html), segmented.texts)
    if misfit is not None:
        return misfit
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    content = np.array(labels.labels, np.bool_)
    return LabeledPage(labels.id, site_of(page.url) or NO_SITE, words, encode(segmented), content)


def _learnable(pages: Sequence[LabeledPage], file: Path) -> list[LabeledPage]:
    """The pages that have blocks.

    Raises:
        ConfigurationError: they are too few, or all of their blocks have the same label.
    """
    learnable = [page for page in pages if len(page.content)]
    if len(learnable) < LEAST_PAGES:
        raise ConfigurationError(
            f"{file} has labels of {len(learnable)} pages with text, which are too few: label at least"
            f" {LEAST_PAGES}, better 20 to 200"
        )
    labels = np.concatenate([page.content for page in learnable])
    if labels.all() or not labels.any():
        kind = "content" if labels.all() else "boilerplate"
        raise ConfigurationError(
            f"all {len(labels):,} blocks of the {len(learnable)} pages in {file} are labeled as {kind}:"
            " there is nothing to tell apart"
        )
    return learnable
