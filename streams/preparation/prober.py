"""What a message is, and what a worker would make of it.

Like the steps of a worker, it runs in the processes of `streams.preparation.pool`: a message may be hostile.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, Tombstone
from dehusk.schemas.pages import Message, RawPage
from dehusk.streams.preparation.preparation import Outcome, PackedPage, Postponed, decode, prepare_decoded
from dehusk.streams.sources.auto import possible_formats
from dehusk.streams.sources.confluent import is_framed
from dehusk.streams.sources.registry import FORMATS, SourceSettings, open_registry, open_source
from dehusk.streams.sources.schema_registry import SchemaRegistry
from dehusk.streams.sources.source import Decoded, Source


class Verdict(StrEnum):
    """What a message, or one page of it, would become."""

    PAGE = "page"
    SKIPPED = "skipped"
    DEAD_LETTER = "dead letter"
    TOMBSTONE = "tombstone"
    WAITS = "waits"


@dataclass(frozen=True, slots=True)
class Finding:
    """What would become of one page of a message."""

    verdict: Verdict
    why: str | None = None
    """The reason and the detail, where it would not be cleaned."""
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
    """The task of telling what a message is; a `Recognised` answers it."""

    message: Message


@dataclass(frozen=True, slots=True)
class Prepared:
    """What would become of a message."""

    findings: tuple[Finding, ...]
    is_of_another_format: bool = False
    """Whether it is not of the format that was declared."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a message is."""

    formats: tuple[str, ...] = ()
    """The crawler formats that it may be of."""
    framed: bool = False


def open_prober(
    source: str, settings: SourceSettings, max_blocks: int
) -> Callable[[Preparation | Recognition], Prepared | Recognised]:
    """What a process does with messages."""
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
        return Prepared((Finding(Verdict.WAITS, pages.detail),))
    found = (finding(prepare_decoded(page, max_blocks, metadata=MetadataLevel.NONE), page) for page in pages)
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
    """What is told of an outcome, and of the page that it came from."""
    match outcome:
        case PackedPage(identity, encoded):
            encoding = page.encoding if isinstance(page, RawPage) else None
            return Finding(Verdict.PAGE, None, identity.url, encoding, identity.raw_length, len(encoded))
        case Tombstone():
            return Finding(Verdict.TOMBSTONE)
        case Skipped(reason, detail, url):
            return Finding(Verdict.SKIPPED, f"{reason}: {detail}", url)
        case Broken(reason, detail, url):
            return Finding(Verdict.DEAD_LETTER, f"{reason}: {detail}", url)
