"""The whole way of a page outside a stream: pages in, cleaned documents out, in batches."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from inference.encoding import encode
from inference.extraction import CONTENT_THRESHOLD, extract
from inference.labeler import Labeler
from inference.segmentation import segment
from inference.sites import identify
from schemas.documents import CleanedDocument
from schemas.errors import PageError
from schemas.outcomes import Broken, Skipped
from schemas.pages import EncodedPage, PageIdentity, RawPage, SegmentedPage

BATCH_PAGES = 32


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPage:
    """A page ready to be labelled, without its HTML."""

    identity: PageIdentity
    segmented: SegmentedPage
    encoded: EncodedPage


def prepare(page: RawPage) -> PreparedPage | Broken:
    """A page segmented and encoded, or why it cannot be."""
    try:
        segmented = segment(page.html)
    except PageError as error:
        return Broken(error.reason, str(error), page.url)
    return PreparedPage(identify(page), segmented, encode(segmented))


async def clean(
    pages: Iterable[RawPage | Skipped | Broken],
    labeler: Labeler,
    *,
    with_blocks: bool = False,
    threshold: float = CONTENT_THRESHOLD,
    batch_pages: int = BATCH_PAGES,
) -> AsyncIterator[CleanedDocument | Skipped | Broken]:
    """One outcome per page, in order; what was no page stays what it was.

    Raises:
        UnavailableError: the labeler did not answer.
        ConfigurationError: the labeler's model does not fit.
    """
    remaining = iter(pages)
    while batch := list(islice(remaining, batch_pages)):
        prepared = [prepare(page) if isinstance(page, RawPage) else page for page in batch]
        for outcome in await _labelled(prepared, labeler, with_blocks=with_blocks, threshold=threshold):
            yield outcome


async def _labelled(
    batch: Sequence[PreparedPage | Skipped | Broken], labeler: Labeler, *, with_blocks: bool, threshold: float
) -> list[CleanedDocument | Skipped | Broken]:
    """The outcomes of a batch: one labeler call for all its pages."""
    answers = iter(await labeler.label([page.encoded for page in batch if isinstance(page, PreparedPage)]))
    outcomes: list[CleanedDocument | Skipped | Broken] = []
    for page in batch:
        if not isinstance(page, PreparedPage):
            outcomes.append(page)
            continue
        labels = next(answers)
        if isinstance(labels, Broken):
            outcomes.append(Broken(labels.reason, labels.detail, page.identity.url))
        else:
            outcomes.append(
                extract(
                    page.identity, page.segmented, labels, None, with_blocks=with_blocks, threshold=threshold
                )
            )
    return outcomes
