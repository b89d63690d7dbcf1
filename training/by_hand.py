"""Labels that people gave to blocks with `dehusk label`, for the pages of data files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import PageError
from dehusk.schemas.page_labels import Misfit, PageLabels, blocks_hash, html_hash
from dehusk.streams.labeling.labels_file import read_labels_file, refuse_misfits
from dehusk.training.pages import GoldPage, read_gold

ByHand = Mapping[str, PageLabels]
"""Labels by page id."""


def labels_by_hand(file: Path | None, files: Sequence[Path]) -> ByHand:
    """The labels in a file, each of which is seen to fit its page in the data files; none without a file.

    Raises:
        ConfigurationError: the file is malformed, or labels do not fit their pages; the message names these.
    """
    if file is None:
        return {}
    labels = read_labels_file(file)
    misfits: dict[str, Misfit] = dict.fromkeys(labels, Misfit.UNKNOWN_PAGE)
    for page in read_gold(files, needs_text=False):
        if misfits.get(page.id) is Misfit.UNKNOWN_PAGE:
            misfit = _misfit(page, labels[page.id])
            misfits.pop(page.id)
            misfits |= {page.id: misfit} if misfit else {}
    refuse_misfits(misfits, file)
    return labels


def _misfit(page: GoldPage, labels: PageLabels) -> Misfit | None:
    if labels.html_hash != html_hash(page.utf8):  # the page is segmented only if it has to be
        return Misfit.CHANGED_PAGE
    try:
        blocks = blocks_hash(segment(page.utf8).texts)
    except PageError:
        return Misfit.OTHER_BLOCKS
    return labels.misfit_with(labels.html_hash, blocks)
