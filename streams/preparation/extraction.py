"""The last step of a page, from its labels to its document as it is written.

It runs in the processes of `streams.preparation.pool`, like the first: what it takes grows with the page.
"""

import pickle
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dehusk.inference.choice import Choice, choose
from dehusk.inference.cleaning import PreparedPage
from dehusk.inference.extraction import document_of
from dehusk.inference.sampling import sample
from dehusk.schemas.documents import CleanedDocument, Comments, Origin
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken, BrokenReason
from dehusk.schemas.pages import BlockFrequencies, ModelVersion, Prediction
from dehusk.schemas.pickled import PickledByFields
from dehusk.schemas.rendering import NO_RENDERING, Rendering
from dehusk.schemas.samples import TextSample
from dehusk.streams.settings import PageLimits

Write = Callable[[CleanedDocument], bytes]


@dataclass(frozen=True, slots=True, eq=False)
class LabeledPage(PickledByFields):
    """A page as it was packed, with what the dependencies said of it."""

    packed: bytes
    """`PackedPage.packed`."""
    labels: Prediction
    frequencies: BlockFrequencies | None = None
    degraded: tuple[str, ...] = ()
    """What the document had to do without."""
    origin: Origin | None = None
    revision: int = 1


@dataclass(frozen=True, slots=True)
class WrittenDocument(PickledByFields):
    """A cleaned document, as bytes of its format."""

    value: bytes
    is_empty: bool
    """Whether its text is empty: no content was found on its page."""
    blocks_dropped: int = 0
    """As in its `Template`; 0 without one."""
    blocks_saved: int = 0
    model: ModelVersion | None = None
    """What labeled its page."""
    characters: int = 0
    """Of its text."""
    samples: tuple[TextSample, ...] = ()
    """Of what its site repeats, where they are asked for and it is known."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How documents are made."""

    write: Write = CleanedDocument.to_json
    with_blocks: bool = False
    """Whether documents list all blocks."""
    drop_hidden: bool = False
    """Whether text that a page hides at first is left out."""
    comments: Comments = Comments.SEPARATE
    """What becomes of user comments."""
    metadata: MetadataLevel = MetadataLevel.FAST
    """How far metadata are looked for when a page is prepared."""
    most_bytes: int = 2 * PageLimits().max_bytes
    """The largest document."""
    with_samples: bool = False
    """Whether documents come with samples of what their sites repeat."""
    rendering: Rendering = NO_RENDERING
    """Which Markdown and HTML documents have."""

    def extract(self, page: LabeledPage) -> WrittenDocument | Broken:
        """The document of a page; nothing raised but a lack of memory."""
        prepared: PreparedPage = pickle.loads(page.packed)  # noqa: S301 another process of the pool packed it
        try:
            choice = choose(
                prepared.encoded, page.labels, drop_hidden=self.drop_hidden, comments=self.comments
            )
            document = document_of(
                prepared,
                page.labels,
                choice,
                page.frequencies,
                origin=page.origin,
                degraded=page.degraded,
                with_blocks=self.with_blocks,
                comments=self.comments,
                rendering=self.rendering,
            )
            samples = self._samples(prepared, choice, page.frequencies)
            with _room_to_write():
                value = bytes(memoryview(self.write(replace(document, revision=page.revision))))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 whatever a page does to a step, it ends this page alone
            detail = f"{type(error).__name__}: {error}"
            return Broken(BrokenReason.INTERNAL_ERROR, detail, prepared.identity.url)
        if len(value) > self.most_bytes:
            return _too_large(len(value), self.most_bytes, document.url)
        template = document.template
        return WrittenDocument(
            value,
            is_empty=not document.text,
            blocks_dropped=template.blocks_dropped if template else 0,
            blocks_saved=template.blocks_saved if template else 0,
            model=document.model,
            characters=len(document.text),
            samples=samples,
        )

    def _samples(
        self, page: PreparedPage, choice: Choice, frequencies: BlockFrequencies | None
    ) -> tuple[TextSample, ...]:
        return sample(page, choice, frequencies) if self.with_samples and frequencies is not None else ()


@contextmanager
def _room_to_write() -> Iterator[None]:
    """Lift the limit on memory: orjson reserves many times what it fills, and crashes where it may not.

    A copy of what it wrote is without the reserve.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _too_large(size: int, most: int, url: str) -> Broken:
    detail = f"the document has {size:,} bytes, more than {most:,}: two of the largest pages (--max-page-mib)"
    return Broken(BrokenReason.DOCUMENT_TOO_LARGE, detail, url)
