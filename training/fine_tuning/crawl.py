"""Pages that were labeled by hand, checked against a crawl, and the structures that their blocks stand in.

Structures are the 1, 2, 4 and 8 innermost elements around a block, hashed. An element is hashed by its tag
and the first part of its class, id or role; the root and its children, such as `<body>`, by their tags alone,
as in `EncodedPage.structures`. Hashes are polynomials modulo a prime, so that an ONNX graph can compute them:
those of twice as many elements are made of two others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.inference.sites import site_of
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.page_labels import Misfit, PageLabels, html_hash
from dehusk.schemas.pages import EncodedPage, RawPage, StructureTensors
from dehusk.streams.labeling.labels_file import read_labels_file, refuse_misfits
from dehusk.training.arrays import Bools, Integers
from dehusk.training.pages.labels import pages_of
from dehusk.training.runs import Report
from dehusk.training.scores import Words, block_words, require_both_classes

MIN_LABELED_PAGES = 10
"""Least number of labeled pages that fine-tuning takes."""
MAX_UNLABELED = 200
"""Most pages without labels that are looked at, the first ones."""
NO_SITE = "(no site)"
"""Site of pages whose URL names none."""
_REPORT_EVERY = 10
PRIME = (1 << 31) - 1
"""Bound of hashes; they are multiplied by less than 2 ** 30, so that no product exceeds an int64."""
TAG_FACTOR, PART_FACTOR = 774_281_999, 884_974_591
LEVEL_FACTORS = (1_069_125_973, 531_144_157, 999_958_529)
"""Factors of the hash of 1, 2 and 4 elements before that of as many above them is added."""
SALTS = (1, 767_418_257, 555_677_041, 668_417_831)
"""Factors of the hashes of 1, 2, 4 and 8 elements, so that they are told apart."""
DEPTHS = len(SALTS)


@dataclass(frozen=True, slots=True, eq=False)
class LabeledPage:
    """A page of T blocks, T > 0, and its labels."""

    id: str
    site: str
    words: Words
    encoded: EncodedPage
    content: Bools
    """Shape [T]."""


@dataclass(frozen=True, slots=True, eq=False)
class CrawledPages:
    """Pages of a crawl."""

    labeled: Sequence[LabeledPage]
    unlabeled: Sequence[EncodedPage]
    """First MAX_UNLABELED pages that have no labels, those without blocks left out."""


def read_crawled(
    labels_file: Path, paths: Sequence[Path], report: Report, base_url: str = ""
) -> CrawledPages:
    """Read the labeled pages among those in files and directories, and some without labels.

    The URLs of HTML files begin with `base_url`, where it is given.

    Raises:
        ConfigurationError: labels do not fit their pages, or cannot be learned from; the message says why.
    """
    labels = read_labels_file(labels_file)
    misfits = dict.fromkeys(labels, Misfit.UNKNOWN_PAGE)
    labeled: dict[str, LabeledPage] = {}
    unlabeled: list[EncodedPage] = []
    for page in pages_of(paths, base_url, report):
        name = page.name
        if name in labeled or (name not in labels and len(unlabeled) == MAX_UNLABELED):
            continue
        try:
            read = _read(page, labels.get(name))
        except PageError as error:
            report(f"left out {name}: {error}")
            continue
        if isinstance(read, Misfit):
            misfits[name] = read
        elif isinstance(read, LabeledPage):
            misfits.pop(name)
            labeled[name] = read
            if len(labeled) % _REPORT_EVERY == 0:
                report(f"{len(labeled)} of {len(labels)} labeled pages read")
        elif len(read):
            unlabeled.append(read)
        if not misfits and len(unlabeled) == MAX_UNLABELED:
            break
    refuse_misfits(misfits, labels_file)
    return CrawledPages(_learnable(list(labeled.values()), labels_file), unlabeled)


def read_others(paths: Sequence[Path], report: Report) -> list[EncodedPage]:
    """Read the pages in files and directories that have blocks."""
    found = []
    for page in pages_of(paths, report=report):
        try:
            found.append(encode(segment(page.html, url=page.url)))
        except PageError as error:
            report(f"left out {page.name}: {error}")
    return [page for page in found if len(page)]


def _read(page: RawPage, labels: PageLabels | None) -> LabeledPage | EncodedPage | Misfit:
    """Read a page with its labels, if it has any; return a misfit where they do not fit."""
    segmented = segment(page.html, url=page.url)
    if labels is None:
        return encode(segmented)
    misfit = labels.misfit_with(html_hash(page.html), segmented.texts)
    if misfit is not None:
        return misfit
    words = block_words(segmented.texts)
    content = np.array(labels.labels, np.bool_)
    return LabeledPage(labels.id, site_of(page.url) or NO_SITE, words, encode(segmented), content)


def _learnable(pages: Sequence[LabeledPage], file: Path) -> list[LabeledPage]:
    """Return the pages that have blocks.

    Raises:
        ConfigurationError: they are too few, or all of their blocks have the same label.
    """
    learnable = [page for page in pages if len(page.content)]
    if len(learnable) < MIN_LABELED_PAGES:
        raise ConfigurationError(
            f"{file} has labels of {len(learnable)} pages with text, which are too few: label at least"
            f" {MIN_LABELED_PAGES}, better 20 to 200"
        )
    require_both_classes([page.content for page in learnable], f"in {file}")
    return learnable


def structure_keys(page: StructureTensors) -> Integers:
    """Return the hashes of the elements around each block, shape [DEPTHS, T]; 0 where it stands in none."""
    path = np.concatenate([[0], _elements(page)])
    above = np.concatenate([[0], page.parent]).astype(np.int64)
    paths = [path]
    for factor in LEVEL_FACTORS:
        path = (path * factor + path[above]) % PRIME
        above = above[above]
        paths.append(path)
    return np.stack([each[page.element] * salt % PRIME for each, salt in zip(paths, SALTS, strict=True)])


def _elements(page: StructureTensors) -> Integers:
    """Return the hash of each element by itself, shape [E]."""
    lengths = page.element_token_lengths.astype(np.int64)
    first = np.cumsum(lengths) - lengths + 1
    tokens = np.concatenate([[0], page.element_tokens]).astype(np.int64)
    tags = tokens[np.where(lengths > 0, first, 0)]
    parts = tokens[np.where((lengths > 1) & (page.parent > 1), first + 1, 0)]
    hashes: Integers = (tags * TAG_FACTOR + parts * PART_FACTOR) % PRIME
    return hashes
