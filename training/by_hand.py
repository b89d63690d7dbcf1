"""Labels that people gave to blocks with `dehusk label`, for the pages of data files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from dehusk.inference.segmentation import segment
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, Damaged
from dehusk.schemas.page_labels import Misfit, PageLabels, html_hash
from dehusk.schemas.pages import RawPage
from dehusk.streams.labeling.labels_file import read_labels_file, refuse_misfits
from dehusk.streams.readers import read_pages
from dehusk.streams.settings import PageLimits
from dehusk.training.pages import read_gold

ByHand = Mapping[str, PageLabels]
"""Labels by page id."""
Say = Callable[[str], object]
"""What tells a person how it goes."""


def _ignore(_message: str) -> None:
    """Tell nobody."""


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
            misfit = _misfit(labels[name], html)
            misfits.pop(name)
            misfits |= {name: misfit} if misfit else {}
    refuse_misfits(misfits, file)


def pages_of(paths: Sequence[Path], base_url: str = "", say: Say = _ignore) -> Iterator[RawPage]:
    """The pages of files and directories as the labeling tool reads them; what is none is told.

    Raises:
        ConfigurationError: a file cannot be read to its end.
    """
    for outcome in read_pages(paths, PageLimits().max_bytes, base_url):
        if isinstance(outcome, Damaged):
            raise ConfigurationError(outcome.detail)
        if isinstance(outcome, RawPage):
            yield outcome
        elif isinstance(outcome, Broken):
            say(f"left out {outcome.id or outcome.url or 'a page'}: {outcome.detail}")


def _misfit(labels: PageLabels, html: bytes) -> Misfit | None:
    """Why a page cannot be learned from by these labels; None where it can."""
    digest = html_hash(html)
    if labels.html_hash != digest:  # the page is segmented only if it has to be
        return Misfit.CHANGED_PAGE
    try:
        return labels.misfit_with(digest, segment(html).texts)
    except PageError:
        return Misfit.OTHER_BLOCKS
