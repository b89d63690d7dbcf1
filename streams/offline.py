"""The pipeline without Kafka: pages in, a line of JSON for each, in the same order."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import cycle
from typing import Any

import orjson

from inference.cleaning import PreparedPage
from inference.extraction import extract
from inference.labeler import Labeler
from schemas.documents import CleanedDocument
from schemas.outcomes import Broken, Skipped, SkipReason
from schemas.pages import Message, Prediction, RawPage
from streams.preparation.pool import PreparationPool
from streams.preparation.preparation import Outcomes
from streams.read_ahead import ReadAhead
from streams.sources.source import Decoded, Record

BATCH_PAGES = 8
"""Pages that are prepared and labeled together, and that are read ahead."""
Input = RawPage | Skipped | Broken


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


async def clean_lines(
    pages: Iterator[Input],
    pool: PreparationPool,
    labelers: Sequence[Labeler],
    *,
    with_blocks: bool,
    drop_hidden: bool = False,
) -> AsyncGenerator[bytes, None]:
    """A line for each page, as soon as it and those before it are cleaned; nothing for what never was a page.

    Raises:
        UnavailableError: a labeler does not answer.
        ConfigurationError: there is no such file, or a model does not fit.
    """
    begun: asyncio.Queue[asyncio.Task[list[bytes]] | None] = asyncio.Queue()
    free = asyncio.Semaphore(len(labelers) + 1)

    async def begin() -> None:
        ahead, next_labeler = ReadAhead(pages, BATCH_PAGES), cycle(labelers)
        while batch := await ahead.take():
            await free.acquire()
            cleaning = _clean_batch(
                batch, pool, next(next_labeler), with_blocks=with_blocks, drop_hidden=drop_hidden
            )
            begun.put_nowait(asyncio.create_task(cleaning))

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


async def _clean_batch(
    batch: Sequence[Input], pool: PreparationPool, labeler: Labeler, *, with_blocks: bool, drop_hidden: bool
) -> list[bytes]:
    prepared = await _prepare(batch, pool)
    encoded = [page.encoded for page in prepared if isinstance(page, PreparedPage)]
    labels = iter(await labeler.label(encoded) if encoded else ())
    lines: list[bytes] = []
    for page, outcome in zip(batch, prepared, strict=True):
        if isinstance(outcome, PreparedPage):
            labeled = _labeled(outcome, next(labels), with_blocks=with_blocks, drop_hidden=drop_hidden)
            lines.append(_line(page, labeled, with_blocks=with_blocks))
        elif not (isinstance(outcome, Skipped) and outcome.reason is SkipReason.NOT_A_PAGE):
            lines.append(_line(page, outcome, with_blocks=with_blocks))
    return lines


async def _prepare(batch: Sequence[Input], pool: PreparationPool) -> list[PreparedPage | Skipped | Broken]:
    """The pages segmented and encoded, each in its place; what is no page stays what it is."""
    records = [_SOURCE.encode(page) for page in batch if isinstance(page, RawPage)]
    messages = [Message(record.key, record.value, record.headers) for record in records]
    outcomes = iter(await pool.prepare(messages))
    return [_only(next(outcomes)) if isinstance(page, RawPage) else page for page in batch]


def _only(outcomes: Outcomes) -> PreparedPage | Broken:
    """The one outcome that a message of `DecodedPages` has."""
    match outcomes:
        case (PreparedPage() | Broken() as outcome,):
            return outcome
    raise TypeError(f"a page became {outcomes}")


def _labeled(
    page: PreparedPage, labels: Prediction | Broken, *, with_blocks: bool, drop_hidden: bool
) -> CleanedDocument | Broken:
    if isinstance(labels, Broken):
        return labels
    return extract(page, labels, None, with_blocks=with_blocks, drop_hidden=drop_hidden)


def _line(page: Input, outcome: CleanedDocument | Skipped | Broken, *, with_blocks: bool) -> bytes:
    document = outcome if isinstance(outcome, CleanedDocument) else None
    fields: dict[str, Any] = {
        "id": page.id or page.url,
        "url": page.url,
        "site": document.site if document else None,
        "title": document.title if document else "",
        "language": document.language if document else None,
        "text": document.text if document else "",
        "model": document.model if document else None,
        "labeler": document.labeler if document else None,
    }
    if with_blocks:
        blocks = document.blocks or () if document else ()
        fields["blocks"] = [
            {"text": b.text, "path": b.path, "probability": b.probability, "content": b.content}
            for b in blocks
        ]
    fields["error"] = None if isinstance(outcome, CleanedDocument) else f"{outcome.reason}: {outcome.detail}"
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
