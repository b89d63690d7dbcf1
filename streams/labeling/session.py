"""Session of labeling: pages, the labels of each, and what is shown and suggested of them.

A labeler suggests labels of a page at first; the labels that are given then spread to blocks that are alike.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from dehusk.inference.labelers.grf.labeler import spread
from dehusk.inference.labelers.labeler import Labeler
from dehusk.inference.selection.reasons import explain
from dehusk.inference.sites import site_of
from dehusk.schemas.errors import DehuskError, ExtractionError
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.page_labels import Label, Misfit, PageLabels, blocks_hash, text_hash
from dehusk.schemas.pages import EncodedPage, Prediction
from dehusk.streams.inspection.inspection import open_page
from dehusk.streams.inspection.steps import OpenedPage
from dehusk.streams.labeling.labels_file import LabelsFile
from dehusk.streams.labeling.store import Entry, PageStore
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.wording import pluralize

Probabilities = npt.NDArray[np.float64]
_HALF = 0.5
_WEIGHT = 3
"""Weight of the log-odds that labels spread; those of the labeler have 1."""
_MIN_INITIAL = 0.05
"""Least distance of a labeler's probability from 0 and 1 once something is labeled: labels outweigh it."""
_LABELED_ELSEWHERE = 0.95
"""Probability of what all blocks of the same text are labeled as on other pages of the site."""
_MIN_PROBABILITY = 1e-4
"""Least distance of any probability from 0 and 1."""


async def initial_probabilities(labeler: Labeler, page: EncodedPage) -> Probabilities:
    """Return a labeler's probability of content of each block before anything is labeled, shape [T].

    A block with a half or more is content.

    Raises:
        ExtractionError: the labeler's answer does not fit.
        DehuskError: it does not answer.
    """
    (answer,) = await labeler.label([page])
    if isinstance(answer, Broken):
        raise ExtractionError(answer.reason, answer.detail)
    return centre(page, answer)


async def updated_probabilities(
    page: EncodedPage, initial: Probabilities | None, labels: Sequence[Label]
) -> Probabilities:
    """Return the probability of content of each block, given labels of some, shape [T].

    The initial odds are multiplied by those that labels spread to alike blocks.
    """
    if initial is not None and all(label is None for label in labels):
        return initial
    known = np.array([-1 if label is None else label for label in labels], np.int8)
    odds = _odds(await asyncio.to_thread(spread, page, known)) ** _WEIGHT
    if initial is not None:
        odds = odds * _odds(np.clip(initial, _MIN_INITIAL, 1 - _MIN_INITIAL))
    suggested: Probabilities = odds / (1 + odds)
    return suggested


def centre(page: EncodedPage, labels: Prediction) -> Probabilities:
    """Move the probabilities of a labeler so that content of this page has a half or more, shape [T]."""
    explanation = explain(page, labels)
    threshold = _HALF if explanation.least is None else explanation.least
    odds = _odds(explanation.choice.probabilities) / _odds(np.array(threshold))
    moved = odds / (1 + odds)
    content = explanation.choice.content
    return np.where(content, np.maximum(moved, _HALF), np.minimum(moved, np.nextafter(_HALF, 0)))


def _odds(probabilities: npt.NDArray[np.floating[Any]]) -> Probabilities:
    likely = np.clip(probabilities.astype(np.float64), _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    odds: Probabilities = likely / (1 - likely)
    return odds


_MAX_OPEN = 6
"""A huge page takes some 100 MB."""
_DIGITS = 4


class LabelState(StrEnum):
    """State of the labels of a page."""

    TODO = "todo"
    HALF = "half"
    LABELED = "labeled"
    MISFIT = "misfit"
    """The file has labels of another version of the page, or of other blocks."""
    REFUSED = "refused"
    """It cannot be labeled."""


_UNFINISHED = {
    LabelState.HALF: "half-labeled",
    LabelState.MISFIT: "with labels that do not fit",
    LabelState.REFUSED: "cannot be",
}


class RefusedPageError(DehuskError):
    """A page that cannot be labeled; the message has the reason."""


class StaleLabelsError(DehuskError):
    """Labels that are based on others than the saved ones; nothing was written."""


@dataclass(frozen=True, slots=True, eq=False)
class _Opened:
    """A page that can be labeled."""

    page: OpenedPage
    blocks_hash: str
    original: str | None
    """Its HTML, made harmless; None if it cannot be shown."""
    refusal: str | None
    """Reason why it cannot be shown."""
    initial: Probabilities | None
    """Suggestions before anything is labeled."""
    trouble: str | None
    """Reason why nothing is suggested."""

    def __len__(self) -> int:
        return len(self.page.texts)


class Session:
    """Pages that are labeled by one person at a time, however many windows show them."""

    def __init__(self, store: PageStore, file: LabelsFile, pool: PreparationPool, labeler: Labeler) -> None:
        self._store = store
        self._file = file
        self._pool = pool
        self._labeler = labeler
        self._open: OrderedDict[int, asyncio.Task[_Opened]] = OrderedDict()
        self._refusals = {
            number: entry.refusal for number, entry in enumerate(store.entries) if entry.refusal
        }
        self._other_blocks: set[int] = set()
        self._saving = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._store.entries)

    @property
    def overview(self) -> dict[str, Any]:
        """The pages with the state of each, and the file of their labels."""
        pages = [
            {"id": entry.id, "url": entry.url, "title": entry.title, "state": state}
            for entry, state in zip(self._store.entries, self.states, strict=True)
        ]
        return {
            "pages": pages,
            "file": str(self._file.path),
            "others": len(self._file.labels.keys() - {entry.id for entry in self._store.entries}),
            "set_aside": self._file.set_aside and str(self._file.set_aside),
        }

    @property
    def states(self) -> list[LabelState]:
        """State of the labels of each page."""
        return [self._state(number) for number in range(len(self))]

    @property
    def progress(self) -> str:
        """Numbers of pages that are labeled, half-labeled, and cannot be, as far as that is known."""
        states = Counter(self.states)
        parts = [f"{states[LabelState.LABELED]:,} of {pluralize(len(self), 'page')} labeled"]
        parts += [f"{states[state]:,} {words}" for state, words in _UNFINISHED.items() if states[state]]
        return ", ".join(parts)

    async def page(self, number: int) -> str:
        """Return all that is shown of a page, as JSON; a `refusal` if it cannot be labeled."""
        entry = self._store.entries[number]
        try:
            opened = await self._opened(number)
        except RefusedPageError as error:
            self._refusals[number] = str(error)
            return json.dumps(
                {"id": entry.id, "url": entry.url, "state": LabelState.REFUSED, "refusal": str(error)}
            )
        saved = self._file.labels.get(entry.id)
        misfit = self._misfit(number, opened)
        return json.dumps(
            {
                "id": entry.id,
                **json.loads(opened.page.json),
                "original": opened.original,
                "not_shown": opened.refusal,
                "labels": saved.labels if saved and not misfit else [None] * len(opened),
                "revision": _revision(saved),
                "misfit": _description(saved, misfit) if saved and misfit else None,
                "carried": saved.carried_to(opened.page.texts) if saved and misfit else None,
                "suggestions": _rounded(self._informed(number, opened, opened.initial)),
                "trouble": opened.trouble,
                "state": self._state(number),
            }
        )

    async def suggest(self, number: int, labels: Sequence[Label]) -> list[float] | None:
        """Return the probability of content of each block, given some labels; None without suggestions.

        Raises what `save` raises of labels that do not fit the page.
        """
        opened = await self._opened(number)
        _require_length(labels, opened)
        encoded = opened.page.packed.encoded
        updated = await updated_probabilities(encoded, opened.initial, labels)
        return _rounded(self._informed(number, opened, updated))

    async def save(
        self, number: int, labels: Sequence[Label], revision: str, *, replaces: bool
    ) -> dict[str, str]:
        """Save the labels of a page, based on those of a revision; return the new revision, time and state.

        With `replaces`, they replace labels that are a misfit.

        Raises:
            ValueError: their number is not that of the page's blocks.
            RefusedPageError: the page cannot be labeled.
            StaleLabelsError: others were saved meanwhile, or would be replaced unasked.
            ConflictError, ConfigurationError: as `LabelsFile.save`.
        """
        opened = await self._opened(number)
        _require_length(labels, opened)
        entry = self._store.entries[number]
        new = PageLabels(
            id=entry.id,
            url=entry.url,
            html_hash=entry.html_hash,
            blocks_hash=opened.blocks_hash,
            labels=tuple(labels),
            labeled_at=datetime.now(UTC).replace(microsecond=0),
            text_hashes=tuple(map(text_hash, opened.page.texts)),
        )
        async with self._saving:
            self._require_current(number, opened, revision, replaces=replaces)
            await asyncio.to_thread(self._file.save, new)
            self._other_blocks.discard(number)
        saved = self._file.labels.get(entry.id)
        return {
            "revision": _revision(saved),
            "saved_at": new.labeled_at.isoformat(),
            "state": self._state(number),
        }

    def _informed(
        self, number: int, opened: _Opened, suggestions: Probabilities | None
    ) -> Probabilities | None:
        """Suggest for a block what all blocks of its text are labeled as on other pages of the site."""
        if suggestions is None:
            return None
        known = self._labels_of_site(self._store.entries[number])
        informed = suggestions.copy()
        for block, text in enumerate(opened.page.texts):
            labels = known.get(text_hash(text))
            if labels == {1}:
                informed[block] = max(informed[block], _LABELED_ELSEWHERE)
            elif labels == {0}:
                informed[block] = min(informed[block], 1 - _LABELED_ELSEWHERE)
        return informed

    def _labels_of_site(self, entry: Entry) -> dict[str, set[Label]]:
        """Collect the labels of each text on other pages of the page's site, by the hash of the text."""
        known: defaultdict[str, set[Label]] = defaultdict(set)
        site = site_of(entry.url or "")
        for name, saved in list(self._file.labels.items()):  # another thread may save
            if site and name != entry.id and site_of(saved.url or "") == site:
                for text, label in zip(saved.text_hashes, saved.labels, strict=False):
                    if label is not None:
                        known[text].add(label)
        return known

    def _require_current(self, number: int, opened: _Opened, revision: str, *, replaces: bool) -> None:
        saved = self._file.labels.get(self._store.entries[number].id)
        if revision != _revision(saved):
            raise StaleLabelsError("other labels of this page were saved meanwhile, in another window")
        if self._misfit(number, opened) and not replaces:
            raise StaleLabelsError(
                "the file has labels of this page as it was; they are not overwritten unasked"
            )

    def _state(self, number: int) -> LabelState:
        entry = self._store.entries[number]
        if number in self._refusals:
            return LabelState.REFUSED
        saved = self._file.labels.get(entry.id)
        if saved is None:
            return LabelState.TODO
        if saved.html_hash != entry.html_hash or number in self._other_blocks:
            return LabelState.MISFIT
        return LabelState.LABELED if saved.is_complete else LabelState.HALF

    async def fits(self, number: int) -> bool:
        """Return True if the saved labels of a page are those of its blocks."""
        try:
            opened = await self._opened(number)
        except RefusedPageError:
            return False
        return self._misfit(number, opened) is None

    def _misfit(self, number: int, opened: _Opened) -> Misfit | None:
        """Return why the saved labels are none of this page; None if they are, or there are none."""
        entry = self._store.entries[number]
        saved = self._file.labels.get(entry.id)
        misfit = saved.misfit_with(entry.html_hash, opened.page.texts) if saved else None
        if misfit is Misfit.OTHER_BLOCKS:
            self._other_blocks.add(number)
        return None if misfit is Misfit.HALF_LABELED else misfit

    async def _opened(self, number: int) -> _Opened:
        """Open a page; the last few stay open.

        Raises:
            RefusedPageError: it cannot be labeled; the message has the reason.
        """
        if number not in self._open:
            self._open[number] = asyncio.create_task(self._open_page(number))
        self._open.move_to_end(number)
        opening = self._open[number]
        while len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)
        try:
            opened = await asyncio.shield(opening)
        except RefusedPageError:
            self._open.pop(number, None)  # the reason may pass, such as too little time
            raise
        self._refusals.pop(number, None)
        if opened.trouble is not None:
            self._open.pop(number, None)
        return opened

    async def _open_page(self, number: int) -> _Opened:
        page = self._store.page(number)
        if page is None:
            raise RefusedPageError(self._refusals[number])
        try:
            opened, original = await open_page(page, self._pool)
        except ExtractionError as error:
            raise RefusedPageError(str(error)) from error
        initial, trouble = await self._initial(opened)
        shown, refusal = (None, str(original)) if isinstance(original, Broken) else (original.html, None)
        return _Opened(opened, blocks_hash(opened.texts), shown, refusal, initial, trouble)

    async def _initial(self, opened: OpenedPage) -> tuple[Probabilities | None, str | None]:
        try:
            return await initial_probabilities(self._labeler, opened.packed.encoded), None
        except DehuskError as error:
            return None, str(error)


def _require_length(labels: Sequence[Label], page: _Opened) -> None:
    if len(labels) != len(page):
        raise ValueError(f"labels are a list of {len(page)} times 1, 0 or null")


def _description(saved: PageLabels, misfit: Misfit) -> dict[str, str | int]:
    """Describe labels that are a misfit of their page."""
    labeled = sum(label is not None for label in saved.labels)
    return {
        "why": misfit,
        "labeled": labeled,
        "blocks": len(saved.labels),
        "labeled_at": saved.labeled_at.isoformat(),
    }


def _revision(saved: PageLabels | None) -> str:
    """Return a hash of saved labels, the same in each session."""
    if saved is None:
        return ""
    content = json.dumps([saved.html_hash, saved.blocks_hash, saved.labels])
    return blake2b(content.encode(), digest_size=8).hexdigest()


def _rounded(probabilities: Probabilities | None) -> list[float] | None:
    if probabilities is None:
        return None
    return [round(probability, _DIGITS) for probability in probabilities.tolist()]
