"""Labelers that can be compared: those without a model, the models of the repository, and extractors."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from dehusk.inference.extraction import document_of
from dehusk.inference.labelers.labeler import LOCAL_LABELERS, LocalLabeler, encodings_read, open_local_labeler
from dehusk.inference.labelers.onnx import OnnxLabeler
from dehusk.inference.labelers.repository import CARD_FILE, find_model, models
from dehusk.inference.labelers.signature import TOKENS
from dehusk.inference.preparing import prepare
from dehusk.inference.selection.selection import choose
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import RawPage
from dehusk.streams.models.names import split_name
from dehusk.training.arrays import Bools
from dehusk.training.comparison.questions import Question
from dehusk.training.pages.alignment import CONTENT_SHARE, content_blocks
from dehusk.training.predict import at_places, content_of_blocks
from dehusk.training.runs import Source, sources_in
from dehusk.training.scores import CONTENT_PROBABILITY, score_words

_OPTIONAL = {"magic-html": "magic_html", "rs-trafilatura": "rs_trafilatura"}
"""Extractors that not every environment has, and their modules."""
EXTRACTORS = (
    "trafilatura",
    "trafilatura-no-comments",
    "resiliparse",
    "resiliparse-no-comments",
    "justext",
    "readability",
    *_OPTIONAL,
)
"""Extractors that know no blocks, as they are set up by default; two also without user comments."""


class Outcome(NamedTuple):
    """Result of an extraction."""

    text: str
    content: Bools | None
    """Shape [blocks that dehusk makes]: those in the text; None for extractors that know no blocks."""
    likely: Bools | None = None
    """Of the same shape: blocks that are content with a probability of one half or more."""


class Competitor(Protocol):
    """A labeler or an extractor."""

    def extract(self, page: RawPage) -> Outcome:
        """Extract the text of a page from its HTML; this is what is timed.

        Raises:
            PageError: the page cannot be cleaned.
        """
        ...

    def units(self, question: Question, outcome: Outcome) -> Bools:
        """Return the units of a page that are content, given what became of it.

        Raises:
            PageError: they cannot be labeled.
        """
        ...


def known_names(repository: Path) -> list[str]:
    """Return all that is compared by default: of each model the newest version that is served."""
    served = (_versioned(repository, model) for model in models(repository))
    return [*LOCAL_LABELERS, *served, *installed_extractors()]


def installed_extractors() -> list[str]:
    """Return the extractors, without those that not every environment has where they are missing."""
    return [name for name in EXTRACTORS if name not in _OPTIONAL or find_spec(_OPTIONAL[name]) is not None]


def resolved_names(wanted: Sequence[str], repository: Path) -> list[str]:
    """Return the names, each once, models with their version; all that are known where none is wanted.

    Raises:
        ConfigurationError: something is not known; the message says what is.
    """
    return list(dict.fromkeys(_resolved(name, repository) for name in wanted)) or known_names(repository)


def _resolved(name: str, repository: Path) -> str:
    if name in LOCAL_LABELERS or name in EXTRACTORS:
        return name
    model, version = split_name(name)
    if model not in models(repository):
        known = ", ".join(known_names(repository))
        raise ConfigurationError(f"there is no labeler {name!r}; known are {known}")
    return _versioned(repository, model, version)


def _versioned(repository: Path, model: str, version: str = "") -> str:
    found, _ = find_model(repository, model, version)
    return f"{found.name}/{found.version}"


def trained_on(name: str, repository: Path) -> list[Source]:
    """Return the data files that the card of a model names; none where there is no model or no card."""
    card = repository.joinpath(*name.split("/"), CARD_FILE)
    return sources_in(card.read_text(encoding="utf-8")) if "/" in name and card.is_file() else []


def open_competitor(name: str, repository: Path) -> Competitor:
    """Open the labeler of a resolved name."""
    if name in EXTRACTORS:
        return _Extractor(name)
    if name in LOCAL_LABELERS:
        return _Labeler(open_local_labeler(name), reads_elements=True)
    model, version = split_name(name)
    labeler = OnnxLabeler(model, version, repository)
    return _Labeler(labeler, reads_elements=labeler.signature is not TOKENS)


class _Labeler:
    """A labeler of blocks, on the way of a page through dehusk."""

    def __init__(self, labeler: LocalLabeler, *, reads_elements: bool) -> None:
        self._labeler = labeler
        self._encodings = encodings_read(labeler)
        self._reads_elements = reads_elements

    def extract(self, page: RawPage) -> Outcome:
        prepared = prepare(page, encodings=self._encodings)
        if isinstance(prepared, Broken):
            raise PageError(prepared.reason, prepared.detail)
        labels = self._labeler.label_here(prepared.encoded)
        if isinstance(labels, Broken):
            raise PageError(labels.reason, labels.detail)
        choice = choose(prepared.encoded, labels)
        return Outcome(
            document_of(prepared, labels, choice).text,
            choice.content,
            labels.probabilities >= CONTENT_PROBABILITY,
        )

    def units(self, question: Question, outcome: Outcome) -> Bools:
        if question.as_it_came is None or self._reads_elements:
            found = outcome.content if question.as_it_came is None else outcome.likely
            return at_places(question.places, np.zeros(0, np.bool_) if found is None else found)
        labels = self._labeler.label_here(question.as_it_came.encoded)
        if isinstance(labels, Broken):
            raise PageError(labels.reason, labels.detail)
        return content_of_blocks(question.as_it_came, labels)


class _Extractor:
    """An extractor, whose text tells the units that it keeps: those that are part of it (Web2Text, §4.1)."""

    def __init__(self, name: str) -> None:
        from dehusk.training.comparison import extractors  # noqa: PLC0415 -- what trains has no such extractors

        self._text_of = extractors.open_extractor(name)

    def extract(self, page: RawPage) -> Outcome:
        return Outcome(self._text_of(page), None)

    def units(self, question: Question, outcome: Outcome) -> Bools:
        return content_blocks(question.units, score_words(outcome.text), CONTENT_SHARE)
