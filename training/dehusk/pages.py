"""Pages with their gold labels, encoded as a worker encodes them."""

import pickle
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dehusk.inference.encoding import encode
from dehusk.inference.segmentation import segment
from dehusk.schemas.outcomes import Broken
from dehusk.schemas.pages import EncodedPage, Encoding, SegmentedPage, StructureTensors
from dehusk.training.alignment import content_blocks
from dehusk.training.by_hand import ByHand, labels_by_hand
from dehusk.training.comments import listed_comments
from dehusk.training.dehusk.config import DehuskConfig
from dehusk.training.dehusk.examples import Example, with_repeats
from dehusk.training.dehusk.scripts import SCRIPTS, transliterated
from dehusk.training.directory import left_by, written_whole
from dehusk.training.labels import DROPPED, REPAIRED, TAUGHT, Labels, read_labels
from dehusk.training.pages import GoldPage, each_labeled, read_gold
from dehusk.training.renaming import renamed
from dehusk.training.score import kept_words, score_words, word_f1
from dehusk.training.shortening import labels_by_text, shortened, with_few_comments

Bools = npt.NDArray[np.bool_]

_PAGES = "pages.pickle"
_LEAST_WORDS = 15
"""Words of content that an altered page must have."""
_RENAMED = "renamed"
_LEAST_COMMENTS = 2
"""Blocks of comments that a page must have to be altered."""
_SCRIPTS_EVERY = 4
"""One page in so many is looked at in other scripts, too."""


@dataclass(frozen=True, slots=True, eq=False)
class DehuskPage:
    """An encoded page, its labels, and what its text is scored by."""

    id: str
    collection: str
    """The name of the file that it is in."""
    site: str
    page_type: str
    """Empty where it is not known."""
    stripped: bool
    words: tuple[tuple[str, ...], ...]
    """The words of each block, as they are scored."""
    gold: tuple[str, ...]
    """The words of the gold text; of none where `has_gold` is not set."""
    has_gold: bool
    """Whether a gold text says what its content is."""
    repaired: bool
    """Whether the labels were repaired by hand."""
    encoded: EncodedPage
    content: Bools
    comment: Bools
    """Which blocks are user comments, and not content."""
    uncertain: Bools
    """Which labels are doubtful."""
    reliable: bool
    """Whether the page can be learned from."""
    scripts: Mapping[str, EncodedPage]
    """The page in other scripts, by their names; of a part of the pages only."""
    altered: str = ""
    """How it was made of another page: `shortened`, to less content than comments, or `renamed`, its comments
    under another name."""

    def example(self, config: DehuskConfig) -> Example:
        """What the model learns of the page."""
        content = with_repeats(self.content, self.encoded.repeat)
        return Example(
            site=self.site,
            collection=self.collection,
            page_type=self.page_type,
            structure=self.structure,
            words=self.encoded.words,
            content=content,
            comment=self.comment & ~content,
            certainty=np.where(self.uncertain, config.trainer.doubtful, 1).astype(np.float32),
            importance=self._importance(config),
            in_second_pass=self.altered != _RENAMED,
        )

    def _importance(self, config: DehuskConfig) -> float:
        of_page = config.importance.get(self.collection, 1.0)
        return of_page * config.trainer.altered if self.altered else of_page

    @property
    def structure(self) -> StructureTensors:
        """What the model reads of the page."""
        if self.encoded.structure is None:
            raise ValueError(f"page {self.id} was encoded without its elements")
        return self.encoded.structure

    @property
    def best_gold(self) -> Sequence[str]:
        """The words of the gold text, or of the repaired labels."""
        return self.labeled_words if self.repaired else self.gold

    @property
    def labeled_words(self) -> list[str]:
        """The words of the blocks that are labeled content."""
        return kept_words(self.words, self.content)


def learned_from(pages: Iterable[DehuskPage], config: DehuskConfig) -> list[DehuskPage]:
    """The reliable pages, of one site so many at most, and as many that were altered alike."""
    taken: Counter[tuple[str, str]] = Counter()
    learned: list[DehuskPage] = []
    for page in pages:
        of_site = (page.site, page.altered)
        if page.reliable and taken[of_site] < config.trainer.most_of_a_site:
            taken[of_site] += 1
            learned.append(page)
    return learned


def prepare_pages(
    files: Sequence[Path],
    directory: Path,
    content_share: float,
    least_oracle: float,
    processes: int,
    *,
    labels: Path | None = None,
    encodings: Collection[Encoding] = (),
) -> list[Broken]:
    """Label, encode and write the pages of the files; those that cannot be segmented are returned.

    Those that have labels in a file of `dehusk label` take these; only without one must all have a gold text.
    With `encodings`, pages are encoded for another model, and none are altered or written in other scripts.

    Raises:
        ConfigurationError: labels do not fit their pages; nothing is written.
    """
    by_hand = labels_by_hand(labels, files)
    directory.mkdir(parents=True, exist_ok=True)
    broken: list[Broken] = []
    label = partial(
        _label,
        repaired=read_labels(REPAIRED),
        taught=read_labels(TAUGHT),
        by_hand=by_hand,
        content_share=content_share,
        least_oracle=least_oracle,
        encodings=encodings,
    )
    with written_whole(directory / _PAGES) as target:
        for pages in each_labeled(read_gold(files, needs_text=labels is None), label, processes, broken):
            for page in pages:
                pickle.dump(page, target, protocol=5)
    return broken


def prepared_pages(directory: Path) -> Iterator[DehuskPage]:
    """The pages that `prepare_pages` wrote.

    Raises:
        ConfigurationError: it has not written any.
    """
    with left_by("prepare", directory / _PAGES).open("rb") as source:
        while source.peek(1):
            yield pickle.load(source)  # noqa: S301 -- a file that this program wrote


def _label(
    page: GoldPage,
    *,
    repaired: Mapping[str, Labels],
    taught: Mapping[str, Labels],
    by_hand: ByHand,
    content_share: float,
    least_oracle: float,
    encodings: Collection[Encoding],
) -> list[DehuskPage]:
    """The page and what is made of it."""
    segmented = segment(page.utf8, with_tree=bool(encodings))
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    gold = tuple(score_words(page.text or ""))
    given = by_hand.get(page.id)
    labels = repaired.get(page.id) or (None if page.text is not None else taught.get(page.id, DROPPED))
    uncertain = np.zeros(len(words), np.bool_)
    if given is not None:
        content = np.array(given.labels, np.bool_)
        gold = gold if page.text is not None else tuple(kept_words(words, content))
        reliable = len(content) > 0
    elif labels is None:
        content = content_blocks(words, gold, content_share)
        oracle = word_f1(kept_words(words, content), gold)
        reliable = bool(content.any()) and oracle >= least_oracle
    else:
        content = labels.content(page.id, segmented.texts)
        uncertain = labels.doubted(page.id, segmented.texts)
        reliable = labels != DROPPED
    whole = DehuskPage(
        id=page.id,
        collection=page.collection,
        site=page.site,
        page_type=page.page_type,
        stripped=page.stripped,
        words=words,
        gold=gold,
        has_gold=page.text is not None or given is not None,
        repaired=page.id in repaired or given is not None,
        encoded=encode(segmented, encodings),
        content=content,
        comment=_comments(page, segmented, words, content_share) & ~content,
        uncertain=uncertain,
        reliable=reliable,
        scripts=_in_scripts(page, len(words)) if _is_transliterated(page) and not encodings else {},
    )
    return [whole] if encodings else [whole, *_altered(whole, page.html, segmented.texts)]


def _altered(page: DehuskPage, html: str, texts: Sequence[str]) -> Iterator[DehuskPage]:
    """The page with little content under its comments, and with comments of another name, if it has any."""
    if not page.reliable or page.comment.sum() < _LEAST_COMMENTS:
        return
    choice = zlib.crc32(page.id.encode())
    short = shortened(page.id, html, texts, page.content, page.comment)
    if short is not None:
        made = _relabeled(page, texts, short, "shortened")
        if made.encoded.words[made.content].sum() < made.encoded.words[made.comment].sum():
            yield from _worthwhile(made)
    other = short if short is not None and choice & 1 else html
    if choice & 2:
        other = with_few_comments(page.id, other, texts, page.comment)
    called = renamed(page.id, other)
    if called is not None:
        yield from _worthwhile(_relabeled(page, texts, called, _RENAMED))


def _worthwhile(page: DehuskPage) -> Iterator[DehuskPage]:
    """The page, if it has some content and comments."""
    if page.encoded.words[page.content].sum() >= _LEAST_WORDS and page.comment.any():
        yield page


def _relabeled(page: DehuskPage, texts: Sequence[str], html: str, altered: str) -> DehuskPage:
    """A page made of another one, its labels by the texts of the blocks."""
    segmented = segment(html.encode("utf-8", "replace"))
    words = tuple(tuple(score_words(text)) for text in segmented.texts)
    content, comment, uncertain = (
        labels_by_text(texts, labels, segmented.texts)
        for labels in (page.content, page.comment, page.uncertain)
    )
    return replace(
        page,
        id=f"{page.id} {altered}",
        words=words,
        gold=tuple(kept_words(words, content)),
        has_gold=True,
        encoded=encode(segmented),
        content=content,
        comment=comment & ~content,
        uncertain=uncertain,
        scripts={},
        altered=altered,
    )


def _comments(
    page: GoldPage, segmented: SegmentedPage, words: Sequence[Sequence[str]], content_share: float
) -> Bools:
    """The blocks of the known comments, else those in a list of comments."""
    if page.comments is not None:
        return content_blocks(words, score_words(page.comments), content_share)
    return listed_comments(page, segmented)


def _is_transliterated(page: GoldPage) -> bool:
    return bool(page.page_type) and zlib.crc32(page.id.encode()) % _SCRIPTS_EVERY == 0


def _in_scripts(page: GoldPage, blocks: int) -> dict[str, EncodedPage]:
    """The page in other scripts, where it keeps its blocks."""
    pages = {
        name: segment(transliterated(page.html, script).encode("utf-8", "replace"))
        for name, script in SCRIPTS.items()
    }
    return {name: encode(each) for name, each in pages.items() if len(each) == blocks}
