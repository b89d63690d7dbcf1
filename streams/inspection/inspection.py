"""An inspection: one page in a pool of processes, looked at with any of some labelers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from dehusk.schemas.errors import DehuskError, ExtractionError
from dehusk.schemas.outcomes import Broken, Skipped, Tombstone
from dehusk.schemas.pages import RawPage
from dehusk.streams.inspection.labelers import Choice, Labelers
from dehusk.streams.inspection.steps import Explaining, OpenedPage, Preparing, Showing, open_inspector
from dehusk.streams.preparation.isolation import open_pool_of
from dehusk.streams.preparation.pool import PreparationPool
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.registry import SourceSettings
from dehusk.streams.sources.source import Decoded


@asynccontextmanager
async def open_inspector_pool(
    source: str, settings: SourceSettings, limits: PageLimits
) -> AsyncIterator[PreparationPool]:
    """A process that takes pages apart, within limits.

    Raises:
        ConfigurationError: the source or the process cannot be opened.
    """
    async with open_pool_of(partial(open_inspector, source, settings, limits.max_blocks), 1, limits) as pool:
        yield pool


@asynccontextmanager
async def inspect(
    page: Decoded, pool: PreparationPool, offered: Sequence[Choice]
) -> AsyncIterator[Inspection]:
    """An inspection of a page, labeled by the first of the labelers.

    Raises:
        ExtractionError: it is no HTML page or cannot be cleaned; the message has the reason.
        UnavailableError: the labeler does not answer.
        ConfigurationError: the model is not there, or its tensors are not the ones encoded.
    """
    labelers = Labelers(offered)
    try:
        yield await begin(page, pool, offered, labelers)
    finally:
        await labelers.close()


async def begin(
    page: Decoded, pool: PreparationPool, offered: Sequence[Choice], labelers: Labelers
) -> Inspection:
    """An inspection of a page by labelers that are opened already; raises what `inspect` does."""
    opened = await pool.answer_alone(Preparing(page))
    if isinstance(opened, Tombstone):
        raise DehuskError("tombstone: the crawler says that the page is gone")
    if isinstance(opened, Skipped | Broken):
        raise ExtractionError(opened.reason, opened.detail)
    assert isinstance(opened, OpenedPage)  # noqa: S101 what else answers Preparing
    assert isinstance(page, RawPage)  # noqa: S101 what else is opened
    original = await pool.answer_alone(Showing(page.html, opened.texts))
    inspection = Inspection(opened, original, pool, offered, labelers)
    await inspection.first_view()
    return inspection


@dataclass(slots=True)
class Inspection:
    """What is shown of a page, as JSON; views by labelers are made when they are asked for, and kept."""

    _opened: OpenedPage
    _original: object
    _pool: PreparationPool
    _offered: Sequence[Choice]
    _labelers: Labelers
    _views: dict[int, str] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """The page whatever its labels, and the names of the labelers."""
        original = self._original
        shown = {"original": original} if isinstance(original, str) else {"refusal": _refusal(original)}
        names = [choice.name for choice in self._offered]
        return json.dumps({**json.loads(self._opened.json), **shown, "labelers": names})

    async def first_view(self) -> str:
        """What the first labeler says of the page.

        Raises:
            ExtractionError: it says nothing that fits.
            DehuskError: it does not answer.
        """
        if 0 not in self._views:
            self._views[0] = await self._view(0)
        return self._views[0]

    async def view(self, number: int) -> str:
        """What a labeler says of the page; an `error` if it fails, and then it is asked again next time."""
        if number not in self._views:
            try:
                self._views[number] = await self._view(number)
            except DehuskError as error:
                return json.dumps({"error": str(error)})
        return self._views[number]

    async def all_views(self) -> list[str]:
        """What each labeler says of the page."""
        return [await self.view(number) for number in range(len(self._offered))]

    def __len__(self) -> int:
        return len(self._offered)

    async def _view(self, number: int) -> str:
        labels = await self._labelers.label(number, self._opened.packed.encoded)
        if isinstance(labels, Broken):
            raise ExtractionError(labels.reason, labels.detail)
        settings = self._offered[number].settings
        task = Explaining(self._opened.packed.packed, labels, settings.comments, settings.drop_hidden)
        view = await self._pool.answer_alone(task)
        if isinstance(view, Broken):
            raise ExtractionError(view.reason, view.detail)
        assert isinstance(view, str)  # noqa: S101 what else answers Explaining
        return view


def _refusal(original: object) -> str:
    return f"{original.reason}: {original.detail}" if isinstance(original, Broken) else "nothing to show"
