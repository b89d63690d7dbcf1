"""The steps of a message that are pure computing: decode it, segment and encode its pages.

It runs in the processes of `dehusk.streams.preparation.pool`; of a page's HTML nothing is sent back.
"""

import pickle
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from dehusk.inference.cleaning import PreparedPage
from dehusk.inference.cleaning import prepare as prepare_page
from dehusk.inference.sites import NameSite, site_of
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import EncodedPage, Encoding, Message, PageIdentity, RawPage
from dehusk.schemas.pickled import PickledByFields
from dehusk.streams.preparation.process import NO_MEMORY
from dehusk.streams.sources.source import Decoded, Source


@dataclass(frozen=True, slots=True)
class Postponed:
    """A message that cannot be read yet: the schema registry, which it needs, is unavailable."""

    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class PackedPage(PickledByFields):
    """A prepared page as it travels between processes: what is read of it on the way, and all else packed."""

    identity: PageIdentity
    encoded: EncodedPage
    packed: bytes
    """The pickled `PreparedPage`, without the tensors that labelers alone read."""


Outcome = PackedPage | Skipped | Broken | Tombstone
Outcomes = tuple[Outcome, ...] | Postponed


def pack(page: PreparedPage) -> PackedPage:
    """The page, ready to leave its process."""
    encoded = page.encoded
    kept = replace(
        page,
        encoded=replace(
            encoded,
            structure=None,
            ids=encoded.ids[:0],
            structures=encoded.structures[:0],
            boilerpipe=None,
            declutter=None,
            web2text=None,
        ),
    )
    return PackedPage(page.identity, page.encoded, pickle.dumps(kept, pickle.HIGHEST_PROTOCOL))


def prepare(
    source: Source,
    message: Message,
    max_blocks: int,
    name_site: NameSite = site_of,
    metadata: MetadataLevel = MetadataLevel.FAST,
    *,
    with_markup: bool = False,
    encodings: Collection[Encoding] = (),
) -> Outcomes:
    """What each page of the message became; never empty, nothing raised."""
    pages = decode(source, message)
    if isinstance(pages, Postponed):
        return pages
    return tuple(
        prepare_decoded(page, max_blocks, name_site, metadata, with_markup=with_markup, encodings=encodings)
        for page in pages
    )


def decode(source: Source, message: Message) -> Sequence[Decoded] | Postponed:
    """The pages of the message, or what it has instead; never empty, nothing raised."""
    try:
        pages = source.decode(message)
    except UnavailableError as error:
        return Postponed(str(error))
    except Exception as error:  # noqa: BLE001 whatever a message does to a decoder, it ends this message alone
        return (_broken(error),)
    return pages or (Skipped(SkipReason.NOT_A_PAGE, "the message holds no page"),)


def prepare_decoded(
    page: Decoded,
    max_blocks: int,
    name_site: NameSite = site_of,
    metadata: MetadataLevel = MetadataLevel.FAST,
    *,
    with_markup: bool = False,
    encodings: Collection[Encoding] = (),
) -> Outcome:
    """What one page became; nothing raised."""
    if not isinstance(page, RawPage):
        return page
    try:
        prepared = prepare_page(
            page, max_blocks, name_site, metadata, with_markup=with_markup, encodings=encodings
        )
        return prepared if isinstance(prepared, Broken) else pack(prepared)
    except Exception as error:  # noqa: BLE001 whatever a page does to a step, it ends this page alone
        return _broken(error, page.url)


def _broken(error: Exception, url: str | None = None) -> Broken:
    if isinstance(error, MemoryError):
        return Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, NO_MEMORY, url)
    return Broken(BrokenReason.INTERNAL_ERROR, f"{type(error).__name__}: {error}", url)
