"""The way of a page up to its label: what needs the HTML, and no more than the page."""

import sys
from dataclasses import dataclass, replace

from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.inference.sites import NameSite, identify, site_of
from dehusk.schemas.errors import PageError
from dehusk.schemas.metadata import MetadataLevel
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, PageIdentity, RawPage, SegmentedPage
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
) -> PreparedPage | Broken:
    """A page segmented and encoded, with its markup where it is wanted, or why it cannot be."""
    try:
        segmented = segment(page.html, max_blocks, url=page.url, metadata=metadata, with_markup=with_markup)
    except PageError as error:
        return Broken(error.reason, str(error), page.url)
    return PreparedPage(identify(page, name_site), replace(segmented, structure=None), encode(segmented))
