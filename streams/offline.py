"""The pipeline without Kafka: pages in, a line of JSON for each, in the same order."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import orjson

from inference.labeler import Labeler
from schemas.documents import CleanedDocument, Comments
from schemas.outcomes import Broken, Skipped, SkipReason
from schemas.pages import Message, Prediction, RawPage
from streams.preparation.extraction import LabeledPage, Writing, WrittenDocument
from streams.preparation.pool import PreparationPool
from streams.preparation.preparation import Outcomes, PackedPage
from streams.read_ahead import ReadAhead
from streams.sources.source import Decoded, Record

BATCH_PAGES = 8
"""Pages that are prepared and labeled together, and that are read ahead."""
Input = RawPage | Skipped | Broken
Fate = WrittenDocument | Broken
Extract = Callable[[Sequence[LabeledPage]], Awaitable[list[Fate]]]


class DecodedPages:
    """The source of pages that are decoded already: what a page is sent to a process as."""

    name = "decoded"

    def recognises(self, message: Message) -> bool:  # noqa: ARG002 nothing else is sent
        """Every message."""
        return True

    def decode(self, message: Message) -> Sequence[Decoded]:
        """The page; what its line does not tell is left out."""
        url, id_ = ((message.header(name) or b"").decode("utf-8", "surrogatepass") for name in ("url", "id"))
        return (RawPage(url, message.value or b"", id_),)

    def encode(self, page: RawPage) -> Record:
        """The page's URL, identifier and HTML."""
        headers = {"url": page.url, "id": page.id or page.url}
        encoded = ((name, text.encode("utf-8", "surrogatepass")) for name, text in headers.items())
        return Record(None, page.html, tuple(encoded))


_SOURCE = DecodedPages()


def writing(
    max_bytes: int, *, with_blocks: bool, drop_hidden: bool = False, comments: Comments = Comments.SEPARATE
) -> Writing:
    """How the pool of `clean_lines` makes documents: a line of JSON for each."""
    return Writing(_write_line, with_blocks, drop_hidden, comments, 2 * max_bytes)


async def clean_lines(
    pages: Iterator[Input], pool: PreparationPool, labelers: Sequence[Labeler], *, with_blocks: bool
) -> AsyncGenerator[bytes, None]:
    """A line for each page, as soon as it and those before it are cleaned; nothing for what never was a page.

    The pool was opened with `writing`.

    Raises:
        UnavailableError: a labeler does not answer.
        ConfigurationError: there is no such file, or a model does not fit.
    """
    begun: asyncio.Queue[asyncio.Task[list[bytes]] | None] = asyncio.Queue()
    free, one_alone = asyncio.Semaphore(len(labelers) + 1), asyncio.Lock()

    async def begin() -> None:
        ahead, next_labeler = ReadAhead(pages, BATCH_PAGES), cycle(labelers)
        while batch := await ahead.take():
            await free.acquire()
            cleaner = _Cleaner(pool, next(next_labeler), one_alone)
            begun.put_nowait(asyncio.create_task(_lines(batch, cleaner, with_blocks=with_blocks)))

    beginning = asyncio.create_task(begin())
    beginning.add_done_callback(lambda _: begun.put_nowait(None))
    try:
        while (batch := await begun.get()) is not None:
            for line in await batch:
                yield line
            free.release()
        await beginning
    finally:
        left: list[asyncio.Task[Any]] = [beginning]
        while not begun.empty():
            left += [batch] if (batch := begun.get_nowait()) else []
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _Cleaner:
    """Takes pages through all steps; one that needs the large share of memory goes alone."""

    _pool: PreparationPool
    _labeler: Labeler
    _one_alone: asyncio.Lock

    async def clean(self, pages: Sequence[RawPage]) -> list[Fate]:
        """What became of each page, in order."""
        fates: list[Fate] = []
        while remaining := pages[len(fates) :]:
            fates += await self._clean_together(remaining) or [await self._clean_alone(remaining[0])]
        return fates

    async def _clean_together(self, pages: Sequence[RawPage]) -> list[Fate]:
        """What became of the first pages, up to one that has to go alone."""
        outcomes = await self._pool.prepare([_message(page) for page in pages])
        return await self._finish(outcomes, self._pool.extract)

    async def _clean_alone(self, page: RawPage) -> Fate:
        async def extract(pages: Sequence[LabeledPage]) -> list[Fate]:
            return [await self._pool.extract_alone(page) for page in pages]

        async with self._one_alone:
            outcomes = await self._pool.prepare_alone(_message(page))
            (fate,) = await self._finish([outcomes], extract)
            return fate

    async def _finish(self, outcomes: Sequence[Outcomes], extract: Extract) -> list[Fate]:
        """What became of pages, as far as there are documents for those that were labeled."""
        prepared = [_only(each) for each in outcomes]
        encoded = [page.encoded for page in prepared if isinstance(page, PackedPage)]
        answers = iter(await self._labeler.label(encoded) if encoded else ())
        labeled = [page if isinstance(page, Broken) else _labeled(page, next(answers)) for page in prepared]
        documents = iter(await extract([page for page in labeled if isinstance(page, LabeledPage)]))
        fates: list[Fate] = []
        for page in labeled:
            fate = page if isinstance(page, Broken) else next(documents, None)
            if fate is None:
                break
            fates.append(fate)
        return fates


async def _lines(batch: Sequence[Input], cleaner: _Cleaner, *, with_blocks: bool) -> list[bytes]:
    fates = iter(await cleaner.clean([page for page in batch if isinstance(page, RawPage)]))
    lines: list[bytes] = []
    for page in batch:
        fate = next(fates) if isinstance(page, RawPage) else page
        if isinstance(fate, WrittenDocument):
            lines.append(fate.value)
        elif not (isinstance(fate, Skipped) and fate.reason is SkipReason.NOT_A_PAGE):
            lines.append(_failure_line(page, fate, with_blocks=with_blocks))
    return lines


def _message(page: RawPage) -> Message:
    record = _SOURCE.encode(page)
    return Message(record.key, record.value, record.headers)


def _only(outcomes: Outcomes) -> PackedPage | Broken:
    """The one outcome that a message of `DecodedPages` has."""
    match outcomes:
        case (PackedPage() | Broken() as outcome,):
            return outcome
    raise TypeError(f"a page became {outcomes}")


def _labeled(page: PackedPage, answer: Prediction | Broken) -> LabeledPage | Broken:
    return answer if isinstance(answer, Broken) else LabeledPage(page.packed, answer)


def _write_line(document: CleanedDocument) -> bytes:
    fields: dict[str, Any] = {
        "id": document.id or document.url,
        "url": document.url,
        "site": document.site,
        "title": document.title,
        "language": document.language,
        "text": document.text,
        "comments": document.comments,
        "model": document.model,
        "labeler": document.labeler,
    }
    if document.blocks is not None:
        fields["blocks"] = [
            {name: getattr(block, name) for name in ("text", "path", "probability", "content", "comment")}
            for block in document.blocks
        ]
    return _line({**fields, "error": None})


def _failure_line(page: Input, outcome: Skipped | Broken, *, with_blocks: bool) -> bytes:
    fields: dict[str, Any] = {
        "id": page.id or page.url,
        "url": page.url,
        "site": None,
        "title": "",
        "language": None,
        "text": "",
        "comments": None,
        "model": None,
        "labeler": None,
    }
    if with_blocks:
        fields["blocks"] = []
    return _line({**fields, "error": f"{outcome.reason}: {outcome.detail}"})


def _line(fields: dict[str, Any]) -> bytes:
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
