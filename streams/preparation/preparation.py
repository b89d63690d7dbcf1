"""The steps of a message that are pure computing: decode it, segment and encode its pages.

It runs in the processes of `streams.preparation.pool`; of a page's HTML nothing is sent back.
"""

from collections.abc import Callable
from dataclasses import dataclass

from inference.cleaning import PreparedPage
from inference.cleaning import prepare as prepare_page
from schemas.errors import UnavailableError
from schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from schemas.pages import Message, RawPage
from streams.sources.source import Decoded, Source


@dataclass(frozen=True, slots=True)
class Postponed:
    """A message that cannot be read yet: the schema registry, which it needs, is unavailable."""

    detail: str


Outcome = PreparedPage | Skipped | Broken | Tombstone
Outcomes = tuple[Outcome, ...] | Postponed
Prepare = Callable[[Message], Outcomes]


def html_bytes(outcomes: Outcomes) -> int:
    """Bytes of the pages' HTML, decompressed; prepared pages take memory in proportion."""
    if isinstance(outcomes, Postponed):
        return 0
    return sum(page.identity.raw_length for page in outcomes if isinstance(page, PreparedPage))


def preparer(open_source: Callable[[], Source]) -> Prepare:
    """The preparation of the messages of a source, which is opened now."""
    source = open_source()
    return lambda message: prepare(source, message)


def prepare(source: Source, message: Message) -> Outcomes:
    """What each page of the message became; never empty, nothing raised."""
    try:
        pages = source.decode(message)
    except UnavailableError as error:
        return Postponed(str(error))
    except Exception as error:  # noqa: BLE001 whatever a message does to a decoder, it ends this message alone
        return (_broken(error),)
    nothing = Skipped(SkipReason.NOT_A_PAGE, "the message holds no page")
    return tuple(_prepare_page(page) for page in pages) or (nothing,)


def _prepare_page(page: Decoded) -> Outcome:
    if not isinstance(page, RawPage):
        return page
    try:
        return prepare_page(page)
    except Exception as error:  # noqa: BLE001 whatever a page does to a step, it ends this page alone
        return _broken(error, page.url)


def _broken(error: Exception, url: str | None = None) -> Broken:
    if isinstance(error, MemoryError):
        return Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, "the page needs more memory than it may have", url)
    return Broken(BrokenReason.INTERNAL_ERROR, f"{type(error).__name__}: {error}", url)
