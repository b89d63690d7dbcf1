"""Inspection of one page, in a pool of processes, with any of some labelers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import cast

from dehusk.inference.labelers.labeler import LOCAL_LABELERS, Labeler, encodings_read
from dehusk.inference.labelers.repository import models, trusted, versions
from dehusk.schemas.errors import DehuskError, ExtractionError, NotEncodedError
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, Tombstone
from dehusk.schemas.pages import EncodedPage, Encoding, Prediction, RawPage
from dehusk.streams.inspection.original import ShownPage
from dehusk.streams.inspection.steps import Explaining, OpenedPage, Preparing, Showing, open_inspector
from dehusk.streams.inspection.style_sheets import Fetch
from dehusk.streams.labelers import open_labeler
from dehusk.streams.preparation.pool import PreparationPool, open_pool
from dehusk.streams.sources.source import Decoded
from dehusk.streams.worker_settings import WorkerSettings

_READS_MORE = (
    "reads more of a page than its blocks, which takes more memory than the inspector has for this page; "
    "the page itself is read, and other labelers label it"
)
_SHARE = 3
"""Time and memory of a step of an inspection, as a multiple of those of a worker's step."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A labeler that can be chosen."""

    name: str
    """For example `dehusk/7 (onnx)`."""
    settings: WorkerSettings


def list_choices(settings: WorkerSettings) -> list[Choice]:
    """List the labeler of the settings, then every version of every model, then labelers without a model.

    Raises:
        ConfigurationError: the model repository cannot be read.
    """
    repository = settings.model_repository
    own = _pinned(settings)
    listed = [Choice(_name(own), own)]
    for model in models(repository):
        for version in reversed(versions(repository, model)):
            triton = replace(settings.triton, model=model, version=version)
            listed.append(
                Choice(f"{model}/{version} (onnx)", replace(settings, labeler="onnx", triton=triton))
            )
    listed += [Choice(name, replace(settings, labeler=name)) for name in LOCAL_LABELERS]
    named: dict[str, Choice] = {}
    for choice in listed:
        named.setdefault(choice.name, choice)
    return list(named.values())


def _name(settings: WorkerSettings) -> str:
    if settings.labeler in LOCAL_LABELERS:
        return settings.labeler
    model, version = settings.triton.model, settings.triton.version
    return f"{model}{version and '/'}{version} ({settings.labeler})"


def _pinned(settings: WorkerSettings) -> WorkerSettings:
    """Return the settings with the version of a model in this process, by default the trusted one."""
    triton = settings.triton
    if settings.labeler != "onnx" or triton.version:
        return settings
    version = trusted(settings.model_repository, triton.model)
    return replace(settings, triton=replace(triton, version=version))


class Labelers:
    """Labelers that are opened when they are first asked.

    Raises what `open_labeler` and `Labeler.label` raise.
    """

    def __init__(self, offered: Sequence[Choice]) -> None:
        self.offered = offered
        self._open: dict[int, Labeler] = {}

    async def label(self, number: int, page: EncodedPage) -> Prediction | Broken:
        """Label a page with the labeler of this number."""
        if number not in self._open:
            settings = self.offered[number].settings
            self._open[number] = await asyncio.to_thread(open_labeler, settings)
        (answer,) = await self._open[number].label([page])
        return answer

    def encodings(self, number: int) -> frozenset[Encoding]:
        """Return the optional encodings that the labeler of this number reads, once it has refused a page."""
        return encodings_read(self._open[number])

    async def aclose(self) -> None:
        """Close all open labelers."""
        for labeler in self._open.values():
            await labeler.close()


def open_inspector_pool(settings: WorkerSettings) -> AbstractAsyncContextManager[PreparationPool]:
    """Open a process that decodes and prepares pages as a worker with the settings does.

    Its steps make more of a page than those of a worker, so that their limits are larger by `_SHARE`.

    Raises:
        ConfigurationError: the source or the process cannot be opened.
    """
    limits, exclude = settings.page, settings.options.exclude
    shares = replace(limits, seconds=_SHARE * limits.seconds, large_bytes=_SHARE * limits.large_bytes)
    open_one = partial(open_inspector, settings.source, settings.source_settings, limits.max_blocks, exclude)
    return open_pool(open_one, 1, shares)


async def inspect(page: Decoded, pool: PreparationPool, labelers: Labelers) -> Inspection:
    """Inspect a page with the first of the labelers.

    Raises:
        ExtractionError: it is no HTML page or cannot be cleaned; the message has the reason.
        UnavailableError: the labeler does not answer.
        ConfigurationError: the model is not there, or its tensors are not the ones encoded.
    """
    opened, shown = await open_page(page, pool, frozenset())
    assert isinstance(page, RawPage)  # noqa: S101 what else is opened
    inspection = Inspection(page, opened, shown, pool, labelers)
    await inspection.first_view()
    return inspection


async def open_page(
    page: Decoded, pool: PreparationPool, encodings: frozenset[Encoding] = frozenset(Encoding)
) -> tuple[OpenedPage, ShownPage | Broken]:
    """Open a page with optional encodings; return it as it is shown, too, or why it cannot be.

    Raises:
        ExtractionError: it is no HTML page or cannot be cleaned; the message has the reason.
    """
    opened = await _prepared(page, pool, encodings)
    assert isinstance(page, RawPage)  # noqa: S101 what else is opened
    shown = await pool.answer_alone(Showing(page.html, opened.texts, page.url))
    return opened, cast("ShownPage | Broken", shown)


async def _prepared(page: Decoded, pool: PreparationPool, encodings: frozenset[Encoding]) -> OpenedPage:
    opened = await pool.answer_alone(Preparing(page, encodings))
    if isinstance(opened, Tombstone):
        raise DehuskError("tombstone: the crawler says that the page is gone")
    if isinstance(opened, Skipped | Broken):
        raise ExtractionError(opened.reason, opened.detail)
    assert isinstance(opened, OpenedPage)  # noqa: S101 what else answers Preparing
    return opened


@dataclass(slots=True)
class Inspection:
    """A page as it is shown, in JSON; the view by each labeler is made when it is first asked for."""

    _page: RawPage
    _opened: OpenedPage
    _shown: ShownPage | Broken
    _pool: PreparationPool
    _labelers: Labelers
    _views: dict[int, str] = field(default_factory=dict)
    _sheets: str | None = None

    @property
    def page(self) -> str:
        """The page without labels, and the names of the labelers."""
        page = self._shown
        shown = {"refusal": str(page)} if isinstance(page, Broken) else {"original": page.html}
        names = [choice.name for choice in self._labelers.offered]
        sheets = len(self._linked)
        return json.dumps({**json.loads(self._opened.json), **shown, "sheets": sheets, "labelers": names})

    async def style_sheets(self, fetch: Fetch) -> str:
        """Return the style sheets that the page links to, in order; each is a `text`, or an `error`."""
        if self._sheets is None:
            self._sheets = json.dumps([asdict(sheet) for sheet in await fetch(self._linked)])
        return self._sheets

    async def first_view(self) -> str:
        """Return the view by the first labeler.

        Raises:
            ExtractionError: its answer does not fit.
            DehuskError: it does not answer.
        """
        if 0 not in self._views:
            self._views[0] = await self._view(0)
        return self._views[0]

    async def view(self, number: int) -> str:
        """Return the view by a labeler; an `error` if it fails, and then it is asked again next time."""
        if number not in self._views:
            try:
                self._views[number] = await self._view(number)
            except DehuskError as error:
                return json.dumps({"error": str(error)})
        return self._views[number]

    async def all_views(self) -> list[str]:
        """Return the views by all labelers."""
        return [await self.view(number) for number in range(len(self._labelers.offered))]

    def __len__(self) -> int:
        return len(self._labelers.offered)

    @property
    def _linked(self) -> tuple[str, ...]:
        return () if isinstance(self._shown, Broken) else self._shown.sheets

    async def _view(self, number: int) -> str:
        labels = await self._label(number)
        if isinstance(labels, Broken):
            raise ExtractionError(labels.reason, labels.detail)
        options = self._labelers.offered[number].settings.options
        task = Explaining(self._opened.packed.packed, labels, options)
        view = await self._pool.answer_alone(task)
        if isinstance(view, Broken):
            raise ExtractionError(view.reason, view.detail)
        assert isinstance(view, str)  # noqa: S101 what else answers Explaining
        return view

    async def _label(self, number: int) -> Prediction | Broken:
        """Label the page, which has no encodings that nobody has asked for: some take much memory."""
        try:
            return await self._labelers.label(number, self._opened.packed.encoded)
        except NotEncodedError:
            encoded = await self._encoded_for(number)
            return await self._labelers.label(number, encoded)

    async def _encoded_for(self, number: int) -> EncodedPage:
        """Encode the page with what the labeler reads of it beside its blocks."""
        encodings = self._labelers.encodings(number)
        try:
            return (await _prepared(self._page, self._pool, encodings)).packed.encoded
        except ExtractionError as error:
            if error.reason is not BrokenReason.MEMORY_BUDGET_EXCEEDED:
                raise
            detail = f"{self._labelers.offered[number].name} {_READS_MORE}"
            raise ExtractionError(error.reason, detail) from error
