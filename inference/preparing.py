"""The preparation of a page for labelers: the steps that need its HTML."""

import sys
from collections.abc import Collection
from dataclasses import replace

from dehusk.inference.encoding.encoding import encode
from dehusk.inference.segmentation.segmentation import segment
from dehusk.inference.sites import NameSite, identify, site_of
from dehusk.schemas.errors import PageError
from dehusk.schemas.options import DEFAULT_OPTIONS, DocumentOptions
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import Encoding, PreparedPage, RawPage, needs_tree


def prepare(
    page: RawPage,
    max_blocks: int = sys.maxsize,
    options: DocumentOptions = DEFAULT_OPTIONS,
    name_site: NameSite = site_of,
    *,
    encodings: Collection[Encoding] = (),
) -> PreparedPage | Broken:
    """Segment and encode a page, with the markup that the options need, or say why it cannot be."""
    try:
        with_tree = needs_tree(encodings)
        segmented = segment(page.html, max_blocks, url=page.url, options=options, with_tree=with_tree)
    except PageError as error:
        return Broken(error.reason, str(error), page.url)
    encoded = encode(segmented, encodings)
    return PreparedPage(identify(page, name_site), replace(segmented, structure=None, tree=None), encoded)
