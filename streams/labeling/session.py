"""A session of labeling: pages, the labels of each, and what is shown and suggested of them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from dehusk.schemas.errors import DehuskError
from dehusk.schemas.outcomes import Broken, Skipped
from dehusk.schemas.page_labels import Label, Misfit, PageLabels, blocks_hash
from dehusk.streams.counted import counted
from dehusk.streams.inspection.steps import OpenedPage, Preparing, Showing
from dehusk.streams.labeling.labels_file import LabelsFile
from dehusk.streams.labeling.shelf import Shelf
from dehusk.streams.labeling.suggestions import Probabilities, Suggester
from dehusk.streams.preparation.pool import PreparationPool

_MOST_OPEN = 6
"""A huge page takes some 100 MB."""
_DIGITS = 4


class State(StrEnum):
    """How far a page is labeled."""

    TODO = "todo"
    HALF = "half"
    LABELED = "labeled"
    MISFIT = "misfit"
    """The file has labels of the page as it was, or of its blocks as they were."""
    REFUSED = "refused"
    """It cannot be labeled."""


_LEFT = {State.HALF: "half-labeled", State.MISFIT: "with labels that do not fit", State.REFUSED: "cannot be"}


class RefusedPageError(DehuskError):
    """A page that cannot be labeled; the message has the reason."""


class StaleLabelsError(DehuskError):
    """Labels are based on others than those that are saved; nothing was written."""


@dataclass(frozen=True, slots=True, eq=False)
class _Opened:
    """A page that can be labeled."""

    page: OpenedPage
    blocks_hash: str
    original: str | None
    """Its HTML, made harmless; None where it cannot be shown."""
    refusal: str | None
    """Why it cannot be shown."""
    begun: Probabilities | None
    """What is suggested of it before anything is labeled; None where nothing is."""
    trouble: str | None
    """Why nothing is suggested."""

    def __len__(self) -> int:
        return len(self.page.texts)


class Session:
    """Pages that are labeled by one person at a time, however many windows show them."""

    def __init__(self, shelf: Shelf, file: LabelsFile, pool: PreparationPool, suggester: Suggester) -> None:
        self._shelf = shelf
        self._file = file
        self._pool = pool
        self._suggester = suggester
        self._open: OrderedDict[int, asyncio.Task[_Opened]] = OrderedDict()
        self._refusals = {
            number: entry.refusal for number, entry in enumerate(shelf.entries) if entry.refusal
        }
        self._other_blocks: set[int] = set()
        self._saving = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._shelf.entries)

    @property
    def overview(self) -> dict[str, Any]:
        """All pages with how far each is labeled, and where their labels are saved."""
        names = {entry.id for entry in self._shelf.entries}
        pages = [
            {"id": entry.id, "url": entry.url, "title": entry.title, "state": self._state(number)}
            for number, entry in enumerate(self._shelf.entries)
        ]
        aside = self._file.set_aside
        return {
            "pages": pages,
            "file": str(self._file.path),
            "others": len(self._file.labels.keys() - names),
            "set_aside": None if aside is None else str(aside),
        }

    @property
    def progress(self) -> str:
        """How many pages are labeled, half-labeled, and cannot be, as far as that is known."""
        states = Counter(map(self._state, range(len(self))))
        said = [f"{states[State.LABELED]:,} of {counted(len(self), 'page')} labeled"]
        said += [f"{states[each]:,} {what}" for each, what in _LEFT.items() if states[each]]
        return ", ".join(said)

    async def page(self, number: int) -> str:
        """All that is shown of a page, as JSON; a `refusal` where it cannot be labeled."""
        entry = self._shelf.entries[number]
        try:
            opened = await self._opened(number)
        except RefusedPageError as error:
            self._refusals[number] = str(error)
            return json.dumps(
                {"id": entry.id, "url": entry.url, "state": State.REFUSED, "refusal": str(error)}
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
                "misfit": _described(saved, misfit) if saved and misfit else None,
                "suggestions": _rounded(opened.begun),
                "trouble": opened.trouble,
                "state": self._state(number),
            }
        )

    async def suggest(self, number: int, labels: Sequence[Label]) -> list[float] | None:
        """How likely each block is content, given some labels; None where nothing is suggested.

        Raises what `save` raises of labels that do not fit the page.
        """
        opened = await self._opened(number)
        _require_labels(labels, len(opened))
        encoded = opened.page.packed.encoded
        return _rounded(await self._suggester.go_on(encoded, opened.begun, labels))

    async def save(
        self, number: int, labels: Sequence[Label], revision: str, *, replaces: bool
    ) -> dict[str, str]:
        """Save the labels of a page, based on those of a revision; the new revision, time and state.

        With `replaces`, labels of the page as it was, or of other blocks, give way to these.

        Raises:
            ValueError: they are no labels of its blocks.
            RefusedPageError: the page cannot be labeled.
            StaleLabelsError: others were saved meanwhile, or would give way unasked.
            ConflictError, ConfigurationError: what `LabelsFile.save` raises.
        """
        opened = await self._opened(number)
        _require_labels(labels, len(opened))
        entry = self._shelf.entries[number]
        new = PageLabels(
            id=entry.id,
            url=entry.url,
            html_hash=entry.html_hash,
            blocks_hash=opened.blocks_hash,
            labels=tuple(labels),
            labeled_at=datetime.now(UTC).replace(microsecond=0),
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

    def _require_current(self, number: int, opened: _Opened, revision: str, *, replaces: bool) -> None:
        saved = self._file.labels.get(self._shelf.entries[number].id)
        if revision != _revision(saved):
            raise StaleLabelsError("other labels of this page were saved meanwhile, in another window")
        if self._misfit(number, opened) and not replaces:
            raise StaleLabelsError(
                "the file has labels of this page as it was; they are not overwritten unasked"
            )

    def _state(self, number: int) -> State:
        entry = self._shelf.entries[number]
        if number in self._refusals:
            return State.REFUSED
        saved = self._file.labels.get(entry.id)
        if saved is None:
            return State.TODO
        if saved.html_hash != entry.html_hash or number in self._other_blocks:
            return State.MISFIT
        return State.LABELED if saved.is_complete else State.HALF

    def _misfit(self, number: int, opened: _Opened) -> Misfit | None:
        """Why the saved labels are none of this page; None where they are, or where there are none."""
        entry = self._shelf.entries[number]
        saved = self._file.labels.get(entry.id)
        misfit = saved.misfit_with(entry.html_hash, opened.page.texts) if saved else None
        if misfit is Misfit.OTHER_BLOCKS:
            self._other_blocks.add(number)
        return None if misfit is Misfit.HALF_LABELED else misfit

    async def _opened(self, number: int) -> _Opened:
        """A page, opened; the last few stay open.

        Raises:
            RefusedPageError: it cannot be labeled; the message has the reason.
        """
        if number not in self._open:
            self._open[number] = asyncio.create_task(self._opening(number))
        self._open.move_to_end(number)
        opening = self._open[number]
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return await asyncio.shield(opening)

    async def _opening(self, number: int) -> _Opened:
        page = self._shelf.page(number)
        if page is None:
            raise RefusedPageError(self._refusals[number])
        opened = await self._pool.answer_alone(Preparing(page))
        if isinstance(opened, Skipped | Broken):
            raise RefusedPageError(f"{opened.reason}: {opened.detail}")
        assert isinstance(opened, OpenedPage)  # noqa: S101 what else answers Preparing
        original = await self._pool.answer_alone(Showing(page.html, opened.texts))
        begun, trouble = await self._begun(opened)
        shown = original if isinstance(original, str) else None
        refusal = f"{original.reason}: {original.detail}" if isinstance(original, Broken) else None
        return _Opened(opened, blocks_hash(opened.texts), shown, refusal, begun, trouble)

    async def _begun(self, opened: OpenedPage) -> tuple[Probabilities | None, str | None]:
        try:
            return await self._suggester.begin(opened.packed.encoded), None
        except DehuskError as error:
            return None, str(error)


def _require_labels(labels: Sequence[object], blocks: int) -> None:
    """See whether labels are those of so many blocks.

    Raises:
        ValueError: they are not.
    """
    if len(labels) != blocks or any(type(each) is not int and each is not None for each in labels):
        raise ValueError(f"labels are a list of {blocks} times 1, 0 or null")
    if not {0, 1, None}.issuperset(labels):
        raise ValueError("a label is 1, 0 or null")


def _described(saved: PageLabels, misfit: Misfit) -> dict[str, str | int]:
    """What is told of labels that are none of a page as it is."""
    given = sum(label is not None for label in saved.labels)
    return {
        "why": misfit,
        "labeled": given,
        "blocks": len(saved.labels),
        "labeled_at": saved.labeled_at.isoformat(),
    }


def _revision(saved: PageLabels | None) -> str:
    """What tells saved labels from others, also those of an earlier session."""
    if saved is None:
        return ""
    said = json.dumps([saved.html_hash, saved.blocks_hash, saved.labels])
    return blake2b(said.encode(), digest_size=8).hexdigest()


def _rounded(probabilities: Probabilities | None) -> list[float] | None:
    return None if probabilities is None else [round(each, _DIGITS) for each in probabilities.tolist()]
