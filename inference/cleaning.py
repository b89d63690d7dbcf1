"""The way of a page up to its label: what needs the HTML, and no more than the page."""

import sys
from collections.abc import Collection
from dataclasses import dataclass, replace

from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.inference.sites import NameSite, identify, site_of
from dehusk.schemas.errors import PageError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, PageIdentity, RawPage, SegmentedPage
from dehusk.schemas.pickled import PickledByFields


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPage(PickledByFields):
    """A page ready to be labeled, without its HTML."""

    identity: PageIdentity
    segmented: SegmentedPage
    encoded: EncodedPage


def prepare(
    page: RawPage,
    max_blocks: int = sys.maxsize,
    name_site: NameSite = site_of,
    metadata: MetadataLevel = MetadataLevel.FAST,
    *,
    with_markup: bool = False,
    encodings: Collection[Encoding] = (),
) -> PreparedPage | Broken:
    """A page segmented and encoded, with what is wanted of its markup and encodings, or why it cannot be."""
    try:
        segmented = segment(
            page.html,
            max_blocks,
            url=page.url,
            metadata=metadata,
            with_markup=with_markup,
            with_tree=bool(encodings),
        )
    except PageError as error:
        return Broken(error.reason, str(error), page.url)
    encoded = encode(segmented, encodings)
    return PreparedPage(identify(page, name_site), replace(segmented, structure=None, tree=None), encoded)
