"""Labels of blocks: by page without its text, by hand, and of user comments by the elements around them.

Pages that have no gold text, or a wrong one, have labels that were repaired by hand
(docs/explanation/labels.md), or that several extractors agree on. They are given as spans of characters in
the text of all blocks, white space left out, so that they outlive a change in where blocks begin and end.
Other labels are of `dehusk label`.

Comments are found by the classes of lists of comments, which blog, news and shop systems name alike. Forums
use the same names for posts, and lists of links for what they count; there, nothing is taken for a comment.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import msgspec
import numpy as np

from dehusk.inference.segmentation.segmentation import segment
from dehusk.schemas.errors import ConfigurationError, PageError
from dehusk.schemas.outcomes import Broken, Damaged
from dehusk.schemas.page_labels import Misfit, PageLabels, html_hash
from dehusk.schemas.pages import RawPage, SegmentedPage, Structure
from dehusk.streams.files.readers import read_pages
from dehusk.streams.labeling.labels_file import read_labels_file, refuse_misfits
from dehusk.streams.settings import PageLimits
from dehusk.training.arrays import Bools, Integers
from dehusk.training.pages.gold import GoldPage, read_gold
from dehusk.training.runs import Report, written_whole

Spans = tuple[tuple[int, int], ...]
"""First and one past the last character of each run."""

REPAIRED = Path(__file__).parents[1] / "labels.json"
TAUGHT = Path(__file__).parents[1] / "taught.json"
ByHand = Mapping[str, PageLabels]
"""Labels by page id."""
_NAMES = """
    comment comments commentlist disqus
    comentario comentarios commentaire commentaires commenti
    komentare komentarze kommentar kommentare kommentarer reacties yorumlar
""".split()  # noqa: SIM905 -- a table of names reads better as words
_FORM_NAMES = ("respond", "commentform")


class Labels(msgspec.Struct, frozen=True):
    """Labels of the blocks of one page."""

    characters: int
    """Characters of all blocks, white space left out."""
    spans: Spans = msgspec.field(name="content")
    """Content."""
    uncertain: Spans = ()
    """Runs on which not all agree."""

    @classmethod
    def of(cls, texts: Sequence[str], content: Bools, uncertain: Bools) -> Self:
        """Return the labels of a page with these blocks."""
        lengths = _lengths(texts)
        return cls(int(lengths.sum()), _spans(lengths, content), _spans(lengths, uncertain))

    def content(self, page: str, texts: Sequence[str]) -> Bools:
        """Return the content blocks: those that lie in the spans by more than half."""
        return self._inside(self.spans, page, texts)

    def doubted(self, page: str, texts: Sequence[str]) -> Bools:
        """Return the uncertain blocks."""
        return self._inside(self.uncertain, page, texts)

    def _inside(self, spans: Spans, page: str, texts: Sequence[str]) -> Bools:
        lengths = _lengths(texts)
        if lengths.sum() != self.characters and self != DROPPED:
            raise ConfigurationError(
                f"the labels of page {page} are for {self.characters} characters, not {lengths.sum()}"
            )
        inside = np.zeros(lengths.sum() + 1, np.int64)
        for first, end in spans:
            inside[first + 1 : end + 1] = 1
        before = np.cumsum(inside)
        ends = np.cumsum(lengths)
        found: Bools = 2 * (before[ends] - before[ends - lengths]) > lengths
        return found


DROPPED = Labels(0, ())
"""Labels of a page whose content is not in its blocks, or cannot be told."""


def read_labels(file: Path) -> dict[str, Labels]:
    """Read the labels in a file, by the keys of pages."""
    labels = msgspec.json.decode(file.read_bytes(), type=dict[str, Labels | None])
    return {page: each or DROPPED for page, each in labels.items()}


def write_labels(file: Path, labels: Mapping[str, Labels]) -> None:
    """Write labels as `read_labels` reads them, a line for each page."""
    encode = msgspec.json.encode
    lines = (encode(page) + b":" + encode(None if each == DROPPED else each) for page, each in labels.items())
    with written_whole(file) as target:
        target.write(b"{\n" + b",\n".join(lines) + b"\n}\n")


def _lengths(texts: Sequence[str]) -> Integers:
    """Count the characters of each block, white space left out."""
    return np.array([len("".join(text.split())) for text in texts], np.int64)


def _spans(lengths: Integers, blocks: Bools) -> Spans:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], blocks, [False]]).astype(np.int8)))
    before = np.concatenate([[0], np.cumsum(lengths)])
    return tuple((int(before[first]), int(before[end])) for first, end in edges.reshape(-1, 2))


def labels_by_hand(file: Path | None, files: Sequence[Path]) -> ByHand:
    """Read the labels in a file, and check that each fits its page in the data files; none without a file.

    Raises:
        ConfigurationError: the file is malformed or has no labels, or labels do not fit their pages; the
            message names these.
    """
    if file is None:
        return {}
    labels = read_labels_file(file)
    if not labels:
        raise ConfigurationError(f"{file} has no labels of a page: label some with `dehusk label`")
    refuse_unfit(labels, ((page.id, page.utf8) for page in read_gold(files, needs_text=False)), file)
    return labels


def refuse_unfit(labels: ByHand, pages: Iterable[tuple[str, bytes]], file: Path) -> None:
    """Check that the labels in a file fit pages, given by their ids and their HTML in UTF-8.

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


def pages_of(paths: Sequence[Path], base_url: str = "", report: Report = lambda _: None) -> Iterator[RawPage]:
    """Read the pages of files and directories as the labeling tool does; report what is no page.

    Raises:
        ConfigurationError: a file cannot be read to its end.
    """
    for outcome in read_pages(paths, PageLimits().max_bytes, base_url):
        if isinstance(outcome, Damaged):
            raise ConfigurationError(outcome.detail)
        if isinstance(outcome, RawPage):
            yield outcome
        elif isinstance(outcome, Broken):
            report(f"left out {outcome.id or outcome.url or 'a page'}: {outcome.detail}")


def _misfit(labels: PageLabels, html: bytes) -> Misfit | None:
    """Return why a page cannot be learned from by these labels; None where it can."""
    digest = html_hash(html)
    if labels.html_hash != digest:  # the page is segmented only if it has to be
        return Misfit.CHANGED_PAGE
    try:
        return labels.misfit_with(digest, segment(html).texts)
    except PageError:
        return Misfit.OTHER_BLOCKS


def listed_comments(page: GoldPage, segmented: SegmentedPage) -> Bools:
    """Return the blocks in lists of comments, shape [T]; none on pages whose comments may be posts."""
    if page.may_call_posts_comments or segmented.structure is None:
        return np.zeros(len(segmented), np.bool_)
    return comment_blocks(segmented.structure)


def comment_blocks(structure: Structure) -> Bools:
    """Return the blocks in lists of comments but for headings and forms for another one, shape [T]."""
    numbers = np.repeat(np.arange(len(structure.parents)), structure.token_counts)
    holds = _with_inner(structure, _named(structure, numbers, _NAMES))
    in_form = _with_inner(structure, _named(structure, numbers, _FORM_NAMES))
    of_element = holds & ~in_form & (structure.headings == 0)
    found: Bools = of_element[structure.elements]
    return found


def _named(structure: Structure, numbers: Integers, names: Iterable[str]) -> Bools:
    """Return the elements that have one of the names as a part of their class or id, shape [E]."""
    tokens = np.array([zlib.crc32(b"c:" + name.encode()) for name in names], np.uint32)
    named = np.zeros(len(structure.parents), np.bool_)
    named[numbers[np.isin(structure.tokens, tokens)]] = True
    return named


def _with_inner(structure: Structure, elements: Bools) -> Bools:
    inside = elements.copy()
    for element, parent in enumerate(structure.parents.tolist()):
        if parent >= 0 and inside[parent]:
            inside[element] = True
    return inside
