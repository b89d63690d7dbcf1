"""The format of a single message, and the result of preparing it as a worker would.

This runs in the processes of `streams.preparation.pool`, as a worker's steps do: a message may be hostile.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.options import WITHOUT_METADATA
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.preparation.steps import Outcome, PackedPage, Postponed, Preparer, decode
from dehusk.streams.sources.envelopes import is_framed
from dehusk.streams.sources.registry import (
    FORMATS,
    SourceSettings,
    open_registry,
    open_source,
    possible_formats,
)
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.source import Decoded, Source


class ProbeOutcome(StrEnum):
    """Outcome that a message, or one page of it, would have."""

    PAGE = "page"
    SKIPPED = "skipped"
    DEAD_LETTER = "dead letter"
    TOMBSTONE = "tombstone"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Finding:
    """Outcome of one page of a message, with its reason."""

    verdict: ProbeOutcome
    why: str | None = None
    """The reason and the detail, if it would not be cleaned."""
    url: str | None = None
    encoding: str | None = None
    """The WHATWG name of the encoding that the page was decoded from."""
    html_bytes: int | None = None
    blocks: int | None = None
    """Text blocks that segmentation finds."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """The task of preparing a message as a worker would; a `Prepared` answers it."""

    message: Message


@dataclass(frozen=True, slots=True)
class Recognition:
    """The task of recognising the format of a message; a `Recognised` answers it."""

    message: Message


@dataclass(frozen=True, slots=True)
class Prepared:
    """The findings on a message."""

    findings: tuple[Finding, ...]
    is_of_another_format: bool = False
    """True if it is not of the format that was declared."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The format of a message."""

    formats: tuple[str, ...] = ()
    """The crawler formats that it may be of."""
    framed: bool = False


def open_prober(
    source: str, settings: SourceSettings, max_blocks: int
) -> Callable[[Preparation | Recognition], Prepared | Recognised]:
    """Return the function by which a process answers tasks."""
    declared, formats = open_source(source, settings), [open_source(name, settings) for name in FORMATS]
    registry = open_registry(settings)

    def take(task: Preparation | Recognition) -> Prepared | Recognised:
        if isinstance(task, Preparation):
            return _prepared(declared, task.message, max_blocks)
        return _recognised(formats, registry, task.message)

    return take


def _prepared(source: Source, message: Message, max_blocks: int) -> Prepared:
    pages = decode(source, message)
    if isinstance(pages, Postponed):
        return Prepared((Finding(ProbeOutcome.WAITS, pages.detail),))
    preparer = Preparer(max_blocks, WITHOUT_METADATA)
    found = (finding(preparer.prepare(page), page) for page in pages)
    is_of_another = any(
        isinstance(page, Broken) and page.reason is BrokenReason.WRONG_FORMAT for page in pages
    )
    return Prepared(tuple(found), is_of_another)


def _recognised(formats: Sequence[Source], registry: SchemaRegistry | None, message: Message) -> Recognised:
    if message.value is None:
        return Recognised()
    names: tuple[str, ...] = ()
    with suppress(UnavailableError):
        names = tuple(each.name for each in possible_formats(formats, message))
    return Recognised(names, is_framed(message, registry))


def finding(outcome: Outcome, page: Decoded | None = None) -> Finding:
    """Return the finding on an outcome, and on the page that it came from."""
    match outcome:
        case PackedPage(identity, encoded):
            encoding = page.encoding if isinstance(page, RawPage) else None
            return Finding(ProbeOutcome.PAGE, None, identity.url, encoding, identity.raw_length, len(encoded))
        case Tombstone():
            return Finding(ProbeOutcome.TOMBSTONE)
        case Skipped():
            return Finding(ProbeOutcome.SKIPPED, str(outcome), outcome.url)
        case Broken():
            return Finding(ProbeOutcome.DEAD_LETTER, str(outcome), outcome.url)
