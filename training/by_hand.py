"""Labels that people gave to blocks with `dehusk label`, for the pages of data files."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import PageError
from dehusk.schemas.page_labels import Misfit, PageLabels, html_hash
from dehusk.streams.labeling.labels_file import read_labels_file, refuse_misfits
from dehusk.training.pages import read_gold

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
    refuse_unfit(labels, ((page.id, page.utf8) for page in read_gold(files, needs_text=False)), file)
    return labels


def refuse_unfit(labels: ByHand, pages: Iterable[tuple[str, bytes]], file: Path) -> None:
    """See that the labels in a file fit pages, given by their ids and their HTML in UTF-8.

    Raises:
        ConfigurationError: the page of some is not there, is another one, or is not labeled as a whole.
    """
    misfits: dict[str, Misfit] = dict.fromkeys(labels, Misfit.UNKNOWN_PAGE)
    for name, html in pages:
        if name in misfits:
            misfit = misfit_of(labels[name], html)
            misfits.pop(name)
            misfits |= {name: misfit} if misfit else {}
    refuse_misfits(misfits, file)


def misfit_of(labels: PageLabels, html: bytes) -> Misfit | None:
    """Why a page cannot be learned from by these labels; None where it can."""
    digest = html_hash(html)
    if labels.html_hash != digest:  # the page is segmented only if it has to be
        return Misfit.CHANGED_PAGE
    try:
        return labels.misfit_with(digest, segment(html).texts)
    except PageError:
        return Misfit.OTHER_BLOCKS
