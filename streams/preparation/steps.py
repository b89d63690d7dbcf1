"""Computing steps: decode, segment and encode before labeling; extract and write after it.

They run in the processes of `dehusk.streams.preparation.pool`, as their time and memory grow with the page.
The HTML of a page is not sent back.
"""

import pickle
import resource
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from dehusk.inference.extraction import document_of
from dehusk.inference.preparing import prepare as prepare_page
from dehusk.inference.selection.selection import choose
from dehusk.inference.selection.site_signal import sample
from dehusk.inference.sites import NameSite, site_of
from dehusk.schemas.documents import CleanedDocument, Origin, TextSample
from dehusk.schemas.errors import UnavailableError
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.schemas.outcomes import Broken, BrokenReason, Skipped, SkipReason, Tombstone
from dehusk.schemas.pages import (
    EncodedPage,
    Encoding,
    Message,
    ModelVersion,
    PageIdentity,
    Prediction,
    PreparedPage,
    RawPage,
)
from dehusk.schemas.pickled import PickledWithBytes
from dehusk.schemas.sites import BlockFrequencies
from dehusk.streams.preparation.process import NO_MEMORY
from dehusk.streams.settings import PageLimits
from dehusk.streams.sources.source import Decoded, MissingSchemaError, Record, Source
from dehusk.streams.topics.formats import Format


@dataclass(frozen=True, slots=True)
class Postponed:
    """A message that cannot be decoded yet, as the schema registry is unavailable."""

    detail: str
    schema: str | None = None
    """The schema that it waits for, where that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class PackedPage(PickledWithBytes):
    """Prepared page as it is sent between processes: the fields that are read, and the rest pickled."""

    identity: PageIdentity
    encoded: EncodedPage
    packed: bytes
    """Pickled `PreparedPage`, without the tensors that labelers alone read."""


Outcome = PackedPage | Skipped | Broken | Tombstone
Outcomes = tuple[Outcome, ...] | Postponed


def pack(page: PreparedPage) -> PackedPage:
    """Pack a page for another process."""
    encoded = page.encoded
    keys = encoded.site_keys
    kept = replace(
        page,
        encoded=replace(
            encoded,
            structure=None,
            site_keys=None if keys is None else replace(keys, structures=keys.structures[:0]),
            tokens=None,
            boilerpipe=None,
            declutter=None,
            web2text=None,
        ),
    )
    return PackedPage(page.identity, page.encoded, pickle.dumps(kept, pickle.HIGHEST_PROTOCOL))


def decode(source: Source, message: Message) -> Sequence[Decoded] | Postponed:
    """Decode the pages of a message; the result is never empty, and nothing is raised."""
    try:
        pages = tuple(source.decode(message))
    except MissingSchemaError as error:
        return Postponed(str(error), error.reference)
    except UnavailableError as error:
        return Postponed(str(error))
    except Exception as error:  # noqa: BLE001 an error in a decoder breaks only this message
        return (_broken(error),)
    return pages or (Skipped(SkipReason.NOT_A_PAGE, "the message holds no page"),)


@dataclass(frozen=True, slots=True)
class Preparer:
    """Preparer of pages for labelers."""

    max_blocks: int
    options: DocumentOptions = DEFAULT_OPTIONS
    name_site: NameSite = site_of

    def prepare_message(
        self, source: Source, message: Message, encodings: Collection[Encoding] = ()
    ) -> Outcomes:
        """Prepare each page of a message; the outcomes are never empty, and nothing is raised."""
        pages = decode(source, message)
        if isinstance(pages, Postponed):
            return pages
        return tuple(self.prepare(page, encodings) for page in pages)

    def prepare(self, page: Decoded, encodings: Collection[Encoding] = ()) -> Outcome:
        """Prepare one page; nothing is raised."""
        if not isinstance(page, RawPage):
            return page
        try:
            prepared = prepare_page(page, self.max_blocks, self.options, self.name_site, encodings=encodings)
            return prepared if isinstance(prepared, Broken) else pack(prepared)
        except Exception as error:  # noqa: BLE001 an error in a step breaks only this page
            return _broken(error, page.url)


def _broken(error: Exception, url: str | None = None) -> Broken:
    if isinstance(error, MemoryError):
        return Broken(BrokenReason.MEMORY_BUDGET_EXCEEDED, NO_MEMORY, url)
    return Broken(BrokenReason.INTERNAL_ERROR, f"{type(error).__name__}: {error}", url)


Write = Callable[[CleanedDocument], bytes]


@dataclass(frozen=True, slots=True, eq=False)
class LabeledPage(PickledWithBytes):
    """A packed page with its labels and site frequencies."""

    packed: bytes
    """`PackedPage.packed`."""
    labels: Prediction
    frequencies: BlockFrequencies | None = None
    degraded: tuple[str, ...] = ()
    """Names of the dependencies that the document lacks."""
    origin: Origin | None = None
    revision: int = 1


@dataclass(frozen=True, slots=True)
class WrittenDocument(PickledWithBytes, Record):
    """A cleaned document, written for the output topic in its format."""

    value: bytes
    is_empty: bool = False
    """True if no content was found on its page."""
    blocks_dropped: int = 0
    """As in its `Template`; 0 without one."""
    blocks_saved: int = 0
    model: ModelVersion | None = None
    """Model that labeled its page."""
    characters: int = 0
    """Length of its text."""
    expected_f1: float | None = None
    """As in the document."""
    samples: tuple[TextSample, ...] = ()
    """Samples of text that its site repeats, if wanted and known."""


@dataclass(frozen=True, slots=True)
class Writing:
    """Writer of documents from labeled pages, in a format."""

    write: Write = CleanedDocument.to_json_bytes
    options: DocumentOptions = DEFAULT_OPTIONS
    max_bytes: int = 2 * PageLimits().max_bytes
    """Bytes of the largest document."""
    with_samples: bool = False
    """True if documents come with samples of text that their sites repeat."""

    @classmethod
    def of(
        cls, form: Format, options: DocumentOptions, limits: PageLimits, *, with_samples: bool = False
    ) -> Self:
        """Return the writer of a format, whose documents may be twice as large as the largest page."""
        options = replace(options, rendering=form.rendering(options.rendering))
        return cls(form.write, options, 2 * limits.max_bytes, with_samples)

    def extract(self, page: LabeledPage) -> WrittenDocument | Broken:
        """Return the document of a page; nothing is raised but a lack of memory."""
        prepared: PreparedPage = pickle.loads(page.packed)  # noqa: S301 another process of the pool packed it
        try:
            options = self.options
            choice = choose(prepared.encoded, page.labels, options)
            document = document_of(
                prepared,
                page.labels,
                choice,
                page.frequencies,
                options,
                origin=page.origin,
                degraded=page.degraded,
            )
            samples: tuple[TextSample, ...] = ()
            if self.with_samples and page.frequencies is not None:
                samples = sample(prepared, choice, page.frequencies)
            with _room_to_write():
                value = bytes(memoryview(self.write(replace(document, revision=page.revision))))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 an error in a step breaks only this page
            return _broken(error, prepared.identity.url)
        if len(value) > self.max_bytes:
            return _too_large(len(value), self.max_bytes, document.url)
        template = document.template
        return WrittenDocument(
            document.url.encode(),
            value,
            is_empty=not document.text,
            blocks_dropped=template.blocks_dropped if template else 0,
            blocks_saved=template.blocks_saved if template else 0,
            model=document.model,
            characters=len(document.text),
            expected_f1=document.expected_f1,
            samples=samples,
        )


@contextmanager
def _room_to_write() -> Iterator[None]:
    """Lift the memory limit: orjson reserves many times what it fills, and crashes if it cannot.

    The caller copies the result, which frees the reserve.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _too_large(size: int, limit: int, url: str) -> Broken:
    detail = (
        f"the document has {size:,} bytes, more than {limit:,}: two of the largest pages (--max-page-mib)"
    )
    return Broken(BrokenReason.DOCUMENT_TOO_LARGE, detail, url)
